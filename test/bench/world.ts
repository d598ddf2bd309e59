// What the Workers under measurement reach, in a process of its own: the SQL bridge, a model and two agents that answer at once. Effects: HTTP, Postgres.

import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { createBridge } from '../../src/local/bridge.ts';
import { listen } from '../../src/local/ports.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import { type Answering, json, serve } from '../support/a2a-peer.ts';
import { callsAgents, frame, type ModelRequest, reports, startModelServer } from '../support/model-server.ts';
import { agentNames, report, reportPieceLength, slowMs, slowWord } from './question.ts';

const backend = postgresBackend(process.argv[2] ?? '');
const counts = { databaseRequests: 0, modelRequests: 0, modelRequestBytes: 0, waiting: 0 };

const bridge = createBridge(() => backend, {
  onRequest: () => {
    counts.databaseRequests += 1;
  },
});
const bridgePort = await listen(bridge, 0);

/** One agent, the other, and the report: told apart by the answers that the request holds. */
const model = await startModelServer(({ headers, body }: ModelRequest) => {
  counts.modelRequests += 1;
  counts.modelRequestBytes += Number(headers['content-length'] ?? 0);
  const next = agentNames[body.messages.filter(({ role }) => role === 'tool').length];
  const question = body.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  return next === undefined ? reports(report, reportPieceLength) : callsAgents({ agent: next, query: question });
});

const rpcSchema = z.object({
  id: z.union([z.string(), z.number()]),
  params: z.object({ message: z.object({ parts: z.array(z.object({ text: z.string() })) }) }),
});

/** A task, its artifact, and its end, as JSON-RPC over SSE. Source: A2A v1.0 §9.4.2. */
const answer: Answering = async (request, response) => {
  const { pathname } = new URL(request.url);
  const name = pathname.split('/')[1] ?? '';
  if (request.method === 'GET') return json(response, card(name, agents.origin));
  const { id, params } = rpcSchema.parse(await request.json());
  const task = { taskId: crypto.randomUUID(), contextId: crypto.randomUUID() };
  const say = (result: unknown) => response.write(frame({ jsonrpc: '2.0', id, result }));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  say({ task: { id: task.taskId, contextId: task.contextId, status: { state: 'TASK_STATE_WORKING' } } });
  if (params.message.parts.some(({ text }) => text.includes(slowWord))) {
    counts.waiting += 1;
    await delay(slowMs);
    counts.waiting -= 1;
  }
  say({ artifactUpdate: { ...task, artifact: { artifactId: 'a', parts: [{ text: `What agent ${name} knows of it.` }] } } });
  say({ statusUpdate: { ...task, status: { state: 'TASK_STATE_COMPLETED' } } });
  response.end();
};
const agents = await serve(answer);

function card(name: string, origin: string): unknown {
  return {
    name,
    description: `Knows what agent ${name} knows.`,
    version: '1',
    supportedInterfaces: [{ url: `${origin}/${name}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true, pushNotifications: false },
    skills: [{ id: 'know', name: 'Know', description: `Answers what agent ${name} is asked.`, tags: [], examples: [] }],
  };
}

// Whatever is asked for, the counts are the answer.
process.on('message', () => process.send?.(counts));
process.on('disconnect', () => process.exit());
process.send?.({
  database: `http://127.0.0.1:${bridgePort}/sql`,
  model: model.url,
  agents: agentNames.map((name) => `${agents.origin}/${name}/.well-known/agent-card.json`),
});

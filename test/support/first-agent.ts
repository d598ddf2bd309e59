// An agent of the original protocol, v0.1, in the shape that its first servers had. Effects: sockets.

import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { json, type Site, serve } from './a2a-peer.ts';

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const message = z.object({ role: z.literal('user'), parts: z.array(part) });
const push = z.object({ url: z.string(), token: z.string().optional(), authentication: z.object({ credentials: z.string() }).optional() });
const rpc = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.object({ id: z.string(), sessionId: z.string().optional(), message: message.optional(), pushNotification: push.nullish() }),
});

interface Status {
  readonly state: string;
  readonly message?: { readonly role: 'agent'; readonly parts: readonly unknown[] };
  readonly timestamp: string;
}

interface Artifact {
  readonly index: number;
  readonly append?: boolean;
  readonly parts: readonly unknown[];
}

interface Task {
  readonly id: string;
  readonly sessionId: string | undefined;
  status: Status;
  readonly artifacts: Artifact[];
  readonly listeners: Set<(update: object, final: boolean) => void>;
}

export interface FirstAgent extends Site {
  /** What works on `slow` may go on. */
  release(): void;
}

/**
 * `hello`: says so in its status. `weather`: asks where, unless told 上海, and then answers in chunks of an artifact. `echo`: its
 * parts as an artifact. `slow`: works until released or canceled. The client names the task; `lost`: the connection
 * of a send breaks off once the work is done, before a word of reply.
 */
export async function serveFirst(options: {
  readonly streaming: boolean;
  readonly push?: boolean;
  readonly lost?: boolean;
}): Promise<FirstAgent> {
  const tasks = new Map<string, Task>();
  const waiting = new Set<() => void>();
  let origin = '';
  const site = await serve(async (request, response) => {
    if (request.method === 'GET') {
      const known = new URL(request.url).pathname === '/.well-known/agent.json';
      return known ? json(response, card(origin, options)) : json(response, { error: 'Not Found' }, 404);
    }
    const read = rpc.safeParse(await request.json());
    if (!read.success) return json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } });
    const { id, method, params } = read.data;
    const said = (result: unknown) => ({ jsonrpc: '2.0', id, result });
    const refuse = (code: number) => json(response, { jsonrpc: '2.0', id, error: { code, message: 'no' } });
    const task = tasks.get(params.id);
    switch (method) {
      case 'tasks/send':
      case 'tasks/sendSubscribe': {
        if (params.message === undefined) return refuse(-32602);
        const own = task ?? {
          id: params.id,
          sessionId: params.sessionId,
          status: statusOf('submitted'),
          artifacts: [],
          listeners: new Set(),
        };
        tasks.set(own.id, own);
        if (method === 'tasks/sendSubscribe' && !options.lost) listen(response, own, said);
        await work(own, params.message.parts, waiting);
        if (params.pushNotification) await notify(params.pushNotification, snapshot(own));
        if (options.lost) return void response.destroy();
        return method === 'tasks/send' ? json(response, said(snapshot(own))) : undefined;
      }
      case 'tasks/get':
        return task ? json(response, said(snapshot(task))) : refuse(-32001);
      case 'tasks/resubscribe':
        return task ? listen(response, task, said) : refuse(-32001);
      case 'tasks/cancel':
        if (task === undefined) return refuse(-32001);
        if (task.status.state !== 'working') return refuse(-32002);
        move(task, 'canceled');
        return json(response, said(snapshot(task)));
      default:
        return refuse(-32601);
    }
  });
  ({ origin } = site);
  const release = () => {
    for (const go of waiting) go();
  };
  return { ...site, release };
}

function card(url: string, options: { readonly streaming: boolean; readonly push?: boolean }) {
  return {
    name: 'First Agent',
    description: 'As it was in the beginning.',
    url,
    provider: { organization: 'Tests' },
    version: '0.0.1',
    capabilities: { streaming: options.streaming, pushNotifications: options.push === true, stateTransitionHistory: true },
    authentication: null,
    defaultInputModes: ['text'],
    defaultOutputModes: ['text'],
    skills: [{ id: 'weather', name: 'Weather', description: null, tags: null, examples: null }],
  };
}

async function work(task: Task, parts: readonly z.infer<typeof part>[], waiting: Set<() => void>): Promise<void> {
  const text = parts.map((said) => said.text ?? '').join('');
  if (text === 'hello') return move(task, 'completed', 'Hello World');
  move(task, 'working', 'Let me see');
  if (text === 'slow') {
    await new Promise<void>((go) => waiting.add(go));
    if (task.status.state === 'working') move(task, 'completed', 'released');
  } else if (text === 'echo') {
    produce(task, { index: 0, parts });
    move(task, 'completed');
  } else if (text.includes('上海')) {
    for (const chunk of ['上海', '天气', '很热'])
      produce(task, { index: 0, append: chunk !== '上海', parts: [{ type: 'text', text: chunk }] });
    move(task, 'completed');
  } else move(task, 'input-required', '您问到哪里的天气');
}

function statusOf(state: string, words?: string): Status {
  const timestamp = new Date().toISOString();
  return words === undefined
    ? { state, timestamp }
    : { state, timestamp, message: { role: 'agent', parts: [{ type: 'text', text: words }] } };
}

function move(task: Task, state: string, words?: string): void {
  task.status = statusOf(state, words);
  const final = state !== 'working';
  for (const tell of task.listeners) tell({ id: task.id, status: task.status, final }, final);
}

function produce(task: Task, artifact: Artifact): void {
  const former = task.artifacts[0];
  if (former && artifact.append) task.artifacts[0] = { index: 0, parts: [...former.parts, ...artifact.parts] };
  else task.artifacts[0] = artifact;
  for (const tell of task.listeners) tell({ id: task.id, artifact }, false);
}

function snapshot({ id, sessionId, status, artifacts }: Task) {
  return { id, sessionId, status, artifacts, history: null };
}

/** Until a final event. */
function listen(response: ServerResponse, task: Task, said: (result: unknown) => unknown): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(`data: ${JSON.stringify(said({ id: task.id, status: task.status, final: false }))}\n\n`);
  const tell = (update: object, final: boolean) => {
    response.write(`data: ${JSON.stringify(said(update))}\n\n`);
    if (!final) return;
    task.listeners.delete(tell);
    response.end();
  };
  task.listeners.add(tell);
}

async function notify({ url, authentication }: z.infer<typeof push>, task: unknown): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${authentication?.credentials ?? ''}` };
  await fetch(url, { method: 'POST', headers, body: JSON.stringify(task) });
}

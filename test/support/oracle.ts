// A hand-made A2A agent that says nothing when it should, and remembers more or less of what it was told. Effects: sockets.

import { z } from 'zod';
import { json, type Site, serve } from './a2a-peer.ts';

/**
 * `silent`: it takes the message and the connection breaks. `answering`: a finished task for each message.
 * `recognising`: a message it knows gets the task it has. `chatting`: no task at all.
 */
export type Mood = 'silent' | 'answering' | 'recognising' | 'chatting';

export interface Oracle extends Site {
  mood: Mood;
  /** Whether it lists its tasks: then what a broken connection left in doubt can be found. */
  lists: boolean;
}

const rpc = z.object({
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.looseObject({ id: z.string().optional(), message: z.looseObject({ messageId: z.string() }).optional() }),
});

/** Its card is at its origin's well-known place, and in the list at `/agents` under `desk/<name>`. */
export async function startOracle(name: string): Promise<Oracle> {
  const tasks: { readonly id: string; readonly message: { readonly messageId: string } }[] = [];
  const card = () => ({
    name,
    description: `${name}: foretells the future.`,
    version: '1',
    defaultInputModes: [],
    defaultOutputModes: [],
    capabilities: { streaming: false },
    skills: [{ id: 's', name, description: 'Foretells.', tags: [name], examples: [`ask the ${name}`] }],
    supportedInterfaces: [{ url: `${site.origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
  const view = ({ id, message }: (typeof tasks)[number]) => ({
    id,
    contextId: `context-of-${id}`,
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ artifactId: 'a', parts: [{ text: 'It will rain.' }] }],
    history: [message],
  });
  const site: Oracle = {
    ...(await serve(async (request, response) => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith('/.well-known/')) return json(response, card());
      if (pathname === '/agents') return json(response, [{ namespace: 'desk', name, card: card() }]);
      const { id, method, params } = rpc.parse(await request.json());
      const reply = (result: unknown) => json(response, { jsonrpc: '2.0', id, result });
      if (method === 'ListTasks' && site.lists)
        return reply({ tasks: tasks.map(view), nextPageToken: '', pageSize: 50, totalSize: tasks.length });
      const known = tasks.find((task) => (params.message ? task.message.messageId === params.message.messageId : task.id === params.id));
      if (method === 'GetTask' && known) return reply(view(known));
      if (method !== 'SendMessage' || !params.message)
        return json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
      if (site.mood === 'chatting') return reply({ message: { messageId: `said-${id}`, role: 'ROLE_AGENT', parts: [{ text: 'Hm.' }] } });
      if (site.mood === 'recognising' && known) return reply({ task: view(known) });
      const task = { id: `task-${tasks.length + 1}`, message: params.message };
      tasks.push(task);
      if (site.mood === 'silent') return void response.destroy();
      return reply({ task: view(task) });
    })),
    mood: 'silent',
    lists: false,
  };
  return site;
}

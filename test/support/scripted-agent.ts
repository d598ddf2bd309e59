// An A2A v1.0 agent over JSON-RPC of which every answer is the test's own, down to when its socket closes. Effects: sockets.

import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { json, type Site, serve } from './a2a-peer.ts';

const rpc = z.object({
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.looseObject({
    id: z.string().optional(),
    message: z
      .looseObject({
        messageId: z.string(),
        taskId: z.string().optional(),
        parts: z.array(z.looseObject({ text: z.string().optional() })),
      })
      .optional(),
    configuration: z
      .looseObject({ taskPushNotificationConfig: z.looseObject({ url: z.string(), token: z.string() }).optional() })
      .optional(),
  }),
});

export interface Exchange {
  readonly method: string;
  readonly params: z.infer<typeof rpc>['params'];
  /** The text of its message. */
  readonly text: string;
  /** Whoever asked has the whole answer, or is gone. */
  readonly closed: Promise<void>;
  /** The whole answer. */
  result(value: unknown): void;
  error(code: number): void;
  /** One more event of a stream. */
  event(value: unknown): void;
  /** Of a stream, which may have had no event. */
  end(): void;
  /** The connection breaks. */
  cut(): void;
}

/** Nothing is answered but what it answers; it may leave an exchange open. */
export type Behaviour = (exchange: Exchange) => unknown;
export type Behaviours = Readonly<Record<string, Behaviour>>;

export interface ScriptedAgent {
  readonly name: string;
  readonly site: Site;
  /** For A2A_AGENTS. */
  readonly source: { readonly url: string; readonly name: string };
  /** Whatever was asked of it, oldest first. */
  readonly exchanges: readonly Exchange[];
  /** By method, from now on; what is not there is refused as unknown. */
  behave(behaviours: Behaviours): void;
  /** Resolves with the nth exchange (from 1) of a method since the last `behave`. */
  asked(method: string, nth?: number): Promise<Exchange>;
  /** The methods since the last `behave`. */
  methods(): readonly string[];
}

export async function scriptedAgent(
  name: string,
  can: { readonly streaming?: boolean; readonly push?: boolean } = {},
): Promise<ScriptedAgent> {
  const exchanges: Exchange[] = [];
  let behaviours: Behaviours = {};
  let from = 0;
  const waiting = new Set<() => void>();
  const site = await serve(async (request, response) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/.well-known/')) return json(response, card());
    const exchange = exchangeOf(rpc.parse(await request.json()), response);
    exchanges.push(exchange);
    for (const look of waiting) look();
    await (behaviours[exchange.method] ?? unknownMethod)(exchange);
  });
  const card = () => ({
    name,
    description: `${name}, who does what the test says.`,
    version: '1',
    defaultInputModes: [],
    defaultOutputModes: [],
    capabilities: { streaming: can.streaming === true, pushNotifications: can.push === true },
    skills: [],
    supportedInterfaces: [{ url: `${site.origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
  return {
    name,
    site,
    source: { url: `${site.origin}/.well-known/agent-card.json`, name },
    exchanges,
    behave(next) {
      behaviours = next;
      from = exchanges.length;
    },
    asked: (method, nth = 1) =>
      new Promise((resolve) => {
        const look = () => {
          const found = exchanges.slice(from).filter((exchange) => exchange.method === method)[nth - 1];
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    methods: () => exchanges.slice(from).map(({ method }) => method),
  };
}

const unknownMethod: Behaviour = ({ error }) => error(-32601);

function exchangeOf({ id, method, params }: z.infer<typeof rpc>, response: ServerResponse): Exchange {
  const head = { jsonrpc: '2.0', id };
  const open = () => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  };
  return {
    method,
    params,
    text: params.message?.parts.map(({ text }) => text ?? '').join('') ?? '',
    closed: new Promise((resolve) => response.once('close', () => resolve())),
    result: (result) => json(response, { ...head, result }),
    error: (code) => json(response, { ...head, error: { code, message: 'scripted' } }),
    event(result) {
      open();
      response.write(`data: ${JSON.stringify({ ...head, result })}\n\n`);
    },
    end() {
      open();
      response.end();
    },
    cut: () => void response.destroy(),
  };
}

export type TaskState = 'WORKING' | 'COMPLETED' | 'CANCELED' | 'FAILED' | 'INPUT_REQUIRED';

/** A task as GetTask and CancelTask answer it; `said` is its one artifact, or the question. */
export function task(id: string, state: TaskState, said = '', history: readonly unknown[] = []) {
  const asks = state === 'INPUT_REQUIRED';
  const message = { messageId: `${id}-asks`, role: 'ROLE_AGENT', taskId: id, parts: [{ text: said }] };
  return {
    id,
    contextId: `context of ${id}`,
    status: { state: `TASK_STATE_${state}`, ...(asks ? { message } : {}) },
    artifacts: asks || said === '' ? [] : [{ artifactId: 'answer', parts: [{ text: said }] }],
    history,
  };
}

/** A further piece of its artifact. */
export const piece = (taskId: string, text: string, append = true) => ({
  artifactUpdate: { taskId, contextId: `context of ${taskId}`, artifact: { artifactId: 'answer', parts: [{ text }] }, append },
});

export const moved = (taskId: string, state: TaskState) => ({
  statusUpdate: { taskId, contextId: `context of ${taskId}`, status: { state: `TASK_STATE_${state}` } },
});

/** Tells the webhook that was named with this send. Null: none was. */
export async function push({ params }: Exchange, taskId: string, state: TaskState): Promise<number | null> {
  const config = params.configuration?.taskPushNotificationConfig;
  if (!config) return null;
  const response = await fetch(config.url, {
    method: 'POST',
    body: JSON.stringify(moved(taskId, state)),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${config.token}` },
    signal: AbortSignal.timeout(10_000),
  });
  await response.arrayBuffer();
  return response.status;
}

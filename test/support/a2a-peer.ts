// A2A agents on loopback for tests: the SDK's own server over node:http, or any hand-made one. Effects: sockets.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as a2a from '@a2a-js/sdk';
import { createLegacyAwarePushNotificationSender, LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { restStatusFor, toRestErrorBody } from '@a2a-js/sdk/errors';
import {
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';

export interface Site {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly requests: readonly { readonly method: string; readonly path: string; readonly headers: Headers; readonly body: string }[];
  close(): Promise<void>;
}

export type Answering = (request: Request, response: ServerResponse) => Promise<void> | void;

/** Serves until closed; every request is noted, with its whole body. Port 0 picks a free one. */
export async function serve(answer: Answering, port = 0): Promise<Site> {
  const requests: Site['requests'][number][] = [];
  const server = createServer((incoming, response) => {
    const answered = read(incoming).then(async (body) => {
      const headers = new Headers(Object.entries(incoming.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]));
      const method = incoming.method ?? 'GET';
      requests.push({ method, path: incoming.url ?? '/', headers, body });
      const hasBody = method !== 'GET' && method !== 'HEAD';
      await answer(new Request(`http://127.0.0.1${incoming.url}`, { method, headers, ...(hasBody ? { body } : {}) }), response);
    });
    answered.catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    requests,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function read(incoming: IncomingMessage): Promise<string> {
  let body = '';
  incoming.setEncoding('utf8');
  for await (const chunk of incoming) body += chunk;
  return body;
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

export interface PeerOptions {
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly version: '1.0' | '0.3';
  readonly streaming: boolean;
  readonly push?: boolean;
  readonly executor: AgentExecutor;
  /** 0, or not said: any free one. */
  readonly port?: number;
  /** Hears each JSON-RPC body before anything is done with it. */
  readonly hears?: (body: string) => void;
}

/** The SDK's server; its card is at `<origin>/agent/.well-known/agent-card.json`, in the shape of its version. */
export async function servePeer(options: PeerOptions): Promise<Site> {
  let answer: Answering = (_, response) => json(response, {}, 503);
  const site = await serve((request, response) => answer(request, response), options.port);
  const url = `${site.origin}/agent`;
  const capabilities = { streaming: options.streaming, pushNotifications: options.push === true };
  const about = {
    name: 'Peer',
    description: 'A peer',
    version: '1',
    capabilities,
    skills: [],
    defaultInputModes: [],
    defaultOutputModes: [],
  };
  const way = { url, protocolBinding: options.binding, protocolVersion: options.version };
  const card = a2a.AgentCard.fromJSON({ ...about, supportedInterfaces: [way] });
  const wire =
    options.version === '1.0'
      ? a2a.AgentCard.toJSON(card)
      : { ...about, url, preferredTransport: options.binding, protocolVersion: '0.3.0' };

  const pushes = new InMemoryPushNotificationStore();
  const sender = createLegacyAwarePushNotificationSender(pushes);
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), options.executor, undefined, pushes, sender);

  answer = async (request, response) => {
    const path = new URL(request.url).pathname;
    if (path === '/agent/.well-known/agent-card.json') return json(response, wire);
    if (!path.startsWith('/agent')) return json(response, { detail: 'Not Found' }, 404);
    const context = new ServerCallContext({ requestedVersion: request.headers.get('a2a-version') ?? '0.3' });
    if (options.binding === 'HTTP+JSON') return rest(handler, context, path.slice('/agent'.length), request, response);
    const rpc = options.version === '1.0' ? new JsonRpcTransportHandler(handler) : new LegacyJsonRpcTransportHandler(handler);
    const body = await request.text();
    options.hears?.(body);
    const result = await rpc.handle(body, context);
    return Symbol.asyncIterator in result ? stream(response, result) : json(response, result);
  };
  return site;
}

/** The v1.0 HTTP+JSON binding; the SDK has it for Express alone. Source: A2A v1.0 §11.3. */
async function rest(
  handler: DefaultRequestHandler,
  context: ServerCallContext,
  path: string,
  request: Request,
  response: ServerResponse,
): Promise<void> {
  try {
    if (path === '/message:send') {
      const result = await handler.sendMessage(a2a.SendMessageRequest.fromJSON(await request.json()), context);
      const body = 'messageId' in result ? { message: a2a.Message.toJSON(result) } : { task: a2a.Task.toJSON(result) };
      return json(response, body);
    }
    if (path === '/message:stream') {
      const events = handler.sendMessageStream(a2a.SendMessageRequest.fromJSON(await request.json()), context);
      return await stream(response, events, a2a.StreamResponse.toJSON);
    }
    const [, id = '', verb] = /^\/tasks\/([^:/]+)(?::(\w+))?$/.exec(path) ?? [];
    const task = { id, tenant: '' };
    if (verb === 'subscribe') return await stream(response, handler.resubscribe(task, context), a2a.StreamResponse.toJSON);
    if (verb === 'cancel') return json(response, a2a.Task.toJSON(await handler.cancelTask({ ...task, metadata: undefined }, context)));
    if (path.startsWith('/tasks/')) return json(response, a2a.Task.toJSON(await handler.getTask(task, context)));
    const list = a2a.ListTasksRequest.fromJSON(Object.fromEntries(new URL(request.url).searchParams));
    return json(response, a2a.ListTasksResponse.toJSON(await handler.listTasks(list, context)));
  } catch (error) {
    const status = restStatusFor(error);
    json(response, toRestErrorBody(error, status), status);
  }
}

/** The first event is awaited before the head is written, so that an error is an ordinary one. */
async function stream<Event>(response: ServerResponse, events: AsyncIterable<Event>, write: (event: Event) => unknown = (event) => event) {
  for await (const event of events) {
    if (!response.headersSent) response.writeHead(200, a2a.SSE_HEADERS);
    response.write(a2a.formatSSEEvent(write(event)));
  }
  response.end();
}

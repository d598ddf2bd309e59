// Serves one agent over A2A: its card, and JSON-RPC for v1.0 and v0.3 at `/`. Effects: a loopback HTTP server, pushes.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { formatSSEErrorEvent, formatSSEEvent, SSE_HEADERS } from '@a2a-js/sdk';
import { createLegacyAwarePushNotificationSender, LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  DefaultExecutionEventBusManager,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { z } from 'zod';
import type { Agent } from './agent.ts';
import { hybridCard, v1Card } from './card.ts';
import { executorOf } from './executor.ts';

/** 1 MiB: a question with a small file; more is a mistake. */
const maxBodyBytes = 1_048_576;
/** A client that sends a body may take this long: it is on the same machine. */
const requestTimeoutMs = 10_000;

const cardPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** Both spellings of a message: v1.0 parts and v0.3 parts carry their text under the same name. */
const sent = z.object({
  id: z.union([z.string(), z.number(), z.null()]).default(null),
  method: z.string(),
  params: z.object({ message: z.object({ parts: z.array(z.object({ text: z.string().optional() })) }).optional() }).optional(),
});

export interface Served {
  /** With a trailing slash: the JSON-RPC endpoint, and the base of the card's path. */
  readonly url: string;
  /** Ends running tasks and open connections. */
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1; port 0 picks a free one. Tasks live in memory, as long as the process.
 * Pushes go to whatever URL the client names: for one's own machine only.
 */
export async function serve(agent: Agent, port: number): Promise<Served> {
  const closing = new AbortController();
  const server = createServer({ requestTimeout: requestTimeoutMs });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : port}/`;

  const card = v1Card(agent.card, url);
  const cardJson = JSON.stringify(hybridCard(card, url));
  const pushes = new InMemoryPushNotificationStore();
  const requests = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executorOf(agent.answer, closing.signal),
    new DefaultExecutionEventBusManager(),
    pushes,
    createLegacyAwarePushNotificationSender(pushes),
  );
  const v1 = new JsonRpcTransportHandler(requests);
  const v03 = new LegacyJsonRpcTransportHandler(requests);

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', url);
    if (request.method === 'GET' && cardPaths.includes(pathname)) {
      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=60' }).end(cardJson);
      return;
    }
    if (request.method !== 'POST' || pathname !== '/') {
      response.writeHead(404).end();
      return;
    }
    const body = await readBody(request);
    if (body === null) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const asked = sent.safeParse(parseJson(body)).data;
    const text = asked?.params?.message?.parts.map((part) => part.text ?? '').join('\n');
    if (text !== undefined && agent.spoil?.(text, response)) return;
    // By the method's name before the header: names never collide, and many clients send no header.
    const isLegacy = asked ? asked.method.includes('/') : request.headers['a2a-version'] !== '1.0';
    const context = new ServerCallContext({ requestedVersion: isLegacy ? '0.3' : '1.0' });
    const result = await (isLegacy ? v03 : v1).handle(body, context);
    if (Symbol.asyncIterator in result) await stream(result, asked?.id ?? null, response);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
  }

  server.on('request', (request, response) => {
    respond(request, response).catch((thrown: unknown) => {
      console.error(`${agent.card.name}: a request failed:`, thrown);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });

  return {
    url,
    async close() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

/**
 * The stream is read to its end also when the client has gone: the SDK keeps and pushes a task's events only while
 * somebody reads them, so returning early would leave the task at work for ever. An error before the first event is
 * answered as plain JSON-RPC.
 */
async function stream(events: AsyncIterable<unknown>, id: string | number | null, response: ServerResponse): Promise<void> {
  try {
    for await (const event of events) {
      if (response.destroyed) continue;
      if (!response.headersSent) response.writeHead(200, SSE_HEADERS);
      response.write(formatSSEEvent(event));
    }
    response.end();
  } catch (thrown) {
    const error = { jsonrpc: '2.0', id, error: JsonRpcTransportHandler.mapToJSONRPCError(thrown) };
    if (response.headersSent) response.end(formatSSEErrorEvent(error));
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(error));
  }
}

/** Null: larger than allowed. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What is not JSON is left to the protocol's own error. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

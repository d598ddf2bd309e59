// An OpenAI-compatible server in which fixed rules stand in for a model. Effects: a loopback HTTP server.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { chunks, completion, modelName } from './completions.ts';
import { decide } from './decide.ts';
import { completionRequest } from './request.ts';

/** A whole prompt with its transcript is far smaller. */
const maxBodyBytes = 4_194_304;

export interface Served {
  /** Without a trailing slash; `/v1` is the base URL of an OpenAI client. */
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1; port 0 picks a free one. `delayMs` passes between two chunks. */
export async function serveStandIn({ port = 0, delayMs = 5 }: { readonly port?: number; readonly delayMs?: number } = {}): Promise<Served> {
  const server = createServer((request, response) => {
    respond(request, response, delayMs).catch((thrown: unknown) => {
      console.error('stand-in: a request failed:', thrown);
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'The stand-in failed.');
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse, delayMs: number): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method === 'GET' && path === '/v1/models') {
    json(response, 200, { object: 'list', data: [{ id: modelName, object: 'model', created: 0, owned_by: 'chat-a2a' }] });
    return;
  }
  if (request.method !== 'POST' || path !== '/v1/chat/completions') {
    refuse(response, 404, 'There is nothing here.');
    return;
  }
  const body = await readBody(request);
  if (body === null) {
    refuse(response, 413, 'The request is too large.');
    return;
  }
  const read = completionRequest.safeParse(parseJson(body));
  if (!read.success) {
    refuse(response, 400, z.prettifyError(read.error));
    return;
  }
  const decision = decide(read.data);
  const head = { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000) };
  if (!read.data.stream) {
    json(response, 200, completion(decision, read.data, head));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const chunk of chunks(decision, read.data, head)) {
    if (response.destroyed) return;
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (delayMs > 0) await pause(delayMs);
  }
  response.end('data: [DONE]\n\n');
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Source: OpenAI API reference, "Errors". */
function refuse(response: ServerResponse, status: number, message: string): void {
  json(response, status, { error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code: null } });
}

/** Null: larger than allowed. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const received: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return null;
    received.push(chunk);
  }
  return Buffer.concat(received).toString('utf8');
}

/** What is not JSON is refused by the schema. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

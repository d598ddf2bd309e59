// A scripted OpenAI-compatible server on loopback: it sends the bytes it is told, as various real servers do. Effects: a socket.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** A chat completion request as it came over the wire. */
export interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ModelRequestBody;
}

export interface ModelRequestBody {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly tool_choice?: unknown;
  readonly stream?: boolean;
}

/** What is done with the response, in order: bytes, a pause, waiting for somebody, silence for ever, or a destroyed socket. */
export type ModelWrite = string | Uint8Array | { readonly pauseMs: number } | { readonly until: Promise<unknown> } | 'hang' | 'destroy';

export interface ModelReply {
  /** Null: the headers never come either. */
  readonly status: number | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly writes: readonly ModelWrite[];
}

export interface ModelServer {
  /** Base URL, as in OPENAI_BASE_URL. */
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. */
export async function startModelServer(script: (request: ModelRequest) => ModelReply | Promise<ModelReply>): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body: ModelRequestBody = JSON.parse(Buffer.concat(chunks).toString());
    const request = { path: incoming.url ?? '', headers: incoming.headers, body };
    requests.push(request);
    await write(response, await script(request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function write(response: ServerResponse, reply: ModelReply): Promise<void> {
  if (reply.status === null) return;
  response.writeHead(reply.status, { 'content-type': 'text/event-stream; charset=utf-8', ...reply.headers });
  response.flushHeaders();
  for (const next of reply.writes) {
    if (next === 'hang') return;
    if (next === 'destroy') {
      response.destroy();
      return;
    }
    if (typeof next === 'string' || next instanceof Uint8Array) response.write(next);
    else if ('pauseMs' in next) await delay(next.pauseMs);
    else await next.until;
  }
  response.end();
}

/** One SSE frame with JSON. */
export function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** A chunk of a streamed completion. */
export function chunk(delta: unknown, finish: string | null = null): string {
  return frame({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
}

export const done = 'data: [DONE]\n\n';

/** The last chunk of servers that report what it cost. */
export const usage = frame({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 64 } },
});

/** A report, in pieces of `size` UTF-16 units, `pauseMs` apart. */
export function reports(text: string, size = 8, pauseMs = 0): ModelReply {
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
  return {
    status: 200,
    writes: [
      chunk({ role: 'assistant', content: '' }),
      ...pieces.flatMap((content): ModelWrite[] => [chunk({ content }), ...(pauseMs > 0 ? [{ pauseMs }] : [])]),
      chunk({}, 'stop'),
      usage,
      done,
    ],
  };
}

/** Tool calls, each in one chunk, as most servers send them. */
export function callsTools(...calls: readonly { readonly name: string; readonly input: unknown }[]): ModelReply {
  return {
    status: 200,
    writes: [
      ...calls.map(({ name, input }, index) =>
        chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }] }),
      ),
      chunk({}, 'tool_calls'),
      usage,
      done,
    ],
  };
}

/** `call_agent`, once for each. */
export function callsAgents(
  ...calls: readonly { readonly agent: string; readonly query: string; readonly reason?: string; readonly answers?: string }[]
): ModelReply {
  return callsTools(...calls.map((call) => ({ name: 'call_agent', input: { reason: '', ...call } })));
}

/** An error before any stream. */
export function refuses(status: number, message = 'scripted', headers: Readonly<Record<string, string>> = {}): ModelReply {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    writes: [JSON.stringify({ error: { message, type: 'error' } })],
  };
}

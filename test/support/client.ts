// A client of the public API, for tests: typed rows, whole responses, server-sent events as they come. Effects: HTTP.

import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';

export const rowSchema = z.object({
  seq: z.number(),
  id: z.string(),
  conversation_id: z.string(),
  intention_id: z.string(),
  step: z.number().nullable(),
  role: z.enum(['user', 'agent', 'assistant']),
  type: z.string().nullable(),
  agent: z.string().nullable(),
  to_agent: z.string().nullable(),
  reason: z.string().nullable(),
  call_id: z.string().nullable(),
  content: z.string(),
  parts: z.union([
    z.array(
      z.looseObject({ kind: z.string(), url: z.string().optional(), name: z.string().optional(), media_type: z.string().optional() }),
    ),
    z.object({ seq: z.number(), from: z.string() }),
  ]),
});
export type Row = z.infer<typeof rowSchema>;

const receiptSchema = z.object({ conversation_id: z.string(), message_id: z.string(), intention_id: z.string(), seq: z.number() });
export type Receipt = z.infer<typeof receiptSchema>;

const answerSchema = receiptSchema.extend({
  status: z.string(),
  answer: z.string().optional(),
  question: z.object({ call_id: z.string(), agent: z.string(), content: z.string() }).optional(),
});
export type Answered = z.infer<typeof answerSchema>;

const pageSchema = z.object({ data: z.array(rowSchema), has_more: z.boolean(), next_cursor: z.string().nullable() });

/** A request that hangs fails the test that made it. */
const requestMs = 40_000;

export type Client = ReturnType<typeof clientOf>;

/** `headers` go with every request: the key, for one. */
export function clientOf(url: string, headers: Readonly<Record<string, string>> = {}) {
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      signal: AbortSignal.timeout(requestMs),
      ...init,
      headers: { ...headers, ...Object.fromEntries(new Headers(init.headers)) },
    });

  const post = (path: string, body: unknown, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
    send(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...more } });

  const messagesOf = (conversation: string | null) =>
    conversation === null ? '/v1/conversations' : `/v1/conversations/${conversation}/messages`;

  return {
    url,
    send,
    post,
    messagesOf,

    /** Posts a message and does not wait. Null: in a new conversation. */
    async tell(conversation: string | null, content: string, more: Readonly<Record<string, unknown>> = {}): Promise<Receipt> {
      return receiptSchema.parse(await read(await post(messagesOf(conversation), { content, ...more }), 202));
    },

    /** Posts a message and waits until its intention has ended or asks back. */
    async say(conversation: string | null, content: string, more: Readonly<Record<string, unknown>> = {}): Promise<Answered> {
      return answerSchema.parse(await read(await post(`${messagesOf(conversation)}?wait=25`, { content, ...more }), 200));
    },

    async rows(conversation: string): Promise<readonly Row[]> {
      const rows: Row[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page = pageSchema.parse(await read(await send(`/v1/conversations/${conversation}/messages?limit=200${from}`), 200));
        rows.push(...page.data);
        cursor = page.next_cursor;
      }
      return rows;
    },

    async status(conversation: string, intention: string): Promise<string> {
      const found = await read(await send(`/v1/conversations/${conversation}/intentions/${intention}`), 200);
      return z.object({ status: z.string() }).parse(found).status;
    },

    /** The events of a conversation, as long as somebody reads; returning ends the connection. */
    events: (conversation: string, more: Readonly<Record<string, string>> = {}, query = '') =>
      frames(() => send(`/v1/conversations/${conversation}/events${query}`, { headers: more })),
  };
}

async function read(response: Response, status: number): Promise<unknown> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** A response's server-sent events; comments are left out. */
export async function* frames(open: () => Promise<Response>): AsyncGenerator<EventSourceMessage, void, void> {
  const response = await open();
  if (!response.ok || response.body === null) throw new Error(`no stream: ${response.status} ${await response.text()}`);
  const decoded = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const frame of decoded) yield frame;
}

/** Frames until one fulfils `isLast`, that one included. */
export async function collect(
  stream: AsyncGenerator<EventSourceMessage, void, void>,
  isLast: (frame: EventSourceMessage) => boolean,
): Promise<readonly EventSourceMessage[]> {
  const taken: EventSourceMessage[] = [];
  for await (const frame of stream) {
    taken.push(frame);
    if (isLast(frame)) break;
  }
  return taken;
}

/** One row as a line of the table: the intention it belongs to by the order of first mention, moved rows where they went. */
export type Line = readonly [intention: string, role: string, type: string | null, content: string, agent: string | null];

export function table(rows: readonly Row[]): readonly Line[] {
  const moved = new Map(
    rows.flatMap((row) => (row.type === 'reassigned' && 'seq' in row.parts ? [[row.parts.seq, row.intention_id] as const] : [])),
  );
  const names = new Map<string, string>();
  return rows.map((row) => {
    const intention = moved.get(row.seq) ?? row.intention_id;
    if (!names.has(intention)) names.set(intention, `i${names.size + 1}`);
    return [names.get(intention) ?? '', row.role, row.type, row.content, row.agent];
  });
}

// Neon's SQL over HTTP for a database on this machine, so that the Worker runs its production code path. Effects: HTTP, and the backend's.

import http from 'node:http';
import * as z from 'zod';
import type { Ask, Backend, Result } from './backend.ts';
import { parseJson } from './json.ts';
import { parameterText } from './parameter-text.ts';

/** As much as a file of 10 MiB takes in hex, with room. */
const maxBodyBytes = 64 * 1024 * 1024;

export interface BridgeOptions {
  /** Called once for each HTTP request with its SQL, before it runs. */
  readonly onRequest?: (statements: readonly string[]) => void;
}

/**
 * A server, not yet listening. `POST /sql` as `@neondatabase/serverless` speaks it: always in array mode with raw text, which is all
 * that the driver asks for. `resolve` gets the database name of the connection string; user and password are not looked at.
 * A single statement runs as it is; a batch is one transaction, rolled back at the first error.
 * Source: neondatabase/neon, proxy/src/serverless/sql_over_http.rs.
 */
export function createBridge(resolve: (database: string) => Promise<Backend> | Backend, options: BridgeOptions = {}): http.Server {
  return http.createServer(async (request, response) => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const reply = await answer(request, gone.signal).catch(toErrorReply);
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(JSON.stringify(reply.body));
  });

  async function answer(request: http.IncomingMessage, signal: AbortSignal): Promise<Reply> {
    if (request.method !== 'POST' || request.url !== '/sql') return refusal(404, 'there is only POST /sql here');
    const body = await readBody(request);
    if (body === null) return { ...refusal(413, `a request may have ${maxBodyBytes} bytes`), headers: { connection: 'close' } };
    const database = databaseOf(request.headers['neon-connection-string']);
    if (database === null) return refusal(400, 'the header Neon-Connection-String must be a postgres URL that names a database');
    const asked = bodySchema.safeParse(parseJson(body));
    if (!asked.success) return refusal(400, 'the body must be {query, params} or {queries: [{query, params}]} in JSON');

    const { data } = asked;
    const backend = await resolve(database);
    if (!('queries' in data)) {
      options.onRequest?.([data.query]);
      const result = await backend.session((ask) => ask(data.query, data.params.map(parameterText)), signal);
      return { status: 200, headers: {}, body: toWire(result) };
    }
    const mode = modeSchema.safeParse(request.headers);
    if (!mode.success) return refusal(400, 'a Neon-Batch header has a value that does not exist');
    options.onRequest?.(data.queries.map(({ query }) => query));
    const results = await backend.session((ask) => runBatch(ask, data.queries, mode.data, signal), signal);
    return { status: 200, headers: mode.data, body: { results: results.map(toWire) } };
  }
}

interface Reply {
  readonly status: number;
  readonly headers: http.OutgoingHttpHeaders;
  readonly body: unknown;
}

const refusal = (status: number, message: string): Reply => ({ status, headers: {}, body: { message, code: null } });

const querySchema = z.object({ query: z.string(), params: z.array(z.unknown()).default([]) });
const bodySchema = z.union([z.object({ queries: z.array(querySchema) }), querySchema]);

const isolationLevels = {
  ReadUncommitted: 'read uncommitted',
  ReadCommitted: 'read committed',
  RepeatableRead: 'repeatable read',
  Serializable: 'serializable',
} as const;

/** The batch's headers, which the answer repeats. */
const modeSchema = z.object({
  'neon-batch-isolation-level': z.enum(['ReadUncommitted', 'ReadCommitted', 'RepeatableRead', 'Serializable']).optional(),
  'neon-batch-read-only': z.enum(['true', 'false']).optional(),
  'neon-batch-deferrable': z.enum(['true', 'false']).optional(),
});

/** Whatever it throws, the session rolls back. */
async function runBatch(
  ask: Ask,
  queries: readonly z.infer<typeof querySchema>[],
  mode: z.infer<typeof modeSchema>,
  signal: AbortSignal,
): Promise<readonly Result[]> {
  const level = mode['neon-batch-isolation-level'];
  const begin = [
    'begin',
    level && `isolation level ${isolationLevels[level]}`,
    mode['neon-batch-read-only'] === 'true' && 'read only',
    mode['neon-batch-deferrable'] === 'true' && 'deferrable',
  ];
  await ask(begin.filter(Boolean).join(' '));
  const results: Result[] = [];
  for (const { query, params } of queries) {
    signal.throwIfAborted();
    results.push(await ask(query, params.map(parameterText)));
  }
  signal.throwIfAborted();
  await ask('commit');
  return results;
}

function toWire({ command, rowCount, columns, rows }: Result): unknown {
  const fields = columns.map(({ name, dataTypeID, tableID, columnID, dataTypeSize, dataTypeModifier }) => ({
    name,
    dataTypeID,
    tableID,
    columnID,
    dataTypeSize,
    dataTypeModifier,
    format: 'text',
  }));
  return { command, rowCount, rowAsArray: true, fields, rows };
}

const text = z.string().optional();
/** What Postgres itself says, by `severity` and a five-character `code`; anything else is trouble on the way to it. */
const postgresErrorSchema = z.object({
  message: z.string(),
  severity: z.string(),
  code: z.string().length(5),
  detail: text,
  hint: text,
  position: text,
  internalPosition: text,
  internalQuery: text,
  where: text,
  schema: text,
  table: text,
  column: text,
  dataType: text,
  constraint: text,
  file: text,
  line: text,
  routine: text,
});

function toErrorReply(thrown: unknown): Reply {
  const said = postgresErrorSchema.safeParse(thrown);
  if (said.success) return { status: 400, headers: {}, body: said.data };
  return refusal(500, thrown instanceof Error ? thrown.message : String(thrown));
}

/** Null: more than the limit. */
async function readBody(request: http.IncomingMessage): Promise<string | null> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function databaseOf(header: string | readonly string[] | undefined): string | null {
  if (typeof header !== 'string' || !/^postgres(ql)?:\/\//.test(header) || !URL.canParse(header)) return null;
  return decodeURIComponent(new URL(header).pathname.slice(1)) || null;
}

// Everything the service meets, on one machine: database, model, agents, and the built Worker among them. Effects: processes, HTTP.

import type { ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { z } from 'zod';
import { agentNames, type SampleName, startAgent } from '../../src/local/agents/start.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { bridgedUrl, endpointOf, migrateThrough } from '../../src/local/embedded-database.ts';
import { pgliteBackend } from '../../src/local/pglite-backend.ts';
import { freePort, listen } from '../../src/local/ports.ts';
import { chunks } from '../../src/local/stand-in/completions.ts';
import { decide } from '../../src/local/stand-in/decide.ts';
import { completionRequest } from '../../src/local/stand-in/request.ts';
import { type Answering, type Site, serve } from './a2a-peer.ts';
import { type Client, clientOf } from './client.ts';
import type { Query } from './ledger.ts';
import { done, frame, type ModelReply, type ModelRequest, startModelServer } from './model-server.ts';
import { type Service, startService, stateFolder } from './service.ts';
import { shift } from './shift.ts';

export type Script = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

export interface Town {
  readonly service: Service;
  /** Anonymous, if the bindings allow that. */
  readonly client: Client;
  readonly model: {
    readonly requests: readonly ModelRequest[];
    /** What the model says from now on; the stand-in's rules until told otherwise. */
    follow(script: Script): void;
  };
  readonly database: {
    /** HTTP requests so far. */
    requests(): number;
    /** Nobody listens any more; what is stored stays. */
    stop(): Promise<void>;
    start(): Promise<void>;
    query: Query;
    /** As if that many seconds had passed; what is due then is woken by a tick. */
    shift(seconds: number): Promise<void>;
  };
  /** What each sample agent was sent, and a way to take it away. */
  agent(name: SampleName): Site;
  /** Another service over the same database, with other bindings; it ends with the town. */
  neighbour(bindings: Readonly<Record<string, string>>): Promise<Service>;
  close(): Promise<void>;
}

export interface TownOptions {
  /** All of them when not said. */
  readonly agents?: readonly SampleName[];
  /** Card URLs of agents that the test runs itself. */
  readonly others?: readonly (
    | string
    | { readonly url: string; readonly name: string; readonly deadline_seconds?: number; readonly deduplicates?: boolean }
  )[];
  readonly bindings?: Readonly<Record<string, string>>;
}

export const pushSecret = 'the secret of the town';

/** A town for the tests of one file; what the service logged is printed for those that fail. */
export function useTown(options: TownOptions | (() => Promise<TownOptions>) = {}): () => Town {
  let town: Town | null = null;
  const here = () => {
    if (town === null) throw new Error('there is no town yet');
    return town;
  };
  let logged = 0;
  beforeAll(async () => {
    town = await startTown(inject('bundle'), typeof options === 'function' ? await options() : options);
  });
  afterEach(({ task }) => {
    const { service, model } = here();
    if (task.result?.state === 'fail') console.log(service.log.slice(logged).join('\n'));
    logged = service.log.length;
    model.follow(standIn);
  });
  afterAll(() => town?.close());
  return here;
}

/** Takes about three seconds. */
export async function startTown(bundle: string, options: TownOptions = {}): Promise<Town> {
  const database = await startDatabase();
  let script: Script = standIn;
  const model = await startModelServer((request) => script(request));
  const agents = new Map<SampleName, Recorded>();
  for (const name of options.agents ?? agentNames) agents.set(name, await record(name));
  const closing: (() => Promise<void>)[] = [];
  const start = async (given: Readonly<Record<string, string>>) => {
    const state = await stateFolder();
    const port = (await freePort()) ?? 0;
    const bindings = {
      DATABASE_URL: bridgedUrl,
      NEON_FETCH_ENDPOINT: database.endpoint,
      OPENAI_API_KEY: 'any',
      OPENAI_BASE_URL: model.url,
      OPENAI_MODEL: 'scripted',
      A2A_AGENTS: JSON.stringify([
        ...[...agents.values()].map(({ site }) => `${site.origin}/.well-known/agent-card.json`),
        ...(options.others ?? []),
      ]),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      PUSH_SECRET: pushSecret,
      ALLOW_ANONYMOUS: '1',
      ...given,
    };
    const service = await startService({ bundle, state: state.path, port, bindings });
    closing.push(async () => {
      await service.stop();
      await state.forget();
    });
    return service;
  };
  const service = await start(options.bindings ?? {});
  return {
    service,
    client: clientOf(service.url),
    model: {
      requests: model.requests,
      follow: (next) => {
        script = next;
      },
    },
    database,
    agent: (name) => {
      const found = agents.get(name);
      if (!found) throw new Error(`${name} does not live here`);
      return found.site;
    },
    neighbour: start,
    async close() {
      for (const close of closing) await close();
      for (const agent of agents.values()) await agent.close();
      await model.close();
      await database.close();
    },
  };
}

async function startDatabase() {
  const lite = await PGlite.create();
  const backend = pgliteBackend(lite);
  const query: Query = async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
    (await lite.query<Row>(text, [...values])).rows;
  let requests = 0;
  const open = () => createBridge(() => backend, { onRequest: () => requests++ });
  let bridge = open();
  const port = (await listen(bridge, 0)) ?? 0;
  await migrateThrough(port);
  return {
    endpoint: endpointOf(port),
    requests: () => requests,
    query,
    shift: (seconds: number) => shift(query, seconds),
    stop: () => closed(bridge),
    async start() {
      bridge = open();
      if ((await listen(bridge, port)) === null) throw new Error('the port of the database was taken meanwhile');
    },
    async close() {
      if (bridge.listening) await closed(bridge);
      await backend.close();
    },
  };
}

function closed(server: Server & { closeAllConnections(): void }): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The stand-in's rules, as a script. */
export const standIn: Script = ({ body }) => {
  const request = completionRequest.parse(body);
  const head = { id: `chatcmpl-${crypto.randomUUID()}`, created: 1 };
  return { status: 200, writes: [...[...chunks(decide(request), request, head)].map(frame), done] };
};

interface Recorded {
  readonly site: Site;
  close(): Promise<void>;
}

/** A sample agent behind a door where everything that comes in is noted. */
async function record(name: SampleName): Promise<Recorded> {
  const agent = await startAgent(name);
  let own = '';
  const answer: Answering = async (request, response) => {
    const { pathname } = new URL(request.url);
    const body = request.method === 'POST' ? { body: await request.text() } : {};
    const headers = { 'content-type': 'application/json', 'a2a-version': request.headers.get('a2a-version') ?? '' };
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const reply = await fetch(new URL(pathname, agent.url), { method: request.method, headers, ...body, signal: gone.signal });
    const type = reply.headers.get('content-type') ?? '';
    response.writeHead(reply.status, { 'content-type': type });
    if (pathname.startsWith('/.well-known/')) return void response.end((await reply.text()).replaceAll(agent.url, `${own}/`));
    await pass(reply, response);
  };
  const site = await serve(answer);
  own = site.origin;
  return {
    site,
    async close() {
      await site.close();
      await agent.close();
    },
  };
}

async function pass(reply: Response, response: ServerResponse): Promise<void> {
  for await (const chunk of reply.body ?? []) response.write(chunk);
  response.end();
}

/** What a client sent to an agent, as A2A v1.0 spells it over JSON-RPC. */
const sent = z.object({
  method: z.string(),
  params: z.looseObject({
    id: z.string().optional(),
    message: z
      .looseObject({
        messageId: z.string(),
        parts: z.array(z.looseObject({ text: z.string().optional() })),
        taskId: z.string().optional(),
        contextId: z.string().optional(),
      })
      .optional(),
  }),
});

/** The requests to an agent, oldest first; those for its card apart. */
export function heard(site: Site) {
  return site.requests.filter(({ method }) => method === 'POST').map(({ body }) => sent.parse(JSON.parse(body)));
}

/** The messages among them. */
export function messagesTo(site: Site) {
  return heard(site).flatMap(({ params: { message } }) => (message ? [message] : []));
}

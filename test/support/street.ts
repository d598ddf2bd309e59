// One service among a database, a model and agents that live in the test, where any trip of the service can be stopped for good. Effects: processes, HTTP.

import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import type { Agent } from '../../src/local/agents/agent.ts';
import { executorOf } from '../../src/local/agents/executor.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { bridgedUrl } from '../../src/local/embedded-database.ts';
import { freePort, listen } from '../../src/local/ports.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import { type PeerOptions, type Site, servePeer } from './a2a-peer.ts';
import { callsAgents, type ModelReply, type ModelRequest, reports, startModelServer } from './model-server.ts';
import { createDatabase, type PostgresServer } from './postgres.ts';
import { type Service, startService } from './service.ts';

/** What is asked; the scripted model calls the agents of these names, in turn or at once, then reports. */
export const plots = {
  stream: { agents: ['stream'], atOnce: false },
  poll: { agents: ['poll'], atOnce: false },
  push: { agents: ['push'], atOnce: false },
  /** A2A v0.3: nobody can ask it for the task of a message. */
  old: { agents: ['old'], atOnce: false },
  /** Asks back once. */
  asks: { agents: ['asks'], atOnce: false },
  both: { agents: ['stream', 'poll'], atOnce: true },
  pair: { agents: ['stream', 'old'], atOnce: true },
  turns: { agents: ['stream', 'stream', 'stream'], atOnce: false },
  /** Takes longer than a second, so that its task is written down meanwhile. */
  long: { agents: ['long'], atOnce: false },
} as const;
export type Plot = keyof typeof plots;

/** Where a trip goes: the nth of its story to that place. `during`: the first half of the answer is there. */
export interface Stop {
  readonly place: 'database' | 'model' | 'agent' | 'user';
  readonly nth: number;
  readonly when: 'before' | 'during' | 'after';
}

export interface Trip {
  /** Null: of no story in particular. */
  readonly story: string | null;
  readonly place: Stop['place'];
  readonly atMs: number;
  readonly what: string;
}

/** One conversation, told apart from all others by its id in every text and by the ids in the database's requests. */
export interface Story {
  readonly id: string;
  readonly plot: Plot;
  /** Its first message. A question of an agent is answered by `that one #<id>`. */
  readonly words: string;
  /** Its trip that never comes back, as long as nobody calls `release`. */
  readonly stop: Stop | null;
  /** Resolves when that trip is under way. */
  readonly stopped: Promise<void>;
}

export interface Street {
  /** `code`: another bundle than the street's own. */
  start(state: string, code?: string): Promise<Service>;
  /** A new story; nothing is posted. */
  begin(plot: Plot, stop?: Stop | null): Story;
  /** From here on nothing is stopped; agents that were go on. */
  release(): void;
  readonly trips: readonly Trip[];
  /** Trips of one story to one place. */
  tripsOf(story: Story, place: Stop['place']): readonly Trip[];
  query<Row extends z.ZodType>(shape: Row, text: string, values?: readonly unknown[]): Promise<readonly z.infer<Row>[]>;
  /** As if that many seconds had passed, for everything that the ledger holds. */
  shift(seconds: number): Promise<void>;
  /** What the user says next is under way: a place where a story can stop. */
  arrive(story: Story, place: Stop['place']): Promise<void>;
  readonly agents: Readonly<Record<string, Site>>;
  close(): Promise<void>;
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const storyIn = (text: string): string | undefined => /#(\w+)/.exec(text)?.[1];

interface Told {
  readonly story: Story;
  readonly counts: Record<Stop['place'], number>;
  readonly reached: () => void;
  isStopped: boolean;
}

export interface Elsewhere {
  /** Origins by name: agents that live in a process of their own, instead of the street's. */
  readonly agents: Readonly<Record<string, string>>;
  /** Between the pieces of what the model says. */
  readonly modelPauseMs: number;
}

/** `bindings` are added to the service's own. Takes about two seconds. */
export async function startStreet(
  postgres: PostgresServer,
  bundle: string,
  bindings: Readonly<Record<string, string>> = {},
  elsewhere: Elsewhere | null = null,
): Promise<Street> {
  const told = new Map<string, Told>();
  const owners = new Map<string, string>();
  const shared = new Set<string>();
  const trips: Trip[] = [];
  const released = Promise.withResolvers<void>();
  let free = false;

  /** Counts the trip, and says when it is to be held up. A story that was stopped once makes no further trip. */
  const depart = (id: string | undefined, place: Stop['place'], what: string) => {
    const teller = id === undefined ? undefined : told.get(id);
    trips.push({ story: teller?.story.id ?? null, place, atMs: performance.now(), what });
    if (!teller) return { hold: async () => {} };
    teller.counts[place] += 1;
    const nth = teller.counts[place];
    const hold = async (when: Stop['when']) => {
      const { stop } = teller.story;
      const here = stop !== null && stop.place === place && stop.nth === nth && stop.when === when;
      if (free || !(here || teller.isStopped)) return;
      teller.isStopped = true;
      teller.reached();
      await released.promise;
    };
    return { hold };
  };

  const url = await createDatabase(postgres, new URL('../../migrations', import.meta.url).pathname);
  const backend = postgresBackend(url);
  const own = new pg.Pool({ connectionString: url, max: 4 });
  own.on('error', () => undefined);
  const bridge = createBridge(() => backend);
  const bridgePort = (await listen(bridge, 0)) ?? 0;

  const ownerOf = (body: string): string | undefined => {
    const ids = (body.match(uuids) ?? []).filter((id) => !shared.has(id));
    const id = storyIn(body) ?? ids.map((known) => owners.get(known)).find((found) => found !== undefined);
    if (id !== undefined) for (const known of ids) owners.set(known, id);
    return id;
  };
  const gate = createServer(async (incoming, response) => {
    const body = await bodyOf(incoming);
    const trip = depart(ownerOf(body), 'database', body.slice(0, 200));
    await trip.hold('before');
    if (incoming.socket.destroyed) return;
    const passed = httpRequest({ port: bridgePort, path: '/sql', method: 'POST', headers: incoming.headers }, async (answer) => {
      const text = await bodyOf(answer);
      await trip.hold('after');
      response.writeHead(answer.statusCode ?? 500, answer.headers).end(text);
    });
    passed.on('error', () => response.destroy());
    passed.end(body);
  });
  const gatePort = (await listen(gate, 0)) ?? 0;

  const model = await startModelServer(async (request) => {
    const trip = depart(storyOf(request), 'model', '');
    await trip.hold('before');
    const reply = decided(request, elsewhere?.modelPauseMs ?? 0);
    const half = Math.ceil(reply.writes.length / 2);
    return { ...reply, writes: [...reply.writes.slice(0, half), { until: trip.hold('during') }, ...reply.writes.slice(half)] };
  });

  const closing = new AbortController();
  const peer = (answer: Agent['answer'], options: Partial<PeerOptions> = {}) =>
    servePeer({
      binding: 'JSONRPC',
      version: '1.0',
      streaming: true,
      executor: executorOf(async function* (heard) {
        const trip = depart(storyIn(heard.text), 'agent', heard.text);
        await trip.hold('before');
        yield { kind: 'working' };
        await trip.hold('during');
        yield* answer(heard);
      }, closing.signal),
      ...options,
    });
  const says: Agent['answer'] = async function* ({ text }) {
    yield { kind: 'artifact', name: 'answer', text: `answer to ${text}` };
    yield { kind: 'completed' };
  };
  const after = (ms: number): Agent['answer'] =>
    async function* (heard) {
      await pause(ms);
      yield* says(heard);
    };
  const asking: Agent['answer'] = async function* (heard) {
    if (heard.earlier.length === 0) yield { kind: 'input_required', text: 'which one?' };
    else yield* says(heard);
  };
  const agents: Street['agents'] = elsewhere
    ? {}
    : {
        stream: await peer(says),
        poll: await peer(after(200), { streaming: false }),
        push: await peer(after(200), { streaming: false, push: true }),
        old: await peer(says, { version: '0.3' }),
        asks: await peer(asking),
        long: await peer(after(1_300)),
      };
  const origins = elsewhere?.agents ?? Object.fromEntries(Object.entries(agents).map(([name, { origin }]) => [name, origin]));

  const port = (await freePort()) ?? 0;
  return {
    agents,
    trips,
    tripsOf: (story, place) => trips.filter((trip) => trip.story === story.id && trip.place === place),
    async start(state, code = bundle) {
      const service = await startService({
        bundle: code,
        state,
        port,
        bindings: {
          DATABASE_URL: bridgedUrl,
          NEON_FETCH_ENDPOINT: `http://127.0.0.1:${gatePort}/sql`,
          OPENAI_API_KEY: 'any',
          OPENAI_BASE_URL: model.url,
          OPENAI_MODEL: 'scripted',
          A2A_AGENTS: JSON.stringify(Object.entries(origins).map(([name, origin]) => ({ name, url: `${origin}/agent` }))),
          PUBLIC_URL: `http://127.0.0.1:${port}`,
          PUSH_SECRET: 'the secret of the street',
          ALLOW_ANONYMOUS: '1',
          ...bindings,
        },
      });
      // The cards are read now, so that no step stops for them.
      await fetch(`${service.url}/v1/agents`).then((response) => response.text());
      for (const { id } of (await own.query<{ id: string }>('select id from agent')).rows) shared.add(id);
      return service;
    },
    begin(plot, stop = null) {
      const id = `${plot}${told.size + 1}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      const story: Story = { id, plot, words: `${plot} #${id}`, stop, stopped: promise };
      told.set(id, { story, counts: { database: 0, model: 0, agent: 0, user: 0 }, reached: resolve, isStopped: false });
      return story;
    },
    release() {
      free = true;
      // What was still on its way when the service died does not arrive.
      gate.closeAllConnections();
      released.resolve();
    },
    arrive: (story, place) => depart(story.id, place, '').hold('before'),
    query: async (shape, text, values = []) => z.array(shape).parse((await own.query(text, [...values])).rows),
    async shift(seconds) {
      const columns = await own.query<{ table_name: string; column_name: string }>(
        `select table_name, column_name from information_schema.columns where table_schema = 'public' and data_type = 'timestamp with time zone'`,
      );
      const tables = Map.groupBy(columns.rows, (row) => row.table_name);
      const client = await own.connect();
      try {
        await client.query('begin');
        // Behind the same lock as every writing rule.
        await client.query('select id from conversation order by id for update');
        for (const [table, found] of tables) {
          const moves = found.map(({ column_name: name }) => `${name} = ${name} - interval '${seconds} seconds'`);
          await client.query(`update "${table}" set ${moves.join(', ')}`);
        }
        await client.query('commit');
      } finally {
        client.release();
      }
    },
    async close() {
      closing.abort();
      for (const site of Object.values(agents)) await site.close();
      await model.close();
      for (const server of [gate, bridge]) {
        server.closeAllConnections();
        server.close();
      }
      await own.end();
      await backend.close();
    },
  };
}

const storyOf = ({ body }: ModelRequest): string | undefined =>
  body.messages.map(({ role, content }) => (role === 'user' && content !== null ? storyIn(content) : undefined)).find(Boolean);

/** By what is in the transcript alone, so that a model that is asked again says the same again. The newest words that name a story count. */
function decided({ body }: ModelRequest, pauseMs: number): ModelReply {
  const said = body.messages.flatMap(({ role, content }) => (role === 'user' && content !== null ? [content] : []));
  const id = said.flatMap((content) => storyIn(content) ?? []).at(-1);
  const plot = Object.entries(plots).find(([name]) => name === id?.replace(/\d+$/, ''))?.[1];
  if (!plot || body.tool_choice === 'none') return reports(`nothing more to do for #${id}`);
  const results = body.messages.filter(({ role }) => role === 'tool').length;
  const last = body.messages.at(-1);
  const answered = last?.role === 'user' && last.content?.startsWith('that one');
  const due = plot.atOnce ? plot.agents.slice(results) : plot.agents.slice(results, results + 1);
  const next = answered ? ['asks'] : due;
  if (next.length === 0) return reports(`report on #${id}, in some words so that it takes some pieces`, 8, pauseMs);
  return callsAgents(...next.map((agent) => ({ agent, query: `ask ${agent} #${id}` })));
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

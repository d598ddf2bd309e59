// The service is killed again and again under fifty conversations: each comes to its ends, and nothing is lost, doubled or shown twice.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, onTestFailed, test } from 'vitest';
import { z } from 'zod';
import { clientOf } from '../support/client.ts';
import { type OutsideAgents, startAgents } from '../support/outside/agents.ts';
import { type Chance, chanceOf } from '../support/outside/chance.ts';
import { type Subscriber, subscribe } from '../support/outside/subscriber.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Service, stateFolder } from '../support/service.ts';
import { type Plot, type Story, type Street, startStreet } from '../support/street.ts';

/** The environment can ask for the same again, or for more. */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const kills = Number(process.env['KILLS'] ?? 20);
const rounds = Number(process.env['ROUNDS'] ?? 10);
const tellers = Number(process.env['CONVERSATIONS'] ?? 50);

let postgres: PostgresServer;
beforeAll(async () => {
  console.log(`SEED=${seed}`);
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const plots = ['stream', 'poll', 'push', 'old', 'asks', 'both', 'pair', 'turns', 'long'] as const satisfies readonly Plot[];
const over = ['answered', 'failed', 'canceled', 'expired'];

const fateSchema = z.object({ words: z.string(), status: z.string(), unknown: z.boolean(), questions: z.coerce.number() });
type Fate = z.infer<typeof fateSchema>;

/** What became of everybody's words, looked at over and over. A database that is away shows what it showed last. */
function watch(street: Street) {
  const leaving = new AbortController();
  let fates: ReadonlyMap<string, Fate> = new Map();
  const look = async () => {
    const rows = await street.query(
      fateSchema,
      `select m.content as words, i.status, exists (select 1 from call q where q.intention_id = i.id and q.state = 'unknown') as unknown,
          (select count(*) from message a where a.intention_id = i.id and a.type = 'input_required') as questions
        from intention i join message m on m.id = i.id`,
    );
    fates = new Map(rows.map((row) => [row.words, row]));
  };
  const watching = (async () => {
    while (!leaving.signal.aborted) {
      await look().catch(() => undefined);
      await pause(100);
    }
  })();
  return {
    signal: leaving.signal,
    of: (story: Story): Fate | null => fates.get(story.words) ?? null,
    async leave() {
      leaving.abort();
      await watching;
    },
  };
}
type Watch = ReturnType<typeof watch>;

/** Over, or asking what nobody can know. */
const isAtRest = (fate: Fate | null) => fate !== null && (over.includes(fate.status) || (fate.status === 'input_required' && fate.unknown));

interface Told {
  readonly story: Story;
  readonly conversation: string;
}

interface Crowd {
  readonly told: readonly Told[];
  readonly conversations: ReadonlySet<string>;
  /** No new stories from here on. */
  finish(): void;
  /** Resolves when everybody's last story is at rest. */
  readonly done: Promise<unknown>;
}

/** Each tells one story after another in a conversation, and goes on in a new one where a question is left open. */
function crowdOf(street: Street, service: Service, watched: Watch, chance: Chance, onConversation: (id: string) => void): Crowd {
  const told: Told[] = [];
  const conversations = new Set<string>();
  const origin = service.url;
  let finished = false;
  const tell = async () => {
    let conversation: string | null = null;
    while (!finished) {
      const story = street.begin(chance.of(plots));
      const where: string = await say(origin, conversation, story.words, watched.signal);
      if (!conversations.has(where)) onConversation(where);
      conversations.add(where);
      told.push({ story, conversation: where });
      let answered = 0;
      for (; !isAtRest(watched.of(story)); await pause(100)) {
        watched.signal.throwIfAborted();
        const fate = watched.of(story);
        if (fate?.status !== 'input_required' || fate.questions === answered) continue;
        answered = fate.questions;
        await say(origin, where, `that one #${story.id}, ${answered}`, watched.signal);
      }
      conversation = watched.of(story)?.status === 'input_required' ? null : where;
    }
  };
  return {
    told,
    conversations,
    finish() {
      finished = true;
    },
    done: Promise.all(Array.from({ length: tellers }, tell)),
  };
}

const receiptSchema = z.object({ conversation_id: z.string() });

/** Posts until it is taken, always with the same key. A question that was closed meanwhile is no fault. */
async function say(origin: string, conversation: string | null, content: string, signal: AbortSignal): Promise<string> {
  const client = clientOf(origin);
  const headers = { 'idempotency-key': content.replaceAll(/\W/g, '-') };
  for (;;) {
    signal.throwIfAborted();
    const response = await client.post(client.messagesOf(conversation), { content }, headers).catch(() => null);
    const body = await response?.text().catch(() => null);
    if (response?.status === 202 && body) return receiptSchema.parse(JSON.parse(body)).conversation_id;
    if (response && body && response.status !== 503) throw new Error(`${response.status} for "${content}": ${body}`);
    await pause(100);
  }
}

/** `startMs` is how long it took: a measure of how fast this machine is now. */
async function startService(street: Street, state: string): Promise<Service & { readonly startMs: number }> {
  const begunMs = performance.now();
  const service = await street.start(state);
  onTestFailed(() => console.log(service.log.slice(-60).join('\n')));
  return { ...service, startMs: performance.now() - begunMs };
}

/** A second or two in the life of a service, at random: long enough to get to work, too short to get done. */
const someWork = (chance: Chance, { startMs }: { readonly startMs: number }) => pause(startMs * chance.between(0.4, 1.8));

/** All that is late is done now; then everybody's last story comes to rest, and what is left open expires. */
async function settle(street: Street, service: Service, crowd: Crowd, watched: Watch): Promise<void> {
  crowd.finish();
  await service.tick();
  const left = () => crowd.told.flatMap(({ story }) => (isAtRest(watched.of(story)) ? [] : [[story.id, watched.of(story)]]));
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual([]);
  await crowd.done;
  await street.shift(25 * 3600);
  const due = `select 'intention ' || status as what, round(extract(epoch from wake_at - now())) as seconds from intention where wake_at is not null
    union all select 'call ' || state, round(extract(epoch from wake_at - now())) from call where wake_at is not null`;
  await expect
    .poll(
      async () => {
        // Tasks to be canceled are looked for some more times, each twice as far off.
        await street.shift(100);
        await service.tick();
        return street.query(z.unknown(), due);
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toEqual([]);
}

/** Exactly one end for each intention, each word there once, and rows without gaps. Returns how many ended how. */
async function expectEnds(street: Street, crowd: Crowd): Promise<Readonly<Record<string, number>>> {
  const wrong = await street.query(
    z.unknown(),
    `select i.id, i.status, count(m.*) as ends from intention i
      left join message m on m.intention_id = i.id and m.role = 'assistant' and m.type is distinct from 'reassigned'
      group by i.id having count(m.*) <> 1 or i.status not in ('answered', 'failed', 'canceled', 'expired')`,
  );
  expect(wrong).toEqual([]);
  const gaps = 'select conversation_id from message group by 1 having max(seq) <> count(*) or min(seq) <> 1';
  expect(await street.query(z.unknown(), gaps)).toEqual([]);
  const words = z.object({ content: z.string(), conversation_id: z.string() });
  const there = await street.query(
    words,
    "select content, conversation_id from message where role = 'user' and content not like 'that one%'",
  );
  const pairs = (all: readonly (readonly [string, string])[]) => all.map((pair) => pair.join(' in ')).sort();
  expect(pairs(there.map((row) => [row.content, row.conversation_id]))).toEqual(
    pairs(crowd.told.map(({ story, conversation }) => [story.words, conversation])),
  );
  const counts = await street.query(
    z.object({ status: z.string(), count: z.coerce.number() }),
    'select status, count(*) from intention group by 1 order by 1',
  );
  return Object.fromEntries(counts.map(({ status, count }) => [status, count]));
}

const callSchema = z.object({ message_id: z.string(), agent: z.string(), state: z.string(), attempts: z.number(), doubted: z.boolean() });

/** What the agents' disk says, beside what the ledger says. */
async function heardOf(street: Street, agents: OutsideAgents) {
  const calls = await street.query(
    callSchema,
    `select q.message_id, q.agent, q.state, q.attempts, exists (select 1 from message m
        where m.call_id = q.id and m.type = 'input_required' and m.agent = 'plan') as doubted from call q`,
  );
  const times = new Map<string, number>();
  for (const { messageId } of await agents.heard()) times.set(messageId, (times.get(messageId) ?? 0) + 1);
  return { calls, times };
}
type Heard = Awaited<ReturnType<typeof heardOf>>;

function countsOf({ calls, times }: Heard) {
  const doubted = calls.filter((call) => call.doubted);
  return {
    calls: calls.length,
    transmissions: calls.reduce((sum, { attempts }) => sum + attempts, 0),
    heard: times.size,
    twice: [...times.values()].filter((count) => count > 1).length,
    doubted: doubted.length,
    doubtedAndHeard: doubted.filter((call) => times.has(call.message_id)).length,
  };
}

/** Nothing was sent that the ledger does not hold, nothing twice but where it says so, and what is said to be done was heard. */
function expectHeardOnce({ calls, times }: Heard): void {
  const known = new Map(calls.map((call) => [call.message_id, call]));
  expect([...times.keys()].filter((id) => !known.has(id))).toEqual([]);
  expect([...times].filter(([id, count]) => count > 1 && !known.get(id)?.doubted)).toEqual([]);
  expect(calls.filter((call) => call.state === 'completed' && !times.has(call.message_id))).toEqual([]);
}

/** The test moves the rows' times meanwhile. */
const timeless = ({ id, data }: Subscriber['events'][number]) => ({ id, data: data.replace(/"created_at":"[^"]*"/, '') });

test(`killed ${kills} times, all is said once, heard once and shown once`, { timeout: 60_000 + kills * 12_000 }, async () => {
  const begunMs = performance.now();
  const chance = chanceOf(seed);
  const agents = await startAgents();
  const street = await startStreet(postgres, inject('bundle'), {}, { agents: agents.origins, modelPauseMs: 30 });
  const state = await stateFolder();
  const watched = watch(street);
  try {
    let service = await startService(street, state.path);
    const subscribers = new Map<string, { readonly steady: Subscriber; late: Subscriber | null }>();
    const crowd = crowdOf(street, service, watched, chance, (id) => {
      subscribers.set(id, { steady: subscribe(service.url, id), late: null });
    });
    crowd.done.catch(() => undefined);
    for (let kill = 1; kill <= kills; kill += 1) {
      await someWork(chance, service);
      await service.kill();
      // Long after the last kill everything is late, and nobody holds a lease.
      if (kill === kills) await street.shift(100);
      service = await startService(street, state.path);
      for (const [id, both] of subscribers) if (chance.between(0, 10) < 1) both.late ??= subscribe(service.url, id);
    }
    await settle(street, service, crowd, watched);
    const ends = await expectEnds(street, crowd);
    const heard = await heardOf(street, agents);
    expectHeardOnce(heard);

    for (const [id, both] of subscribers) both.late ??= subscribe(service.url, id);
    const rows = await street.query(
      z.object({ conversation_id: z.string(), seq: z.coerce.number() }),
      'select conversation_id, seq from message order by 1, 2',
    );
    const seqs = Map.groupBy(rows, ({ conversation_id }) => conversation_id);
    const all = [...subscribers].flatMap(([id, { steady, late }]) => [steady, ...(late ? [late] : [])].map((who) => ({ id, who })));
    const missing = () => all.flatMap(({ id, who }) => (who.events.length < (seqs.get(id)?.length ?? 0) ? [[id, who.events.length]] : []));
    await expect.poll(missing, { timeout: 30_000, interval: 200 }).toEqual([]);
    await Promise.all(all.map(({ who }) => who.leave()));
    for (const { id, who } of all) {
      expect(who.events.map((event) => event.id)).toEqual(seqs.get(id)?.map(({ seq }) => seq));
      expect([who.view.open(), who.view.broken, who.refusals]).toEqual([[], [], []]);
    }
    for (const { steady, late } of subscribers.values()) {
      expect(late?.events.map(timeless)).toEqual(steady.events.map(timeless));
      expect(late?.view.texts()).toEqual(steady.view.texts());
    }
    const sum = (count: (who: Subscriber) => number) => all.reduce((total, { who }) => total + count(who), 0);
    console.log({
      seed,
      kills,
      conversations: crowd.conversations.size,
      intentions: crowd.told.length,
      ends,
      ...countsOf(heard),
      subscribers: all.length,
      connections: sum((who) => who.connections),
      events: sum((who) => who.events.length),
      grown: sum((who) => who.view.grown()),
      seconds: Math.round((performance.now() - begunMs) / 1000),
    });
    await service.stop();
  } finally {
    await watched.leave();
    await street.close();
    await agents.close();
    await state.forget();
  }
});

test(`killed ${rounds} times together with its agents and its database, every intention comes to one end`, {
  timeout: 60_000 + rounds * 24_000,
}, async () => {
  const begunMs = performance.now();
  const chance = chanceOf(seed + 1);
  const agents = await startAgents();
  const street = await startStreet(postgres, inject('bundle'), {}, { agents: agents.origins, modelPauseMs: 30 });
  const state = await stateFolder();
  const watched = watch(street);
  try {
    let service = await startService(street, state.path);
    const crowd = crowdOf(street, service, watched, chance, () => undefined);
    crowd.done.catch(() => undefined);
    const after = async (kill: () => Promise<void>) => pause(chance.between(0, 300)).then(kill);
    for (let round = 1; round <= rounds; round += 1) {
      await someWork(chance, service);
      await Promise.all([
        after(() => service.kill()),
        after(() => agents.kill()).then(() => agents.start()),
        after(() => postgres.restart('killed', 300)),
      ]);
      if (round === rounds) await street.shift(100);
      service = await startService(street, state.path);
    }
    await settle(street, service, crowd, watched);
    const ends = await expectEnds(street, crowd);
    console.log({
      seed,
      rounds,
      conversations: crowd.conversations.size,
      intentions: crowd.told.length,
      ends,
      ...countsOf(await heardOf(street, agents)),
      seconds: Math.round((performance.now() - begunMs) / 1000),
    });
    await service.stop();
  } finally {
    await watched.leave();
    await street.close();
    await agents.close();
    await state.forget();
  }
});

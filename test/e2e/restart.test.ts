// A killed service: whatever was accepted comes to its one end, by alarms, or by the sweep alone when those are lost too.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, onTestFailed, test, vi } from 'vitest';
import { z } from 'zod';
import { clientOf } from '../support/client.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Service, stateFolder } from '../support/service.ts';
import { type Plot, type Stop, type Story, type Street, startStreet } from '../support/street.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  // The agents' library reports each notification, and each that finds nobody.
  vi.spyOn(console, 'info').mockReturnValue();
  vi.spyOn(console, 'error').mockReturnValue();
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const over = ['answered', 'failed', 'canceled', 'expired'];
const fateSchema = z.object({ words: z.string(), status: z.string(), unknown: z.boolean(), questions: z.coerce.number() });
type Fate = z.infer<typeof fateSchema>;

/** One look for all who ask within a moment. */
const looks = new WeakMap<Street, { readonly atMs: number; readonly fates: Promise<ReadonlyMap<string, Fate>> }>();

/** What became of the story's intention; `unknown`: it asks the user whether to try again what may have happened. */
async function fateOf(street: Street, story: Story): Promise<Fate | null> {
  const last = looks.get(street);
  const look = last && performance.now() - last.atMs < 100 ? last : { atMs: performance.now(), fates: lookAtAll(street) };
  looks.set(street, look);
  return (await look.fates).get(story.words) ?? null;
}

async function lookAtAll(street: Street): Promise<ReadonlyMap<string, Fate>> {
  const rows = await street.query(
    fateSchema,
    `select m.content as words, i.status, exists (select 1 from call q where q.intention_id = i.id and q.state = 'unknown') as unknown,
        (select count(*) from message a where a.intention_id = i.id and a.type = 'input_required') as questions
      from intention i join message m on m.id = i.id`,
  );
  return new Map(rows.map((row) => [row.words, row]));
}

/** Over, or waiting for the user's word on what nobody can know. */
async function isAtRest(street: Street, story: Story): Promise<boolean> {
  const fate = await fateOf(street, story);
  return fate !== null && (over.includes(fate.status) || (fate.status === 'input_required' && fate.unknown));
}

async function allAtRest(street: Street, stories: readonly Story[], seconds: number): Promise<void> {
  let left = stories;
  for (const endMs = performance.now() + seconds * 1000; left.length > 0; await pause(110)) {
    const rest = await Promise.all(left.map((story) => isAtRest(street, story)));
    left = left.filter((_, index) => !rest[index]);
    if (performance.now() < endMs) continue;
    const fates = await Promise.all(
      left.map(async (story) => `${nameOf(story)}: ${JSON.stringify([await fateOf(street, story), await rowsOf(street, story)])}`),
    );
    expect(fates, `not at rest after ${seconds} s`).toEqual([]);
  }
}

const nameOf = ({ id, stop }: Story): string => (stop === null ? id : `${id}, killed ${stop.when} ${stop.place} ${stop.nth}`);

/** A user who posts the story's words and answers each question of an agent; after a failure again, unless the words are there. */
async function tell(street: Street, service: Service, story: Story, signal: AbortSignal): Promise<void> {
  const conversation = await say(street, service, null, story.words, signal);
  for (;;) {
    signal.throwIfAborted();
    const fate = await fateOf(street, story);
    if (fate && over.includes(fate.status)) return;
    if (fate?.status === 'input_required' && fate.unknown) return;
    if (fate?.status === 'input_required') {
      await street.arrive(story, 'user');
      await say(street, service, conversation, `that one #${story.id}, ${fate.questions}`, signal);
    }
    await pause(110);
  }
}

async function say(street: Street, service: Service, conversation: string | null, content: string, signal: AbortSignal) {
  const there = await street.query(z.object({ conversation_id: z.string() }), 'select conversation_id from message where content = $1', [
    content,
  ]);
  if (there[0]) return there[0].conversation_id;
  const client = clientOf(service.url);
  const response = await client.send(client.messagesOf(conversation), {
    method: 'POST',
    body: JSON.stringify({ content }),
    headers: { 'content-type': 'application/json', 'idempotency-key': content.replaceAll(/\W/g, '-') },
    signal,
  });
  expect(response.status).toBe(202);
  return z.object({ conversation_id: z.string() }).parse(await response.json()).conversation_id;
}

const sides = { database: ['before', 'after'], model: ['before', 'during'], agent: ['before', 'during'], user: ['before'] } as const;

/** Both sides of every trip that a story of this plot makes, from one that nothing stopped. */
async function stopsOf(street: Street, service: Service, plot: Plot): Promise<readonly Stop[]> {
  const story = street.begin(plot);
  await tell(street, service, story, AbortSignal.timeout(30_000));
  return (['database', 'model', 'agent', 'user'] as const).flatMap((place) =>
    street.tripsOf(story, place).flatMap((_, index) => sides[place].map((when): Stop => ({ place, nth: index + 1, when }))),
  );
}

/** Stories that stand still, one at each step of each plot, and the service killed under them. */
async function killedEverywhere(street: Street, state: string, kinds: readonly Plot[]): Promise<readonly Story[]> {
  const service = await start(street, state);
  const stops = await Promise.all(kinds.map((plot) => stopsOf(street, service, plot)));
  const stories = kinds.flatMap((plot, index) => (stops[index] ?? []).map((stop) => street.begin(plot, stop)));
  const leaving = new AbortController();
  const told = stories.map((story) => tell(street, service, story, leaving.signal).catch(() => undefined));
  await Promise.all(stories.map((story, index) => Promise.race([story.stopped, told[index]])));
  await service.kill();
  leaving.abort();
  street.release();
  return stories;
}

async function start(street: Street, state: string): Promise<Service> {
  const service = await street.start(state);
  onTestFailed(() => console.log(service.log.slice(-80).join('\n')));
  return service;
}

const rowsSchema = z.object({ seq: z.coerce.number(), role: z.string(), type: z.string().nullable(), content: z.string() });

async function rowsOf(street: Street, story: Story) {
  return street.query(
    rowsSchema,
    `select seq, role, type, content from message
      where conversation_id = (select conversation_id from message where content = $1) order by seq`,
    [story.words],
  );
}

/** Rows without gaps, at most one end, doubt said where there is doubt; and over all, no agent was sent a message twice. */
async function expectWhole(street: Street, stories: readonly Story[]): Promise<void> {
  const wrong: string[] = [];
  for (const story of stories) {
    const rows = await rowsOf(street, story);
    const fate = await fateOf(street, story);
    const ends = rows.filter(({ role }) => role === 'assistant').length;
    const doubted = rows.some(({ type, content }) => type === 'input_required' && content.includes('never got a confirmation'));
    const whole = rows.every(({ seq }, index) => seq === index + 1);
    const right = ends === 1 ? fate?.status === 'answered' || (fate?.status === 'expired' && doubted) : ends === 0 && doubted;
    if (!whole || !right) wrong.push(`${nameOf(story)}: ${JSON.stringify({ fate, rows })}`);
  }
  expect(wrong).toEqual([]);
  const sent = Object.values(street.agents).flatMap((site) => messageIdsTo(site.requests));
  expect(sent.filter((id, index) => sent.indexOf(id) !== index)).toEqual([]);
}

const sentSchema = z.object({ params: z.looseObject({ message: z.looseObject({ messageId: z.string() }).optional() }) });

function messageIdsTo(requests: Street['agents'][string]['requests']): readonly string[] {
  return requests
    .filter(({ method }) => method === 'POST')
    .flatMap(({ body }) => sentSchema.parse(JSON.parse(body)).params.message?.messageId ?? []);
}

const due = `select 'intention' as kind, status as state from intention where wake_at is not null
  union all select 'call', state from call where wake_at is not null`;

test('killed between any two steps with all alarms lost, every message comes to one end by the sweep alone', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const [lost, fresh] = [await stateFolder(), await stateFolder()];
  try {
    const stories = await killedEverywhere(street, lost.path, ['stream', 'poll', 'push', 'old', 'asks', 'both']);
    await lost.forget();
    await street.shift(100);
    const service = await start(street, fresh.path);
    await service.tick();
    const leaving = AbortSignal.timeout(60_000);
    const told = stories.map((story) => tell(street, service, story, leaving).catch(() => undefined));
    await allAtRest(street, stories, 60);
    await Promise.all(told);

    // Nobody answers what was left in doubt: it expires.
    await street.shift(25 * 3600);
    await service.tick();
    await expect.poll(() => street.query(z.unknown(), due), { timeout: 20_000 }).toEqual([]);
    await expectWhole(street, stories);
    expect(
      await Promise.all(stories.map(async (story) => (await rowsOf(street, story)).filter(({ role }) => role === 'assistant').length)),
    ).toEqual(stories.map(() => 1));
    await service.stop();
  } finally {
    await street.close();
    await fresh.forget();
  }
});

test('killed between any two steps, every message goes on by the alarms alone', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const state = await stateFolder();
  try {
    const stories = await killedEverywhere(street, state.path, ['stream', 'poll', 'old', 'both']);
    const service = await start(street, state.path);
    const leaving = AbortSignal.timeout(60_000);
    const told = stories.map((story) => tell(street, service, story, leaving).catch(() => undefined));
    // Half a minute is for what is in doubt after a resumed task or a promised push; these are not.
    await allAtRest(street, stories, 25);
    await Promise.all(told);
    await expectWhole(street, stories);
    await service.stop();
  } finally {
    await street.close();
    await state.forget();
  }
});

test('a reader who comes back with the last id after each kill sees every row once, in order', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const state = await stateFolder();
  try {
    const story = street.begin('turns');
    const killAfter = [1, 3, 5];
    const seen: number[] = [];
    let service = await start(street, state.path);
    const conversation = await say(street, service, null, story.words, AbortSignal.timeout(10_000));
    while (!(await isAtRest(street, story)) || seen.length < (await rowsOf(street, story)).length) {
      const due = killAfter[0] ?? Number.POSITIVE_INFINITY;
      // Broken off by the kill, or by us after a second of silence.
      await read(service, conversation, seen, () => seen.length >= due).catch(() => undefined);
      if (seen.length < due) continue;
      await service.kill();
      killAfter.shift();
      service = await start(street, state.path);
    }
    expect(seen).toEqual((await rowsOf(street, story)).map(({ seq }) => seq));
    expect(killAfter.length).toBeLessThan(2);
    await service.stop();
  } finally {
    await street.close();
    await state.forget();
  }
});

/** Notes the ids of the rows after the last one noted; until `enough`, or a second passes without a frame. */
async function read(service: Service, conversation: string, seen: number[], enough: () => boolean): Promise<void> {
  const events = clientOf(service.url).events(conversation, { 'last-event-id': `${seen.at(-1) ?? 0}` });
  for (;;) {
    const next = await Promise.race([events.next(), pause(1_000, null)]);
    if (next === null || next.done) break;
    if (next.value.event === 'message') seen.push(Number(next.value.id));
    if (enough()) break;
  }
  void events.return().catch(() => undefined);
}

// A killed service: whatever was accepted comes to its one end, by alarms, or by the sweep alone when those are lost too.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, onTestFailed, test } from 'vitest';
import { z } from 'zod';
import { clientOf, type Receipt } from '../support/client.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Service, stateFolder } from '../support/service.ts';
import { type Plot, plots, type Stop, type Story, type Street, startStreet } from '../support/street.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const ended = z.enum(['answered', 'failed', 'canceled', 'expired']);
const statusSchema = z.object({ status: z.string(), asked_by_plan: z.boolean() });

/** What became of the story's only intention: its status, and whether it waits for what nobody can know. */
async function fateOf(street: Street, story: Story) {
  const [found] = await street.query(
    statusSchema,
    `select i.status, exists (select 1 from call q where q.intention_id = i.id and q.state = 'unknown') as asked_by_plan
      from intention i join message m on m.intention_id = i.id where m.content = $1`,
    [story.words[0]],
  );
  return found ?? null;
}

async function until<T>(what: string, seconds: number, look: () => Promise<T | null | false>): Promise<T> {
  for (const endMs = performance.now() + seconds * 1000; performance.now() < endMs; await pause(50)) {
    const found = await look();
    if (found !== null && found !== false) return found;
  }
  throw new Error(`not within ${seconds} s: ${what}`);
}

/** A user who posts the story's words and answers its question; again after a failure, under the same key, unless the words are there. */
async function tell(street: Street, service: Service, story: Story, signal: AbortSignal): Promise<void> {
  let conversation: string | null = null;
  for (const [place, content] of story.words.entries()) {
    if (place > 0) {
      const parked = await until(`${story.id} asks`, 60, async () => {
        signal.throwIfAborted();
        const fate = await fateOf(street, story);
        return fate && (fate.status === 'input_required' || ended.safeParse(fate.status).success) ? fate : null;
      });
      // The other question is whether it happened at all: nobody answers that.
      if (parked.status !== 'input_required' || parked.asked_by_plan) return;
      await street.arrive(story, 'user');
    }
    const there = await street.query(z.object({ conversation_id: z.string() }), 'select conversation_id from message where content = $1', [
      content,
    ]);
    conversation = there[0]?.conversation_id ?? (await post(service, story, conversation, content, signal)).conversation_id;
  }
}

async function post(service: Service, story: Story, conversation: string | null, content: string, signal: AbortSignal): Promise<Receipt> {
  const client = clientOf(service.url);
  const response = await client.send(client.messagesOf(conversation), {
    method: 'POST',
    body: JSON.stringify({ content }),
    headers: { 'content-type': 'application/json', 'idempotency-key': `${story.id}-${content.length}` },
    signal,
  });
  expect(response.status).toBe(202);
  return z
    .object({ conversation_id: z.string(), message_id: z.string(), intention_id: z.string(), seq: z.number() })
    .parse(await response.json());
}

const isAtRest = async (street: Street, story: Story) => {
  const fate = await fateOf(street, story);
  return fate !== null && (ended.safeParse(fate.status).success || (fate.status === 'input_required' && fate.asked_by_plan));
};

/** Every trip that a story of this plot makes, from one that nothing stopped. */
async function stopsOf(street: Street, service: Service, plot: Plot): Promise<readonly Stop[]> {
  const story = street.begin(plot);
  await tell(street, service, story, AbortSignal.timeout(30_000));
  await until(`${story.id} ends`, 30, () => isAtRest(street, story));
  const ends = { database: ['before', 'after'], model: ['before', 'during'], agent: ['before', 'during'], user: ['before'] } as const;
  return (['database', 'model', 'agent', 'user'] as const).flatMap((place) =>
    street.tripsOf(story, place).flatMap((_, index) => ends[place].map((when): Stop => ({ place, nth: index + 1, when }))),
  );
}

/** Stories that stand still, one at each step of each plot, and the service killed. */
async function killedEverywhere(street: Street, state: string, kinds: readonly Plot[]): Promise<readonly Story[]> {
  const service = await street.start(state);
  onTestFailed(() => console.log(service.log.slice(-60).join('\n')));
  const stops = await Promise.all(kinds.map((plot) => stopsOf(street, service, plot)));
  const stories = kinds.flatMap((plot, index) => (stops[index] ?? []).map((stop) => street.begin(plot, stop)));
  const over = new AbortController();
  for (const story of stories) tell(street, service, story, over.signal).catch(() => undefined);
  await Promise.all(
    stories.map((story) =>
      Promise.race([story.stopped, until(`${story.id} stops at ${JSON.stringify(story.stop)}`, 40, () => isAtRest(street, story))]),
    ),
  );
  console.log('frozen', stories.length, performance.now());
  await service.kill();
  over.abort();
  street.release();
  return stories;
}

async function allAtRest(street: Street, stories: readonly Story[], seconds: number): Promise<void> {
  let left = stories;
  for (const endMs = performance.now() + seconds * 1000; left.length > 0; await pause(50)) {
    const rest = await Promise.all(left.map((story) => isAtRest(street, story)));
    left = left.filter((_, index) => !rest[index]);
    if (performance.now() < endMs || left.length === 0) continue;
    const states = await street.query(
      z.unknown(),
      `select m.content, i.status, i.step, i.wake_at - now() as wake, i.lease_by, i.lease_until - now() as lease, i.failures,
      (select jsonb_agg(jsonb_build_object('a', q.agent, 's', q.state, 'wake', q.wake_at - now(), 'by', q.lease_by, 'until', q.lease_until - now(), 'polls', q.polls, 'sent', q.sent_at - now(), 'task', q.task_id)) from call q where q.intention_id = i.id) as calls
      from intention i left join message m on m.intention_id = i.id and m.seq = 1 where i.status not in ('answered', 'expired')`,
    );
    console.log(JSON.stringify(states, null, 1));
    throw new Error(
      `not at rest within ${seconds} s: ${left.map(({ id, stop }) => `${id} ${stop?.place} ${stop?.nth} ${stop?.when}`).join(', ')}`,
    );
  }
}

const rowsSchema = z.object({
  seq: z.coerce.number(),
  role: z.string(),
  type: z.string().nullable(),
  content: z.string(),
  call_id: z.string().nullable(),
});

/** One end, rows without gaps, nothing left open, and no agent asked twice. */
async function check(street: Street, stories: readonly Story[]) {
  const fates = await Promise.all(
    stories.map(async (story) => {
      const rows = await street.query(
        rowsSchema,
        `select seq, role, type, content, call_id from message where conversation_id = (select conversation_id from message where content = $1) order by seq`,
        [story.words[0]],
      );
      const fate = await fateOf(street, story);
      const finals = rows.filter(({ role }) => role === 'assistant');
      const queries = rows.filter(({ type }) => type === 'query');
      return {
        story: story.id,
        stop: story.stop,
        ends: finals.length,
        contiguous: rows.every(({ seq }, index) => seq === index + 1),
        users: rows.filter(({ role }) => role === 'user').length,
        status: fate?.status,
        honest:
          fate?.status === 'answered' ||
          rows.some(({ type, content }) => type === 'input_required' && content.includes('never got a confirmation')),
        queries:
          fate?.status === 'answered'
            ? queries.length === plots[story.plot].agents.length || rows.some(({ content }) => content.includes('never got a confirmation'))
            : true,
      };
    }),
  );
  const wrong = fates.filter(
    (fate) =>
      fate.ends !== 1 || !fate.contiguous || !fate.honest || !fate.queries || (fate.status !== 'answered' && fate.status !== 'expired'),
  );
  expect(wrong).toEqual([]);
  const sent = Object.values(street.agents).flatMap((site) => messageIds(site.requests));
  expect(sent.length).toBe(new Set(sent).size);
  expect(
    await street.query(
      z.unknown(),
      `select q.id, q.state from call q where q.state in ('planned', 'sending', 'working', 'input_required', 'auth_required', 'unknown')
        union all select id, status from intention where status not in ('answered', 'failed', 'canceled', 'expired') or wake_at is not null`,
    ),
  ).toEqual([]);
  return fates;
}

const sentSchema = z.object({ params: z.looseObject({ message: z.object({ messageId: z.string() }).optional() }) });

function messageIds(requests: Street['agents'][string]['requests']): readonly string[] {
  return requests
    .filter(({ method }) => method === 'POST')
    .flatMap(({ body }) => sentSchema.parse(JSON.parse(body)).params.message?.messageId ?? []);
}

const day = 86_400;

test('killed between any two steps with all alarms lost, every message comes to one end by the sweep alone', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const [before, after] = [await stateFolder(), await stateFolder()];
  try {
    const stories = await killedEverywhere(street, before.path, ['stream', 'poll', 'push', 'old', 'asks', 'both']);
    await before.forget();
    await street.shift(100);

    const service = await street.start(after.path);
    onTestFailed(() => console.log(service.log.slice(-60).join('\n')));
    await service.tick();
    const over = AbortSignal.timeout(60_000);
    await Promise.all(stories.map((story) => tell(street, service, story, over)));
    await allAtRest(street, stories, 60);
    await street.shift(day + 60);
    await service.tick();
    await until(
      'all have ended',
      20,
      async () =>
        (await street.query(z.object({ n: z.coerce.number() }), `select count(*) as n from intention where wake_at is not null`))[0]?.n ===
        0,
    );
    const fates = await check(street, stories);
    const unknown = fates.filter(({ status }) => status === 'expired');
    console.log(
      fates.length,
      unknown.map(({ story, stop }) => `${story} ${stop?.place} ${stop?.nth} ${stop?.when}`),
    );
    await service.stop();
  } finally {
    await street.close();
    await after.forget();
  }
});

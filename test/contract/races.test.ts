// Rules that share rows, raced on a real Postgres: PGlite serialises everything and could not fail here.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { fold } from '../../src/intention/fold.ts';
import type { ConversationId } from '../../src/intention/message.ts';
import {
  accepted,
  called,
  closing,
  finishOutcome,
  type LedgerUnderTest,
  newMessage,
  onPostgres,
  owner,
  runnerOf,
  step,
} from '../support/ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

const rounds = 300;
/** Rounds under way at once: more racers than cores, fewer than connections. */
const width = 6;

let postgres: PostgresServer;
let under: LedgerUnderTest;
beforeAll(async () => {
  postgres = await startPostgres();
  under = await onPostgres(postgres);
});
afterAll(async () => {
  await under.close();
  await postgres.stop();
});

/** Runs `round` 300 times, some at once, and then holds the database to what must be true of it whoever won. */
async function race(round: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < rounds) await round(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
  const [{ deadlocks } = {}] = await under.query('select deadlocks::int from pg_stat_database where datname = current_database()');
  expect(deadlocks, 'deadlocks').toBe(0);
  const gaps = await under.query(
    'select c.id from conversation c join message m on m.conversation_id = c.id group by c.id having max(m.seq) <> count(*) or max(m.seq) <> c.next_seq - 1',
  );
  expect(gaps, 'conversations with a gap in seq').toEqual([]);
  const asleep = await under.query(`select i.id, i.status from intention i
    where (i.status = 'calling' and not exists (select 1 from call q where q.intention_id = i.id and q.state in ('planned', 'sending', 'working')))
       or (i.status = 'queued' and not exists (select 1 from intention b where b.conversation_id = i.conversation_id and b.status in ('planning', 'calling')))
       or (i.status = 'planning' and i.wake_at is null)`);
  expect(asleep, 'intentions that nobody would wake').toEqual([]);
}

async function foldsToItsStatuses(conversation: ConversationId): Promise<void> {
  const { messages } = await under.archive.replay(conversation, 0, 1000);
  const stored = await under.query('select id, status from intention where conversation_id = $1', [conversation]);
  for (const { id, status } of stored) {
    const { status: folded } = fold(messages.filter((row) => (row.movedTo ?? row.intentionId) === id));
    expect(folded).toBe(status === 'planning' || status === 'queued' ? 'runnable' : status);
  }
}

test('two calls of a step that close at once, each told twice, wake the intention exactly once', { timeout: 120_000 }, async () => {
  await race(async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const [weather, people] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather', 'people']);
    if (!weather || !people) throw new Error('no calls');
    const observed = await Promise.all(
      [weather, people, weather, people].map((call) => under.ledger.observe(call, closing(call, 'completed'))),
    );
    expect(observed.filter((each) => each.message !== null)).toHaveLength(2);
    expect(observed.filter((each) => each.wake.includes(runnerOf(first.intentionId)))).not.toHaveLength(0);
    expect((await under.archive.intention(owner, first.message.conversationId, first.intentionId))?.status).toBe('planning');
    await foldsToItsStatuses(first.message.conversationId);
  });
});

test('a message accepted while the intention before it finishes is either promoted or starts at once', { timeout: 120_000 }, async () => {
  await race(async () => {
    const first = await accepted(under.ledger, newMessage('one', null));
    const conversation = first.message.conversationId;
    const context = await step(under.ledger, first.intentionId);
    const [second, decided] = await Promise.all([
      accepted(under.ledger, newMessage('two', conversation)),
      under.ledger.decide(context, runnerOf(first.intentionId), finishOutcome(context, 'done')),
    ]);
    expect(decided.kind).toBe('applied');
    const woken = decided.kind === 'applied' && decided.wake.includes(runnerOf(second.intentionId));
    expect(woken || second.status === 'planning').toBe(true);
    expect((await under.archive.intention(owner, conversation, second.intentionId))?.status).toBe('planning');
    await foldsToItsStatuses(conversation);
  });
});

test('an answer accepted while the other branch closes is not lost between the join and the question', { timeout: 120_000 }, async () => {
  await race(async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const conversation = first.message.conversationId;
    const [weather, people] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather', 'people']);
    if (!weather || !people) throw new Error('no calls');
    await under.ledger.observe(weather, closing(weather, 'input_required', 'where?'));
    const [answer] = await Promise.all([
      accepted(under.ledger, newMessage('Shanghai', conversation, { answerTo: weather.id })),
      under.ledger.observe(people, closing(people, 'completed')),
    ]);
    expect(answer.intentionId).toBe(first.intentionId);
    expect((await under.archive.intention(owner, conversation, first.intentionId))?.status).toBe('planning');
    await foldsToItsStatuses(conversation);
  });
});

test('Stop against Observe: the intention ends once, and the loser changes nothing', { timeout: 120_000 }, async () => {
  await race(async () => {
    const first = await accepted(under.ledger, newMessage('slow', null));
    const conversation = first.message.conversationId;
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    const [stopped, again] = await Promise.all([
      under.ledger.stop(owner, conversation, first.intentionId),
      under.ledger.stop(owner, conversation, first.intentionId),
      under.ledger.observe(call, closing(call, 'completed')),
    ]);
    expect([stopped.status, again.status]).toEqual(['canceled', 'canceled']);
    expect(stopped.message?.id).toBe(again.message?.id);
    const [final] = await under.query(`select count(*)::int as n from message where intention_id = $1 and role = 'assistant'`, [
      first.intentionId,
    ]);
    expect(final).toEqual({ n: 1 });
    await foldsToItsStatuses(conversation);
  });
});

test('the same key posted by four at once is one message', { timeout: 120_000 }, async () => {
  await race(async (round) => {
    const post = () =>
      accepted(under.ledger, newMessage('hi', null, { idempotency: { scope: 'new', key: `key-${round}`, bodyHash: 'same' } }));
    const posts = await Promise.all(Array.from({ length: 4 }, post));
    expect(new Set(posts.map((each) => each.message.id)).size).toBe(1);
    const conversation = posts[0]?.message.conversationId;
    if (!conversation) throw new Error('no conversation');
    const more = await Promise.all(
      Array.from({ length: 4 }, () =>
        accepted(under.ledger, newMessage('ho', conversation, { idempotency: { scope: conversation, key: 'k', bodyHash: 'h' } })),
      ),
    );
    expect(new Set(more.map((each) => each.message.seq)).size).toBe(1);
  });
});

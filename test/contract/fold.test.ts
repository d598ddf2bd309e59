// The status columns are a cache of the fold: whatever happens to a conversation, in whatever order, both say the same.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Call, type ClosingState, openStates, questionStates } from '../../src/intention/call.ts';
import { fold } from '../../src/intention/fold.ts';
import { isTerminal } from '../../src/intention/intention.ts';
import { type CallId, type ConversationId, callId, intentionId } from '../../src/intention/message.ts';
import type { OnBusy } from '../../src/intention/rules.ts';
import {
  accepted,
  callOutcome,
  closing,
  finishOutcome,
  type LedgerUnderTest,
  newMessage,
  onPglite,
  owner,
  reassignOutcome,
  runnerOf,
} from '../support/ledger.ts';

let under: LedgerUnderTest;
beforeAll(async () => {
  under = await onPglite();
});
afterAll(async () => {
  await under.close();
});

type Command =
  | {
      readonly kind: 'post';
      readonly to: 'whoever asked last' | 'something new' | 'a question';
      readonly onBusy: Exclude<OnBusy, 'reject'>;
      readonly pick: number;
    }
  | { readonly kind: 'decide'; readonly how: 'one' | 'two' | 'report' | 'reassign'; readonly pick: number }
  | { readonly kind: 'hear'; readonly state: ClosingState; readonly pick: number }
  | { readonly kind: 'stop' | 'expire'; readonly pick: number };

const pick = fc.nat(20);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant<'post'>('post'),
      to: fc.constantFrom('whoever asked last' as const, 'whoever asked last' as const, 'something new' as const, 'a question' as const),
      onBusy: fc.constantFrom('enqueue' as const, 'enqueue' as const, 'enqueue' as const, 'parallel' as const, 'interrupt' as const),
      pick,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      how: fc.constantFrom('one' as const, 'two' as const, 'two' as const, 'report' as const, 'reassign' as const),
      pick,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('hear' as const),
      state: fc.constantFrom<ClosingState>(
        'completed',
        'failed',
        'input_required',
        'input_required',
        'auth_required',
        'unknown',
        'rejected',
      ),
      pick,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('stop' as const, 'expire' as const), pick }) },
);

const choose = <T>(from: readonly T[], number: number): T | undefined => from[number % Math.max(1, from.length)];

/** Carries a command out if there is anything to carry it out on. */
async function apply(conversation: ConversationId, calls: Map<CallId, Call>, given: Command): Promise<void> {
  const rows = await under.query('select id, status from intention where conversation_id = $1 order by id', [conversation]);
  const intentions = rows.map((row) => ({ id: intentionId(String(row['id'])), status: String(row['status']) }));
  const states = await under.query('select id, state from call where conversation_id = $1 order by id', [conversation]);
  const inState = (wanted: readonly string[]) =>
    states.flatMap((row) => (wanted.includes(String(row['state'])) ? [callId(String(row['id']))] : []));
  switch (given.kind) {
    case 'post': {
      const question = choose(inState(questionStates), given.pick);
      const answerTo = given.to === 'something new' ? null : given.to === 'a question' ? question : undefined;
      await under.ledger.accept(newMessage('words', conversation, { answerTo, onBusy: given.onBusy }));
      return;
    }
    case 'decide': {
      const planning = choose(
        intentions.filter(({ status }) => status === 'planning'),
        given.pick,
      );
      if (!planning) return;
      const claim = await under.ledger.claim(planning.id, runnerOf(planning.id));
      if (claim.kind !== 'step') throw new Error(claim.kind);
      const { context } = claim;
      const own = context.questions.filter((question) => question.intentionId === context.intentionId);
      const other = context.questions.find((question) => question.intentionId !== context.intentionId);
      const fresh = context.messages.at(-1)?.role === 'user' && context.messages.at(-1)?.movedTo === null;
      const to = own.length > 0 ? 'new' : other?.callId;
      const outcome =
        given.how === 'reassign' && fresh && to
          ? reassignOutcome(other && given.pick % 2 === 0 ? other.callId : to)
          : given.how === 'report'
            ? finishOutcome(context, 'done')
            : callOutcome(context, given.how === 'two' ? ['weather', 'people'] : ['travel']);
      const decided = await under.ledger.decide(context, runnerOf(planning.id), outcome);
      expect(decided.kind).toBe('applied');
      if (decided.kind === 'applied') for (const call of decided.calls) calls.set(call.id, call);
      return;
    }
    case 'hear': {
      const id = choose(inState([...openStates, 'auth_required', 'unknown', 'completed']), given.pick);
      const call = id && calls.get(id);
      if (call) await under.ledger.observe(call, closing(call, given.state));
      return;
    }
    case 'stop': {
      const intention = choose(intentions, given.pick);
      if (intention) await under.ledger.stop(owner, conversation, intention.id);
      return;
    }
    case 'expire': {
      const parked = choose(
        intentions.filter(({ status }) => status === 'input_required' || status === 'auth_required'),
        given.pick,
      );
      if (!parked) return;
      await under.query(`update intention set wake_at = now() - interval '1 second' where id = $1`, [parked.id]);
      await under.ledger.expire(parked.id);
    }
  }
}

/** What must be true of a conversation after each rule. */
async function check(conversation: ConversationId): Promise<void> {
  const { messages } = await under.archive.replay(conversation, 0, 1000);
  expect(messages.map((row) => row.seq)).toEqual(messages.map((_row, place) => place + 1));
  const stored = await under.query('select id, status, step, parallel, wake_at, fence from intention where conversation_id = $1', [
    conversation,
  ]);
  for (const row of stored) {
    const own = messages.filter((message) => (message.movedTo ?? message.intentionId) === row['id']);
    const folded = fold(own);
    const status = String(row['status']);
    expect(folded.status).toBe(status === 'planning' || status === 'queued' ? 'runnable' : status);
    if (status === 'planning' || status === 'input_required' || status === 'auth_required')
      expect(row['wake_at'], `${status} without a look`).not.toBeNull();
  }
  const known = new Set(stored.map((row) => row['id']));
  expect(messages.every((message) => known.has(message.movedTo ?? message.intentionId))).toBe(true);
  const atWork = stored.filter((row) => !row['parallel'] && (row['status'] === 'planning' || row['status'] === 'calling'));
  const queued = stored.filter((row) => row['status'] === 'queued');
  expect(atWork.length).toBeLessThanOrEqual(1);
  if (queued.length > 0) expect(atWork).toHaveLength(1);
  const orphans = await under.query(
    `select q.state from call q join intention i on i.id = q.intention_id where q.conversation_id = $1
       and i.status in ('answered', 'failed', 'canceled', 'expired') and q.state in ('planned', 'sending', 'working', 'input_required', 'auth_required', 'unknown')`,
    [conversation],
  );
  expect(orphans, 'open calls of an ended intention').toEqual([]);
}

test('after every rule, in any order: columns equal the fold, seq has no gap, one intention has the turn', {
  timeout: 180_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 30 }), async (commands) => {
      const first = await accepted(under.ledger, newMessage('first', null));
      const calls = new Map<CallId, Call>();
      for (const given of commands) {
        await apply(first.message.conversationId, calls, given);
        await check(first.message.conversationId);
      }
    }),
    { numRuns: 60 },
  );
});

test('a terminal status absorbs: no rule changes it', { timeout: 60_000 }, async () => {
  const ends = await under.query('select status, count(*)::int as n from intention group by status');
  const terminal = ends.filter((row) => ['answered', 'failed', 'canceled', 'expired'].some((status) => status === row['status']));
  expect(terminal.length).toBeGreaterThan(1);
  const finals = await under.query(
    `select i.id, i.status, (select count(*)::int from message m where m.intention_id = i.id and m.role = 'assistant') as finals from intention i`,
  );
  for (const row of finals) {
    const over = ['answered', 'failed', 'canceled', 'expired'].some((status) => status === row['status']);
    expect(row['finals']).toBe(over ? 1 : 0);
  }
  expect(isTerminal('answered')).toBe(true);
});

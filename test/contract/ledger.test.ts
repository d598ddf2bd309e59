import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fold } from '../../src/intention/fold.ts';
import { type ConversationId, conversationId, type IntentionId, ownerId } from '../../src/intention/message.ts';
import {
  accepted,
  called,
  callOutcome,
  closing,
  finishOutcome,
  type LedgerUnderTest,
  newMessage,
  onPglite,
  onPostgres,
  owner,
  reassignOutcome,
  runnerOf,
  step,
} from '../support/ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres.stop();
});

describe.each([
  ['PGlite', () => onPglite()],
  ['Postgres', () => onPostgres(postgres)],
])('the ledger on %s', (_name, open) => {
  let under: LedgerUnderTest;
  beforeAll(async () => {
    under = await open();
  });
  afterAll(async () => {
    await under.close();
  });

  /** Rows as in the README's table. */
  async function table(conversation: ConversationId) {
    const { messages } = await under.archive.replay(conversation, 0, 1000);
    return messages.map((row) => [row.seq, row.role, row.type, row.agent, row.content]);
  }

  async function statusOf(conversation: ConversationId, intention: IntentionId) {
    return (await under.archive.intention(owner, conversation, intention))?.status;
  }

  /** A conversation whose weather agent has asked back. */
  async function asked() {
    const first = await accepted(under.ledger, newMessage('how is the weather', null));
    const conversation = first.message.conversationId;
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    await under.ledger.observe(call, closing(call, 'input_required', 'which city?'));
    return { conversation, intention: first.intentionId, call };
  }

  test('a question answered over two user turns comes out row by row, in one request a rule', async () => {
    const before = under.requests();
    const { conversation, intention } = await asked();
    const answer = await accepted(under.ledger, newMessage('Shanghai', conversation));
    expect(answer.intentionId).toBe(intention);
    const [call] = await called(under.ledger, await step(under.ledger, intention), ['weather']);
    if (!call) throw new Error('no call');
    const observed = await under.ledger.observe(call, closing(call, 'completed', 'hot'));
    expect(observed.status).toBe('planning');
    const last = await step(under.ledger, intention);
    const done = await under.ledger.decide(last, runnerOf(intention), finishOutcome(last, 'it is hot'));
    expect(done.kind).toBe('applied');
    expect(under.requests() - before).toBe(1 + 3 + 1 + 3 + 2);
    expect(await table(conversation)).toEqual([
      [1, 'user', null, null, 'how is the weather'],
      [2, 'agent', 'query', 'plan', 'ask weather'],
      [3, 'agent', 'input_required', 'weather', 'which city?'],
      [4, 'user', null, null, 'Shanghai'],
      [5, 'agent', 'query', 'plan', 'ask weather'],
      [6, 'agent', 'answer', 'weather', 'hot'],
      [7, 'assistant', null, null, 'it is hot'],
    ]);
    expect(await statusOf(conversation, intention)).toBe('answered');
  });

  test('an answer resumes the same task and context', async () => {
    const { conversation, intention, call } = await asked();
    await accepted(under.ledger, newMessage('Shanghai', conversation));
    const [resumed] = await called(under.ledger, await step(under.ledger, intention), ['weather']);
    expect(resumed).toMatchObject({ taskId: `task-${call.id}`, contextId: 'context', answers: call.id, staleFingerprint: 'fingerprint' });
  });

  test('a change of topic moves to an intention of its own; the question stays parked and is taken up again later', async () => {
    const { conversation, intention, call } = await asked();
    const [before] = await under.query('select wake_at from intention where id = $1', [intention]);
    const off = await accepted(under.ledger, newMessage('who was Cao Cao', conversation));
    expect(off.intentionId).toBe(intention);
    const switched = await under.ledger.decide(await step(under.ledger, intention), runnerOf(intention), reassignOutcome('new'));
    if (switched.kind !== 'applied') throw new Error(switched.kind);
    const [moved] = switched.messages;
    expect(moved).toMatchObject({ type: 'reassigned', intentionId: off.message.id, parts: { seq: 4, from: intention } });
    expect(switched.wake).toEqual([`intention:${off.message.id}`]);
    expect(await statusOf(conversation, intention)).toBe('input_required');
    expect(await under.query('select wake_at from intention where id = $1', [intention])).toEqual([before]);

    const own = moved?.intentionId;
    if (!own) throw new Error('no intention');
    const context = await step(under.ledger, own);
    expect(context.messages.map((row) => row.content)).toEqual(['who was Cao Cao', '']);
    await under.ledger.decide(context, runnerOf(own), finishOutcome(context, 'nobody here knows'));

    const later = await accepted(under.ledger, newMessage('Shanghai', conversation));
    expect(later.intentionId).toBe(later.message.id);
    const third = await step(under.ledger, later.intentionId);
    expect(third.questions.map((question) => question.callId)).toEqual([call.id]);
    const back = await under.ledger.decide(third, runnerOf(later.intentionId), reassignOutcome(call.id));
    expect(back.kind === 'applied' && back.wake).toEqual([`intention:${intention}`]);
    expect(await statusOf(conversation, later.intentionId)).toBeUndefined();
    const resumed = await step(under.ledger, intention);
    expect(resumed.messages.at(-2)?.content).toBe('Shanghai');
    expect(await under.ledger.claim(later.intentionId, runnerOf(later.intentionId))).toEqual({
      kind: 'wait',
      inMs: null,
      wake: [`intention:${intention}`],
    });
  });

  test('a named question that is closed refuses the message and falls back to no other', async () => {
    const { conversation, intention, call } = await asked();
    await under.ledger.stop(owner, conversation, intention);
    expect(await under.ledger.accept(newMessage('Shanghai', conversation, { answerTo: call.id }))).toEqual({ kind: 'question_closed' });
    expect(await under.ledger.accept(newMessage('Shanghai', conversation, { answerTo: intention }))).toEqual({ kind: 'question_closed' });
  });

  test('"something new" leaves the question open and starts an intention', async () => {
    const { conversation, intention } = await asked();
    const fresh = await accepted(under.ledger, newMessage('who was Cao Cao', conversation, { answerTo: null }));
    expect(fresh.intentionId).not.toBe(intention);
    expect(await statusOf(conversation, intention)).toBe('input_required');
  });

  test('the same key with the same body is the same message; with another body it is refused', async () => {
    const first = await accepted(under.ledger, newMessage('hi', null, { idempotency: { scope: 'new', key: 'k1', bodyHash: 'a' } }));
    const again = await accepted(under.ledger, newMessage('hi', null, { idempotency: { scope: 'new', key: 'k1', bodyHash: 'a' } }));
    expect(again).toMatchObject({ repeated: true, message: { id: first.message.id, conversationId: first.message.conversationId } });
    expect(await under.ledger.accept(newMessage('ho', null, { idempotency: { scope: 'new', key: 'k1', bodyHash: 'b' } }))).toEqual({
      kind: 'key_reused',
    });
  });

  test('a batch repeated after a lost response changes nothing and answers the same', async () => {
    const message = newMessage('hi', null);
    const first = await accepted(under.ledger, message);
    expect(await accepted(under.ledger, message)).toEqual(first);
    const context = await step(under.ledger, first.intentionId);
    const outcome = callOutcome(context, ['weather']);
    const decided = await under.ledger.decide(context, runnerOf(first.intentionId), outcome);
    expect(await under.ledger.decide(context, runnerOf(first.intentionId), outcome)).toEqual({ ...decided, wake: [] });
    if (decided.kind !== 'applied') throw new Error(decided.kind);
    const [call] = decided.calls;
    if (!call) throw new Error('no call');
    const heard = closing(call, 'completed');
    const observed = await under.ledger.observe(call, heard);
    expect(await under.ledger.observe(call, heard)).toMatchObject({ message: observed.message, status: observed.status });
    expect((await under.ledger.observe(call, closing(call, 'failed'))).message).toBeNull();
    expect(await table(first.message.conversationId)).toHaveLength(3);
  });

  test('messages to a busy conversation wait their turn in order; parallel ones do not; reject refuses', async () => {
    const first = await accepted(under.ledger, newMessage('one', null));
    const conversation = first.message.conversationId;
    const second = await accepted(under.ledger, newMessage('two', conversation));
    const third = await accepted(under.ledger, newMessage('three', conversation));
    const aside = await accepted(under.ledger, newMessage('aside', conversation, { onBusy: 'parallel' }));
    expect([first.status, second.status, third.status, aside.status]).toEqual(['planning', 'queued', 'queued', 'planning']);
    expect(await under.ledger.accept(newMessage('no', conversation, { onBusy: 'reject' }))).toEqual({ kind: 'busy' });
    const context = await step(under.ledger, first.intentionId);
    const done = await under.ledger.decide(context, runnerOf(first.intentionId), finishOutcome(context, 'done'));
    expect(done.kind === 'applied' && done.wake).toEqual([runnerOf(second.intentionId)]);
    expect(await statusOf(conversation, third.intentionId)).toBe('queued');
    const urgent = await accepted(under.ledger, newMessage('now', conversation, { onBusy: 'interrupt' }));
    expect(urgent.status).toBe('planning');
    expect(urgent.stopped?.stop).toEqual(expect.arrayContaining([runnerOf(second.intentionId), runnerOf(third.intentionId)]));
    expect(await statusOf(conversation, second.intentionId)).toBe('canceled');
    expect(await statusOf(conversation, aside.intentionId)).toBe('planning');
  });

  test('whoever has its turn is woken by the one before it, also when that one died before it could', async () => {
    const first = await accepted(under.ledger, newMessage('one', null));
    const second = await accepted(under.ledger, newMessage('two', first.message.conversationId));
    const context = await step(under.ledger, first.intentionId);
    await under.ledger.decide(context, runnerOf(first.intentionId), finishOutcome(context, 'done'));
    const again = await under.ledger.claim(first.intentionId, runnerOf(first.intentionId));
    expect(again).toEqual({ kind: 'wait', inMs: null, wake: [runnerOf(second.intentionId)] });
    await step(under.ledger, second.intentionId);
    expect(await under.ledger.claim(first.intentionId, runnerOf(first.intentionId))).toMatchObject({ wake: [] });
  });

  test('a queued message that turns out to answer a question gives its turn to that question', async () => {
    const first = await accepted(under.ledger, newMessage('weather', null));
    const conversation = first.message.conversationId;
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    const second = await accepted(under.ledger, newMessage('Shanghai', conversation));
    const third = await accepted(under.ledger, newMessage('and people?', conversation));
    const asks = await under.ledger.observe(call, closing(call, 'input_required', 'where?'));
    expect(asks.wake).toEqual([runnerOf(second.intentionId)]);
    const moved = await under.ledger.decide(
      await step(under.ledger, second.intentionId),
      runnerOf(second.intentionId),
      reassignOutcome(call.id),
    );
    expect(moved.kind === 'applied' && moved.wake).toEqual([runnerOf(first.intentionId)]);
    expect(await statusOf(conversation, first.intentionId)).toBe('planning');
    expect(await statusOf(conversation, third.intentionId)).toBe('queued');
  });

  test('a decision on rows that are not the newest is made anew; one of an older fence is lost', async () => {
    const first = await accepted(under.ledger, newMessage('weather and people', null));
    const [weather, people] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather', 'people']);
    if (!weather || !people) throw new Error('no calls');
    await under.ledger.observe(weather, closing(weather, 'auth_required', 'sign in'));
    expect((await under.ledger.observe(people, closing(people, 'completed', 'a warlord'))).status).toBe('auth_required');
    await accepted(under.ledger, newMessage('I did', first.message.conversationId, { answerTo: weather.id }));
    const context = await step(under.ledger, first.intentionId);
    expect((await under.ledger.observe(weather, closing(weather, 'completed', 'hot'))).status).toBe('planning');
    expect(await under.ledger.decide(context, runnerOf(first.intentionId), finishOutcome(context, 'too early'))).toEqual({
      kind: 'overtaken',
    });
    const newer = await step(under.ledger, first.intentionId);
    expect(await under.ledger.decide(context, runnerOf(first.intentionId), finishOutcome(context, 'too late'))).toEqual({ kind: 'lost' });
    expect(await under.ledger.decide(newer, runnerOf(first.intentionId), finishOutcome(newer, 'hot'))).toMatchObject({
      kind: 'applied',
      status: 'answered',
    });
  });

  test('a parallel decision joins once, when its last call closes', async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const [weather, people] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather', 'people']);
    if (!weather || !people) throw new Error('no calls');
    expect((await under.ledger.observe(weather, closing(weather, 'input_required', 'where?'))).status).toBe('calling');
    const early = await accepted(under.ledger, newMessage('Shanghai', first.message.conversationId));
    expect(early).toMatchObject({ intentionId: first.intentionId, status: 'calling' });
    const joined = await under.ledger.observe(people, closing(people, 'failed'));
    expect(joined).toMatchObject({ status: 'planning', wake: [runnerOf(first.intentionId)] });
  });

  test('Stop is durable, answers the same again, and wants its calls canceled; what comes later changes nothing', async () => {
    const first = await accepted(under.ledger, newMessage('slow', null));
    const conversation = first.message.conversationId;
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    await under.ledger.bind(call, 'slow-task', null, true);
    const stopped = await under.ledger.stop(owner, conversation, first.intentionId);
    expect(stopped).toMatchObject({ status: 'canceled', message: { type: 'canceled' } });
    expect(stopped.stop).toEqual(expect.arrayContaining([runnerOf(first.intentionId), `call:${call.id}`]));
    expect(await under.ledger.stop(owner, conversation, first.intentionId)).toMatchObject({
      status: 'canceled',
      message: { id: stopped.message?.id },
    });
    expect((await under.ledger.observe(call, closing(call, 'completed'))).message).toBeNull();
    expect(await statusOf(conversation, first.intentionId)).toBe('canceled');
    const claim = await under.ledger.claimCall(call.id, `call:${call.id}`);
    expect(claim).toMatchObject({ kind: 'claimed', call: { state: 'canceled', cancel: 'wanted', taskId: 'slow-task' } });
  });

  test('whoever is next in turn is named when the one before it is stopped, and only when it really ends', async () => {
    const first = await accepted(under.ledger, newMessage('one', null));
    const conversation = first.message.conversationId;
    const second = await accepted(under.ledger, newMessage('two', conversation));
    expect(second.status).toBe('queued');
    await under.ledger.expire(first.intentionId);
    await under.ledger.stop(ownerId('stranger'), conversation, first.intentionId);
    expect(await statusOf(conversation, second.intentionId), 'nobody left').toBe('queued');
    expect((await under.ledger.stop(owner, conversation, first.intentionId)).wake).toEqual([runnerOf(second.intentionId)]);
    expect(await statusOf(conversation, second.intentionId)).toBe('planning');
  });

  test('a question whose answer was never sent is canceled at its agent when all is stopped', async () => {
    const { conversation, intention } = await asked();
    await accepted(under.ledger, newMessage('Shanghai', conversation));
    const planned = await called(under.ledger, await step(under.ledger, intention), ['weather', 'people']);
    await under.ledger.stop(owner, conversation, intention);
    const claims = await Promise.all(planned.map((call) => under.ledger.claimCall(call.id, `call:${call.id}`)));
    expect(claims.map((claim) => (claim.kind === 'claimed' ? claim.call.cancel : claim.inMs))).toEqual(['wanted', null]);
  });

  test('a task that a planned call is to go on with is not taken by another call', async () => {
    const { conversation, intention, call } = await asked();
    await accepted(under.ledger, newMessage('Shanghai', conversation));
    const context = await step(under.ledger, intention);
    const planned = await called(under.ledger, context, ['weather', 'people']);
    const answer = planned.find(({ agent }) => agent === 'weather');
    if (!answer) throw new Error('no call');
    const other = await accepted(under.ledger, newMessage('and tomorrow', null));
    const [stranger] = await called(under.ledger, await step(under.ledger, other.intentionId), ['weather']);
    if (!stranger) throw new Error('no call');
    expect(await under.ledger.bind(stranger, `task-${call.id}`, null, false)).toBe(false);
    expect(await under.ledger.claimCall(answer.id, `call:${answer.id}`)).toMatchObject({ kind: 'claimed', fresh: true });
  });

  test('a foreign owner sees nothing and stops nothing', async () => {
    const first = await accepted(under.ledger, newMessage('mine', null));
    const stranger = { ...newMessage('theirs', first.message.conversationId), owner: ownerId(`${owner}x`) };
    expect(await under.ledger.accept(stranger)).toEqual({ kind: 'no_conversation' });
    expect((await under.ledger.stop(stranger.owner, first.message.conversationId, first.intentionId)).status).toBeNull();
    expect(await under.archive.messages(stranger.owner, first.message.conversationId, { after: 0, limit: 10 })).toBeNull();
    expect(await under.archive.remove(stranger.owner, first.message.conversationId)).toBeNull();
  });

  test('an intention expires with its youngest question, and not before', async () => {
    const { conversation, intention, call } = await asked();
    expect(await under.ledger.expire(intention)).toMatchObject({ message: null });
    await under.query(`update intention set wake_at = now() - interval '1 minute' where id = $1`, [intention]);
    expect(await under.ledger.sweep(30, 10)).toContain(runnerOf(intention));
    expect((await under.ledger.claim(intention, runnerOf(intention))).kind).toBe('expired');
    expect(await under.ledger.expire(intention)).toMatchObject({
      status: 'expired',
      message: { type: 'expired' },
      stop: expect.arrayContaining([`call:${call.id}`]),
    });
    expect(await statusOf(conversation, intention)).toBe('expired');
  });

  test("another's live lease is waited for; one's own is taken over, and with it the calls it held", async () => {
    const first = await accepted(under.ledger, newMessage('lease', null));
    await step(under.ledger, first.intentionId);
    expect(await under.ledger.claim(first.intentionId, 'intention:other')).toMatchObject({ kind: 'wait', wake: [] });
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    expect(await under.ledger.claimCall(call.id, `call:${call.id}`)).toMatchObject({ kind: 'wait' });
    expect(await under.ledger.claim(first.intentionId, runnerOf(first.intentionId))).toMatchObject({
      kind: 'wait',
      wake: [`call:${call.id}`],
    });
    expect(await under.ledger.claimCall(call.id, `call:${call.id}`)).toMatchObject({
      kind: 'claimed',
      fresh: false,
      call: { state: 'sending' },
    });
  });

  test('one of several calls is sent by whoever claimed it first; its Runner, back from the dead, only looks', async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const [weather] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather', 'people']);
    if (!weather) throw new Error('no call');
    expect(weather.state).toBe('planned');
    expect(await under.ledger.claimCall(weather.id, `call:${weather.id}`)).toMatchObject({
      kind: 'claimed',
      fresh: true,
      call: { attempts: 1 },
    });
    expect(await under.ledger.claimCall(weather.id, `call:${weather.id}`)).toMatchObject({
      kind: 'claimed',
      fresh: false,
      call: { attempts: 1 },
    });
  });

  test('a push makes a call due once; a finished call knows of none', async () => {
    const first = await accepted(under.ledger, newMessage('push', null));
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    if (!call) throw new Error('no call');
    await under.ledger.bind(call, 'pushed', null, false);
    expect([await under.ledger.poke(call.id, null), await under.ledger.poke(call.id, null)]).toEqual(['poked', 'due']);
    await under.ledger.observe(call, closing(call, 'completed', 'done', 'pushed'));
    expect(await under.ledger.poke(call.id, null)).toBeNull();
  });

  test('a push names the task of a send whose reply was lost, once, and never that of another call', async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const [weather] = await called(under.ledger, await step(under.ledger, first.intentionId), ['weather']);
    const other = await accepted(under.ledger, newMessage('again', null));
    const [taken] = await called(under.ledger, await step(under.ledger, other.intentionId), ['weather']);
    if (!weather || !taken) throw new Error('no calls');
    await under.ledger.bind(taken, 'taken', null, true);
    await under.ledger.poke(weather.id, 'taken');
    await under.ledger.poke(weather.id, 'mine');
    await under.ledger.poke(weather.id, 'forged later');
    expect(await under.query('select task_id from call where id = $1', [weather.id])).toEqual([{ task_id: 'mine' }]);
  });

  test('an agent that names the task of another open call is not followed, and stalls nothing', async () => {
    const first = await accepted(under.ledger, newMessage('both', null));
    const second = await accepted(under.ledger, newMessage('again', null));
    const [one] = await called(under.ledger, await step(under.ledger, first.intentionId), ['travel']);
    const [other] = await called(under.ledger, await step(under.ledger, second.intentionId), ['travel']);
    if (!one || !other) throw new Error('no calls');
    expect(await under.ledger.bind(one, 'the only task', null, true)).toBe(true);
    expect(await under.ledger.bind(other, 'the only task', null, true)).toBe(false);
    const asks = await under.ledger.observe(other, closing(other, 'input_required', 'where to?', 'the only task'));
    expect(asks).toMatchObject({ status: 'input_required', message: { type: 'input_required' } });
    expect(await under.query('select task_id from call where id = $1', [other.id])).toEqual([{ task_id: null }]);
  });

  test('a deleted conversation is gone with its rows', async () => {
    const { conversation } = await asked();
    expect(await under.archive.remove(owner, conversation)).toEqual(expect.any(Array));
    expect(await under.query('select count(*)::int as n from message where conversation_id = $1', [conversation])).toEqual([{ n: 0 }]);
    expect(await under.archive.remove(owner, conversation)).toBeNull();
  });

  test('stored statuses are the fold of the rows, for every intention of this suite', async () => {
    const rows = await under.query('select id, conversation_id, status, step from intention');
    for (const stored of rows) {
      const { messages } = await under.archive.replay(conversationId(String(stored['conversation_id'])), 0, 1000);
      const own = messages.filter((row) => (row.movedTo ?? row.intentionId) === stored['id']);
      const folded = fold(own);
      const runnable = stored['status'] === 'planning' || stored['status'] === 'queued';
      expect([folded.status, own.length > 0]).toEqual([runnable ? 'runnable' : stored['status'], true]);
    }
    expect(rows.length).toBeGreaterThan(10);
  });
});

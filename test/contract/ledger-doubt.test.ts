// The rules for what may or may not have happened: sent again, named late, canceled, given up. On PGlite and on Postgres.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CallId, conversationId, ownerId } from '../../src/intention/message.ts';
import {
  accepted,
  called,
  closing,
  finishOutcome,
  type LedgerUnderTest,
  newMessage,
  onPglite,
  onPostgres,
  owner,
  reading,
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
])('the ledger in doubt, on %s', (_name, open) => {
  let under: LedgerUnderTest;
  beforeAll(async () => {
    under = await open();
  });
  afterAll(async () => {
    await under.close();
  });

  /** An intention with one call under way. */
  async function calling(name = 'weather') {
    const first = await accepted(under.ledger, newMessage('how is the weather', null));
    const [call] = await called(under.ledger, await step(under.ledger, first.intentionId), [name]);
    if (!call) throw new Error('no call');
    return { conversation: first.message.conversationId, intention: first.intentionId, call };
  }

  const callRow = async (id: CallId) => (await under.query('select *, wake_at <= now() as due from call where id = $1', [id]))[0] ?? {};
  const attempts = (id: CallId) =>
    under.query('select attempt, outcome, error, ended_at is null as open from call_attempt where call_id = $1 order by attempt', [id]);
  const passes = (seconds: number, id: CallId) =>
    under.query(
      `update call set wake_at = wake_at - $1 * interval '1 second', last_look_at = last_look_at - $1 * interval '1 second',
        lease_until = lease_until - $1 * interval '1 second' where id = $2`,
      [seconds, id],
    );

  test('a message goes out again under its own id, three times at most, each with its audit', async () => {
    const { call } = await calling();
    expect(await under.ledger.again(call)).toBe(true);
    expect(await under.ledger.again(call), 'a batch repeated after a lost response').toBe(true);
    expect(await under.ledger.claimCall(call.id, `call:${call.id}`), 'not at once').toMatchObject({ kind: 'wait' });
    await passes(5, call.id);
    const second = await under.ledger.claimCall(call.id, `call:${call.id}`);
    expect(second).toMatchObject({ kind: 'claimed', fresh: true, call: { messageId: call.messageId, attempts: 2, state: 'sending' } });
    expect(await under.ledger.again(call), 'of the first attempt').toBe(false);
    if (second.kind !== 'claimed') throw new Error('not claimed');
    expect(await under.ledger.again(second.call)).toBe(true);
    await passes(70, call.id);
    const third = await under.ledger.claimCall(call.id, `call:${call.id}`);
    if (third.kind !== 'claimed') throw new Error('not claimed');
    expect(await under.ledger.again(third.call), 'a fourth time').toBe(false);
    expect(await attempts(call.id)).toEqual([
      { attempt: 1, outcome: 'unknown', error: null, open: false },
      { attempt: 2, outcome: 'unknown', error: null, open: false },
      { attempt: 3, outcome: null, error: null, open: true },
    ]);
  });

  test('a push that names the task in time keeps the message from going out again', async () => {
    const early = await calling();
    await under.ledger.poke(early.call.id, 'task early');
    expect(await under.ledger.again(early.call)).toBe(false);
    expect(await callRow(early.call.id)).toMatchObject({ state: 'sending', task_id: 'task early' });
    const late = await calling();
    await under.ledger.again(late.call);
    await under.ledger.poke(late.call.id, 'task of the first');
    await passes(5, late.call.id);
    expect(await under.ledger.claimCall(late.call.id, `call:${late.call.id}`)).toMatchObject({
      fresh: false,
      call: { state: 'working', taskId: 'task of the first', attempts: 1 },
    });
  });

  test('what goes out again is still open: a push may name its task, Stop wants it canceled', async () => {
    const { conversation, intention, call } = await calling();
    await under.ledger.again(call);
    await under.ledger.stop(owner, conversation, intention);
    expect(await callRow(call.id)).toMatchObject({ state: 'canceled', cancel: 'wanted', task_id: null });
  });

  test('a canceled call whose task is not known is looked for, and named by a push at last', async () => {
    const { conversation, intention, call } = await calling();
    await under.ledger.stop(owner, conversation, intention);
    expect(await callRow(call.id)).toMatchObject({ cancel: 'wanted', due: false });
    expect(await under.ledger.poke(call.id, null), 'a push that names nothing').toBeNull();
    await passes(5, call.id);
    const claim = await under.ledger.claimCall(call.id, `call:${call.id}`);
    expect(claim).toMatchObject({ kind: 'claimed', call: { state: 'canceled', taskId: null, cancelAttempts: 1 } });
    await under.ledger.cancelled(call, 'unsettled');
    expect(await callRow(call.id)).toMatchObject({ cancel: 'wanted', cancel_outcome: 'unsettled', wake_at: null });
    expect(await under.ledger.poke(call.id, 'task late')).toBe('poked');
    await passes(5, call.id);
    const named = await under.ledger.claimCall(call.id, `call:${call.id}`);
    expect(named).toMatchObject({ kind: 'claimed', call: { state: 'canceled', taskId: 'task late' } });
    await under.ledger.cancelled(call, 'canceled');
    expect(await callRow(call.id)).toMatchObject({ cancel: 'done', cancel_outcome: 'canceled', wake_at: null });
    expect(await under.ledger.poke(call.id, 'task late')).toBeNull();
    expect(await under.ledger.poke(call.id, 'another')).toBeNull();
  });

  test('a canceled call that a push names while it is given up is due all the same', async () => {
    const { conversation, intention, call } = await calling();
    await under.ledger.stop(owner, conversation, intention);
    await under.ledger.poke(call.id, 'task of the last moment');
    await under.ledger.cancelled(call, 'unsettled');
    expect(await callRow(call.id)).toMatchObject({ cancel: 'wanted', cancel_outcome: 'unsettled', due: true });
    await under.ledger.cancelled({ ...call, taskId: 'task of the last moment' }, 'unsettled');
    expect(await callRow(call.id)).toMatchObject({ cancel: 'done', cancel_outcome: 'unsettled', wake_at: null });
  });

  test('a call in doubt takes the name of its task, stays a question, and may be answered after all', async () => {
    const { conversation, intention, call } = await calling();
    await under.ledger.observe(call, closing(call, 'unknown'));
    const doubted = await under.archive.call(owner, conversation, call.id);
    if (!doubted) throw new Error('no call');
    expect(await under.ledger.poke(call.id, null), 'the user wants to know').toBe('poked');
    await passes(5, call.id);
    expect(await under.ledger.claimCall(call.id, `call:${call.id}`)).toMatchObject({ kind: 'claimed', fresh: false });
    expect(await under.ledger.bind(doubted, 'task found', null, false)).toBe(true);
    expect(await callRow(call.id)).toMatchObject({ state: 'unknown', task_id: 'task found' });
    const observed = await under.ledger.observe(call, closing(call, 'completed'));
    expect(observed.status).toBe('planning');
    expect((await under.archive.intention(owner, conversation, intention))?.status).toBe('planning');
  });

  test('questions that end with the answer are canceled at their agents, named or not', async () => {
    const { intention, conversation, call } = await calling();
    await under.ledger.observe(call, closing(call, 'unknown'));
    await accepted(under.ledger, newMessage('leave it', conversation, { answerTo: call.id }));
    const context = await step(under.ledger, intention);
    const decided = await under.ledger.decide(context, `intention:${intention}`, finishOutcome(context, 'done'));
    expect(decided).toMatchObject({ kind: 'applied', wake: [`call:${call.id}`] });
    expect(await callRow(call.id)).toMatchObject({ state: 'canceled', cancel: 'wanted', due: true });
  });

  test('a result that comes after the end is kept in the audit and nowhere else', async () => {
    const { conversation, intention, call } = await calling();
    await under.ledger.stop(owner, conversation, intention);
    const before = (await under.archive.replay(conversation, 0, 100)).messages;
    expect(await under.ledger.observe(call, closing(call, 'completed'))).toMatchObject({ message: null, status: 'canceled' });
    expect((await under.archive.replay(conversation, 0, 100)).messages).toEqual(before);
    expect(await callRow(call.id)).toMatchObject({ state: 'canceled' });
    expect(await attempts(call.id)).toEqual([{ attempt: 1, outcome: 'ok', error: 'late', open: false }]);
  });

  test('five calls in a row that do not reach their agent open its breaker; one that does closes it', async () => {
    const agentOf = async () => (await under.query(`select failures, down_until > now() as down from agent where name = 'people'`))[0];
    await under.query(`update agent set failures = 0, down_until = null where name = 'people'`);
    for (let failures = 1; failures <= 5; failures++) {
      const { call } = await calling('people');
      await under.ledger.observe(call, { ...closing(call, 'failed'), reached: false });
      expect(await agentOf()).toEqual({ failures, down: failures === 5 ? true : null });
    }
    const { intention } = await accepted(under.ledger, newMessage('who', null)).then((each) => ({ intention: each.intentionId }));
    const context = await step(under.ledger, intention);
    expect(context.agents.find(({ name }) => name === 'people')?.downUntilMs).toBeGreaterThan(context.nowMs);
    const { call } = await calling('people');
    await under.ledger.observe(call, { ...closing(call, 'completed'), reached: null });
    expect(await agentOf(), 'says nothing of the agent').toEqual({ failures: 5, down: true });
    const next = await calling('people');
    await under.ledger.observe(next.call, { ...closing(next.call, 'completed'), reached: true });
    await under.ledger.observe(next.call, { ...closing(next.call, 'completed'), reached: false });
    expect(await agentOf(), 'a call that was closed before counts no more').toEqual({ failures: 0, down: null });
  });

  test('a probe is remembered, as long as the agent is where it was', async () => {
    const { call } = await calling('travel');
    expect(call.agent).toBe('travel');
    await under.ledger.probed(call.agentId, true);
    expect((await under.ledger.agents()).agents.map(({ name, deduplicates }) => [name, deduplicates])).toContainEqual(['travel', true]);
    await under.ledger.probed(call.agentId, false);
    expect((await under.ledger.agents()).agents.some(({ deduplicates }) => deduplicates)).toBe(false);
    await under.ledger.probed(call.agentId, true);
    const moved = reading();
    await under.ledger.keepAgents([
      { ...moved, agents: moved.agents.map((agent) => ({ ...agent, cardUrl: `${agent.cardUrl}/elsewhere` })) },
    ]);
    expect(
      (await under.ledger.agents()).agents.some(({ deduplicates }) => deduplicates),
      'of what is now elsewhere',
    ).toBe(false);
    await under.ledger.keepAgents([reading()]);
  });

  test("calls are read by their owner alone, whatever the caller's path says", async () => {
    const { conversation, intention, call } = await calling();
    expect(await under.archive.calls(owner, conversation, intention)).toMatchObject([{ id: call.id, query: 'ask weather', error: null }]);
    expect(await under.archive.calls(ownerId('stranger'), conversation, intention)).toEqual([]);
    expect(await under.archive.call(ownerId('stranger'), conversation, call.id)).toBeNull();
    expect(await under.archive.call(owner, conversationId(intention), call.id)).toBeNull();
  });
});

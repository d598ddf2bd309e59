// A call whose outcome nobody knows, and what its user may do about it; and whether an agent recognises a repeated message.

import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Client, clientOf, collect, type Row } from '../support/client.ts';
import { type Oracle, startOracle } from '../support/oracle.ts';
import { messagesTo, useTown } from '../support/town.ts';

let oracle: Oracle;
let clerk: Oracle;
const town = useTown(async () => {
  oracle = await startOracle('oracle');
  clerk = await startOracle('clerk');
  return {
    agents: ['weather'],
    others: [`${oracle.origin}/.well-known/agent-card.json`],
    bindings: { A2A_RUNTIME_ENDPOINT: `${clerk.origin}/agents`, API_KEYS: 'alice=the-key-of-alice' },
  };
});
afterAll(async () => {
  await oracle?.close();
  await clerk?.close();
});
beforeEach(() => {
  oracle.mood = 'silent';
  oracle.lists = false;
});

interface Doubt {
  readonly conversation: string;
  readonly intention: string;
  readonly call: string;
}

/** A question that ends in doubt. */
async function doubt(content = 'ask the oracle', conversation: string | null = null): Promise<Doubt> {
  const asked = await town().client.say(conversation, content);
  expect(asked).toMatchObject({ status: 'input_required', question: { agent: 'plan' } });
  return { conversation: asked.conversation_id, intention: asked.intention_id, call: asked.question?.call_id ?? '' };
}

const resolve = (
  { conversation, call }: Doubt,
  action: string,
  headers: Readonly<Record<string, string>> = {},
  client: Client = town().client,
): Promise<Response> => client.post(`/v1/conversations/${conversation}/calls/${call}/resolve`, { action }, headers);

/** The intention once it is over; looked at until then, as long as the test may take. */
async function ended({ conversation, intention }: Doubt): Promise<readonly Row[]> {
  while ((await town().client.status(conversation, intention)) !== 'answered') await new Promise((wait) => setTimeout(wait, 50));
  return town().client.rows(conversation);
}

const shown = z.object({
  status: z.string(),
  calls: z.array(z.object({ call_id: z.string(), agent: z.string(), state: z.string(), error: z.string().nullable() }).loose()),
});
async function callsOf({ conversation, intention }: Doubt) {
  return shown.parse(await (await town().client.send(`/v1/conversations/${conversation}/intentions/${intention}`)).json()).calls;
}

describe('a call in doubt', () => {
  it('is shown with its intention', async () => {
    const asked = await doubt();
    expect(await callsOf(asked)).toEqual([
      {
        call_id: asked.call,
        agent: 'oracle',
        step: 1,
        state: 'unknown',
        query: 'ask the oracle',
        attempts: 1,
        cancel: null,
        error: expect.any(String),
      },
    ]);
  });

  it('that is checked and found brings its answer, and the question goes on', async () => {
    const before = messagesTo(oracle).length;
    const asked = await doubt();
    oracle.lists = true;
    const checked = await resolve(asked, 'check');
    expect([checked.status, await checked.json()]).toEqual([202, { call_id: asked.call, action: 'check', state: 'unknown' }]);
    const rows = await ended(asked);
    expect(rows.map(({ type, agent }) => [type, agent])).toEqual([
      [null, null],
      ['query', 'plan'],
      ['input_required', 'plan'],
      ['answer', 'oracle'],
      [null, null],
    ]);
    expect(rows.at(-1)?.content).toContain('It will rain.');
    expect(messagesTo(oracle)).toHaveLength(before + 1);
    expect((await resolve(asked, 'check')).status).toBe(409);
  });

  it('that is checked and not found stays in doubt, however often, and whoever watches is told', async () => {
    const before = messagesTo(oracle).length;
    const asked = await doubt();
    for (let times = 0; times < 2; times++) {
      const watching = Promise.withResolvers<void>();
      const told = collect(town().client.events(asked.conversation), ({ event }) => {
        watching.resolve();
        return event === 'call';
      });
      await watching.promise;
      expect((await resolve(asked, 'check')).status).toBe(202);
      const frame = (await told).at(-1);
      expect(frame?.id).toBeUndefined();
      expect(JSON.parse(frame?.data ?? '')).toEqual({
        intention_id: asked.intention,
        call_id: asked.call,
        agent: 'oracle',
        state: 'unknown',
        cancel: null,
      });
    }
    expect((await callsOf(asked)).map(({ state }) => state)).toEqual(['unknown']);
    expect(await town().client.rows(asked.conversation)).toHaveLength(3);
    expect(messagesTo(oracle)).toHaveLength(before + 1);
  });

  it.each([
    ['ask the oracle', 'Try again.', 'The user asked to try again.'],
    ['问问 oracle 明天会不会下雨', '再试一次。', '用户要求重试。'],
  ])('that is tried again (%s) is sent once more, under a new messageId, and no model is asked whether', async (content, words, reason) => {
    const before = messagesTo(oracle).length;
    const asked = await doubt(content);
    const decisions = town().model.requests.length;
    oracle.mood = 'answering';
    const retried = await resolve(asked, 'retry');
    expect(retried.status).toBe(202);
    expect(await retried.json()).toMatchObject({
      call_id: asked.call,
      action: 'retry',
      state: 'unknown',
      conversation_id: asked.conversation,
      intention_id: asked.intention,
      seq: 4,
    });
    const rows = await ended(asked);
    expect(rows.slice(3).map((row) => [row.role, row.type, row.content, row.reason])).toEqual([
      ['user', null, words, null],
      ['agent', 'query', rows[1]?.content, reason],
      ['agent', 'answer', 'It will rain.', null],
      ['assistant', null, expect.stringContaining('It will rain.'), null],
    ]);
    const [first, second, ...others] = messagesTo(oracle).slice(before);
    expect(others).toEqual([]);
    expect(second?.parts).toEqual(first?.parts);
    expect(second?.messageId).not.toBe(first?.messageId);
    expect(town().model.requests).toHaveLength(decisions + 1);
    expect((await callsOf(asked)).map(({ state }) => state)).toEqual(['resumed', 'completed']);
  });

  it('that is tried again by many clicks is sent once', async () => {
    const before = messagesTo(oracle).length;
    const asked = await doubt();
    oracle.mood = 'answering';
    const clicks = await Promise.all([1, 2, 3, 4].map(() => resolve(asked, 'retry')));
    expect(clicks.map(({ status }) => status).toSorted()[0]).toBe(202);
    expect(clicks.every(({ status }) => status === 202 || status === 409)).toBe(true);
    await ended(asked);
    expect(messagesTo(oracle)).toHaveLength(before + 2);
    expect((await resolve(asked, 'retry')).status).toBe(409);
  });

  it('that is tried again under one key gets one receipt, also when all is over', async () => {
    const before = messagesTo(oracle).length;
    const asked = await doubt();
    oracle.mood = 'answering';
    const key = { 'idempotency-key': `again-${asked.call}` };
    const clicks = await Promise.all([1, 2, 3].map(() => resolve(asked, 'retry', key)));
    await ended(asked);
    const late = await resolve(asked, 'retry', key);
    expect([...clicks, late].map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(late.headers.get('idempotency-replayed')).toBe('true');
    const receipts = await Promise.all([...clicks, late].map((response) => response.json()));
    expect(new Set(receipts.map((receipt) => z.object({ message_id: z.string() }).parse(receipt).message_id)).size).toBe(1);
    expect(messagesTo(oracle)).toHaveLength(before + 2);
    // The same key for another call of the conversation is a mistake, and does nothing.
    oracle.mood = 'silent';
    const other = await doubt('ask the oracle', asked.conversation);
    expect((await resolve(other, 'retry', key)).status).toBe(422);
    expect((await callsOf(other)).map(({ state }) => state)).toEqual(['unknown']);
  });

  it('that is left is closed in plain words, and the question goes on without it', async () => {
    const before = messagesTo(oracle).length;
    const asked = await doubt();
    const left = await resolve(asked, 'leave');
    expect([left.status, await left.json()]).toEqual([200, { call_id: asked.call, action: 'leave', state: 'failed' }]);
    const rows = await ended(asked);
    expect(rows.slice(3).map(({ role, type, agent }) => [role, type, agent])).toEqual([
      ['agent', 'error', 'oracle'],
      ['assistant', null, null],
    ]);
    expect(rows[3]?.content).toContain('Nobody knows whether this happened.');
    expect(messagesTo(oracle)).toHaveLength(before + 1);
    for (const action of ['leave', 'retry', 'check']) {
      const late = await resolve(asked, action);
      expect([late.status, await late.json()]).toMatchObject([409, { code: 'question_closed' }]);
    }
    expect(await town().client.rows(asked.conversation)).toHaveLength(5);
  });

  it("is nobody else's, and what was never asked is not there", async () => {
    const asked = await doubt();
    const alice = clientOf(town().service.url, { authorization: 'Bearer the-key-of-alice' });
    const missing = '0198a000-0000-7000-8000-000000000000';
    for (const action of ['check', 'retry', 'leave']) {
      expect((await resolve(asked, action, {}, alice)).status).toBe(404);
      expect((await resolve({ ...asked, call: missing }, action)).status).toBe(404);
      expect((await resolve({ ...asked, conversation: missing }, action)).status).toBe(404);
      expect((await resolve({ ...asked, call: 'x' }, action)).status).toBe(404);
    }
    expect(await town().client.rows(asked.conversation)).toHaveLength(3);
    expect((await resolve(asked, 'leave')).status).toBe(200);
  });

  it('is not decided by a body without a known action', async () => {
    const asked = await doubt();
    const { client } = town();
    const path = `/v1/conversations/${asked.conversation}/calls/${asked.call}/resolve`;
    for (const body of [{}, { action: 'forget' }, { action: ['retry'] }, { action: 'retry', why: 'x' }])
      expect((await client.post(path, body)).status).toBe(422);
    expect((await resolve(asked, 'retry', { 'idempotency-key': 'a b' })).status).toBe(400);
    expect((await resolve(asked, 'leave')).status).toBe(200);
  });
});

describe('a probe', () => {
  const probe = (agent: string, body: unknown = { text: 'ask the clerk' }) =>
    town().client.post(`/v1/agents/${encodeURIComponent(agent)}/probe`, body);
  const listed = z.object({ data: z.array(z.object({ name: z.string(), deduplicates: z.boolean(), down_until: z.string().nullable() })) });
  const deduplicates = async (agent: string) =>
    listed.parse(await (await town().client.send('/v1/agents')).json()).data.find(({ name }) => name === agent)?.deduplicates;

  it('sends the text twice under one messageId, and an agent that makes two tasks of it does not deduplicate', async () => {
    const weather = town().agent('weather');
    const before = messagesTo(weather).length;
    const response = await probe('weather', { text: '上海天气如何' });
    const body = z
      .object({ deduplicates: z.boolean(), task_ids: z.array(z.string()), agent: z.string() })
      .strict()
      .parse(await response.json());
    expect(body).toMatchObject({ agent: 'weather', deduplicates: false });
    expect(new Set(body.task_ids).size).toBe(2);
    const sent = messagesTo(weather).slice(before);
    expect(sent.map(({ parts }) => parts[0]?.text)).toEqual(['上海天气如何', '上海天气如何']);
    expect(sent[1]?.messageId).toBe(sent[0]?.messageId);
  });

  it('finds that an agent deduplicates, which is kept until a probe finds otherwise', async () => {
    clerk.mood = 'recognising';
    expect(await deduplicates('desk/clerk')).toBe(false);
    const response = await probe('desk/clerk');
    expect(await response.json()).toEqual({ agent: 'desk/clerk', deduplicates: true, task_ids: ['task-1', 'task-1'] });
    expect(await deduplicates('desk/clerk')).toBe(true);
    expect(messagesTo(clerk)).toHaveLength(2);
    clerk.mood = 'answering';
    expect(await (await probe('desk/clerk')).json()).toMatchObject({ deduplicates: false, task_ids: ['task-2', 'task-3'] });
    expect(await deduplicates('desk/clerk')).toBe(false);
  });

  it('of an agent that names no task tells nothing, and counts as a no', async () => {
    clerk.mood = 'chatting';
    expect(await (await probe('desk/clerk')).json()).toEqual({
      agent: 'desk/clerk',
      deduplicates: false,
      task_ids: [null, null],
      reason: 'the agent did not name a task, so nothing can be compared',
    });
  });

  it('needs an agent that is there, and a text of at most 4 KiB', async () => {
    const before = messagesTo(clerk).length;
    expect((await probe('nobody')).status).toBe(404);
    expect((await probe('desk')).status).toBe(404);
    for (const body of [{}, { text: '' }, { text: ' ' }, { text: 7 }, { text: '热'.repeat(1_366) }, { text: 'x', times: 3 }])
      expect((await probe('desk/clerk', body)).status).toBe(422);
    expect(messagesTo(clerk)).toHaveLength(before);
  });

  it('of an agent that is gone says that it cannot be reached', async () => {
    await clerk.close();
    const response = await probe('desk/clerk');
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'agent_down' }]);
  });
});

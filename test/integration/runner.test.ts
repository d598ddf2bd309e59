// The alarm clocks: armed only earlier, never thrown out of, stopped at once, and gone when nothing is left to do.

import { createScheduledController, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { sql } from 'drizzle-orm';
import { v7 } from 'uuid';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { bind } from '../../src/bind.ts';
import { connect } from '../../src/db/database.ts';
import worker from '../../src/index.ts';
import { conversationId, messageId, ownerId } from '../../src/intention/message.ts';
import type { Accepting, RunnerName } from '../../src/intention/rules.ts';
import { Runner } from '../../src/step/runner.ts';

const fresh = (): RunnerName => `intention:${v7()}`;
const clock = (name: RunnerName) => env.RUNNER.getByName(name);
const alarmOf = (name: RunnerName) => runInDurableObject(clock(name), (_, state) => state.storage.getAlarm());
const keysOf = (name: RunnerName) => runInDurableObject(clock(name), async (_, { storage }) => [...(await storage.list()).keys()]);
const isEmpty = async (name: RunnerName) => (await alarmOf(name)) === null && (await keysOf(name)).length === 0;

const receiptSchema = z.object({ conversation_id: z.string(), intention_id: z.string() });

async function tell(content: string) {
  const response = await exports.default.fetch('http://service/v1/conversations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content }),
  });
  return receiptSchema.parse(await response.json());
}

async function rowsOf(conversation: string) {
  const response = await exports.default.fetch(`http://service/v1/conversations/${conversation}/messages`);
  return z
    .object({ data: z.array(z.object({ seq: z.number(), role: z.string(), type: z.string().nullable() })) })
    .parse(await response.json()).data;
}

async function statusOf({ conversation_id, intention_id }: z.infer<typeof receiptSchema>): Promise<string> {
  const response = await exports.default.fetch(`http://service/v1/conversations/${conversation_id}/intentions/${intention_id}`);
  return z.object({ status: z.string() }).parse(await response.json()).status;
}

const soon = { timeout: 10_000, interval: 50 };

const message = (): Accepting => ({
  owner: ownerId('anonymous'),
  conversation: null,
  newConversationId: conversationId(v7()),
  messageId: messageId(v7()),
  content: 'hi',
  parts: {},
  title: 'hi',
  answerTo: undefined,
  onBusy: 'enqueue',
  idempotency: null,
});

test('arming only ever moves an alarm earlier', async () => {
  const name = fresh();
  const armed: (number | null)[] = [];
  for (const inMs of [60_000, 120_000, 30_000]) {
    await clock(name).arm(name, inMs);
    armed.push(await alarmOf(name));
  }
  const [first, later, earlier] = armed;
  expect(later).toBe(first);
  expect(earlier).toBeLessThan((first ?? 0) - 20_000);
});

test('disarming leaves nothing behind', async () => {
  const name = fresh();
  await clock(name).arm(name, 60_000);
  await clock(name).disarm();
  expect(await isEmpty(name)).toBe(true);
});

test('an alarm for something that was never written finds nothing, and leaves nothing behind', async () => {
  const name = fresh();
  await clock(name).arm(name, 60_000);
  expect(await runDurableObjectAlarm(clock(name))).toBe(true);
  expect(await isEmpty(name)).toBe(true);
});

test('a message that is refused leaves at most an alarm that finds nothing', async () => {
  const nowhere = v7();
  const before = await count();
  const response = await exports.default.fetch(`http://service/v1/conversations/${nowhere}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'hi' }),
  });
  expect(response.status).toBe(404);
  expect(await count()).toEqual(before);
});

const { settings } = bind(env);
const database = connect(settings.databaseUrl, settings.databaseEndpoint, async () => {});
const count = () =>
  database.one(sql`select (select count(*) from conversation) as conversations, (select count(*) from message) as messages`);

test('work that fails is tried again later, each time twice as far off, and the alarm never throws', async () => {
  const name: RunnerName = 'intention:no-id-at-all';
  const delays: number[] = [];
  await runInDurableObject(clock(name), async (instance, state) => {
    if (!(instance instanceof Runner)) throw new Error('no Runner');
    await instance.arm(name, 60_000);
    for (let time = 0; time < 3; time += 1) {
      await state.storage.deleteAlarm();
      await instance.alarm();
      delays.push(((await state.storage.getAlarm()) ?? 0) - Date.now());
    }
    await state.storage.deleteAlarm();
  });
  const [first = 0, second = 0, third = 0] = delays;
  expect([first / 1_000, second / first, third / second].map(Math.round)).toEqual([expect.any(Number), 2, 2]);
  expect(first).toBeGreaterThan(500);
  expect(third).toBeLessThan(60_000);
});

test('with the database away the alarm is armed again, and its work done when the database is back', async () => {
  const given = message();
  await bind(env).ledger.accept(given);
  const name: RunnerName = `intention:${given.messageId}`;
  const again = await runInDurableObject(clock(name), async (_, state) => {
    const apart = new Runner(state, Object.assign({}, env, { NEON_FETCH_ENDPOINT: 'http://127.0.0.1:9/sql' }));
    await apart.arm(name, 60_000);
    await state.storage.deleteAlarm();
    await apart.alarm();
    return ((await state.storage.getAlarm()) ?? 0) - Date.now();
  });
  expect(again).toBeGreaterThan(0);
  await expect.poll(() => statusOf({ conversation_id: given.newConversationId, intention_id: given.messageId }), soon).toBe('answered');
});

test('when all is done the clock is empty, and an alarm that comes again changes nothing', async () => {
  const posted = await tell('hi');
  const name: RunnerName = `intention:${posted.intention_id}`;
  await expect.poll(() => statusOf(posted), soon).toBe('answered');
  await expect.poll(() => isEmpty(name), soon).toBe(true);
  const rows = await rowsOf(posted.conversation_id);
  await clock(name).kick(name);
  await runDurableObjectAlarm(clock(name));
  expect(await rowsOf(posted.conversation_id)).toEqual(rows);
  await expect.poll(() => isEmpty(name), soon).toBe(true);
});

test('a kick during the work is kept for afterwards; a stop ends work in flight within a second', async () => {
  const posted = await tell('flaky hang');
  const name: RunnerName = `intention:${posted.intention_id}`;
  await expect.poll(() => statusOf(posted), soon).toBe('calling');
  // Nothing is armed while the alarm is at work.
  expect(await alarmOf(name)).toBe(null);
  await clock(name).kick(name);
  expect(await alarmOf(name)).not.toBe(null);

  const begunMs = performance.now();
  const response = await exports.default.fetch(
    `http://service/v1/conversations/${posted.conversation_id}/intentions/${posted.intention_id}/cancel`,
    { method: 'POST' },
  );
  expect(response.status).toBe(200);
  await expect.poll(() => isEmpty(name), { timeout: 5_000, interval: 20 }).toBe(true);
  expect(performance.now() - begunMs).toBeLessThan(1_500);
  expect((await rowsOf(posted.conversation_id)).map(({ type }) => type)).toEqual([null, 'query', 'canceled']);
});

test('the cron tick kicks what is due and was taken up by nobody, and says that this should not happen', async () => {
  const given = message();
  await bind(env).ledger.accept(given);
  await database.one(sql`update intention set wake_at = wake_at - interval '31 seconds' where id = ${given.messageId}::uuid`);
  const log = vi.spyOn(console, 'log');
  await worker.scheduled(createScheduledController(), env);
  const said = log.mock.calls.flatMap(([line]) => (typeof line === 'string' && line.includes('swept') ? [line] : []));
  log.mockRestore();
  expect(said.map((line) => JSON.parse(line))).toEqual([{ event: 'swept', anomaly: true, found: expect.any(Number) }]);
  await expect.poll(() => statusOf({ conversation_id: given.newConversationId, intention_id: given.messageId }), soon).toBe('answered');
});

// What a question costs: requests to the database and calls of the model, counted from outside.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { clientOf } from '../support/client.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Service, stateFolder } from '../support/service.ts';
import { type Plot, type Story, type Street, startStreet } from '../support/street.ts';

let postgres: PostgresServer;
let street: Street;
let service: Service;
let state: Awaited<ReturnType<typeof stateFolder>>;
beforeAll(async () => {
  postgres = await startPostgres();
  street = await startStreet(postgres, inject('bundle'));
  state = await stateFolder();
  service = await street.start(state.path);
});
afterAll(async () => {
  await service.stop();
  await street.close();
  await state.forget();
  await postgres.stop();
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.log(service.log.slice(-60).join('\n'));
});

const rowSchema = z.object({ conversation_id: z.string(), status: z.string() });

/** Nobody listens: the message is posted and its status read from the database itself. */
async function posted(story: Story, conversation: string | null, content: string, ends: string): Promise<string> {
  const receipt = await clientOf(service.url).tell(conversation, content);
  await expect
    .poll(
      async () => {
        const rows = await street.query(
          rowSchema,
          'select m.conversation_id, i.status from message m join intention i on i.id = m.intention_id where m.content = $1',
          [story.words],
        );
        return rows[0]?.status;
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBe(ends);
  return receipt.conversation_id;
}

const counted: { readonly story: Story; readonly database: number; readonly model: number }[] = [];

async function costOf(plot: Plot): Promise<{ readonly database: number; readonly model: number }> {
  const story = street.begin(plot);
  const asks = plot === 'asks';
  const conversation = await posted(story, null, story.words, asks ? 'input_required' : 'answered');
  if (asks) await posted(story, conversation, `that one #${story.id}`, 'answered');
  const cost = spent(story);
  counted.push({ story, ...cost });
  return cost;
}

const spent = (story: Story) => ({ database: street.tripsOf(story, 'database').length, model: street.tripsOf(story, 'model').length });

const accept = 1;
const step = 3;
const finalStep = 2;

test('one agent that answers at once: three requests for its step, two for the report, two model calls', async () => {
  expect(await costOf('stream')).toEqual({ database: accept + step + finalStep, model: 2 });
});

test('n agents in turn: n steps and n + 1 model calls', async () => {
  expect(await costOf('turns')).toEqual({ database: accept + 3 * step + finalStep, model: 4 });
});

test('an agent that takes longer than a second costs one more request', async () => {
  expect(await costOf('long')).toEqual({ database: accept + step + 1 + finalStep, model: 2 });
});

test('a question and its answer cost one step and one model call more', async () => {
  expect(await costOf('asks')).toEqual({ database: 2 * (accept + step) + finalStep, model: 3 });
});

test('two agents at once: two model calls, and two requests for each call beside the decision', async () => {
  expect(await costOf('pair')).toEqual({ database: accept + 2 + 2 * 2 + finalStep, model: 2 });
});

test('an agent that works on and is looked up costs one more for its task, and one for the look that finds it done', async () => {
  expect(await costOf('poll')).toEqual({ database: accept + step + 1 + 1 + finalStep, model: 2 });
});

/** Longer than any alarm that is armed ahead of its work. */
const silenceMs = 7_000;

test('when all is answered, nothing more is asked of the database or the model', async () => {
  const before = street.trips.length;
  await pause(silenceMs);
  expect(street.trips.slice(before)).toEqual([]);
  expect(counted.map(({ story }) => ({ story, ...spent(story) }))).toEqual(counted);
});

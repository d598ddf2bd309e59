// Is the ledger in memory the ledger in SQL? Random sequences of rules on both. Effects: processes, embedded Postgres.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { v7 } from 'uuid';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { callStates, cancelOutcomes } from '../../src/intention/call.ts';
import { intentionStatuses } from '../../src/intention/intention.ts';
import { createDoubleStore } from '../simulation/store/double.ts';
import { agents } from '../simulation/store/sequences.ts';
import { accepted, called, newMessage, step } from '../support/ledger.ts';

const sequences = 20_000;
/** Each has a core. */
const processes = 2;
const patienceMs = 900_000;

const differ = fileURLToPath(new URL('../simulation/store/differ.ts', import.meta.url));
const comparedSchema = z.object({ sequences: z.number(), statements: z.number(), marks: z.record(z.string(), z.number()) });

async function compare(seed: number, count: number): Promise<z.infer<typeof comparedSchema>> {
  const options = { timeout: patienceMs, maxBuffer: 64 * 1024 * 1024 };
  const run = promisify(execFile)(process.execPath, [differ, '--seed', String(seed), '--sequences', String(count)], options);
  const { stdout } = await run.catch((failed: { stdout?: string; stderr?: string }) => {
    throw new Error(`the double and the SQL differ:\n${failed.stdout}${failed.stderr}`);
  });
  return comparedSchema.parse(JSON.parse(stdout));
}

/** What must have come up, or the sequences show little. */
const wanted: readonly string[] = [
  ...intentionStatuses.map((status) => `intention ${status}`),
  ...callStates.map((state) => `call ${state}`),
  ...cancelOutcomes.map((outcome) => `cancel done ${outcome}`),
  ...['query', 'answer', 'input_required', 'auth_required', 'error', 'reassigned', 'canceled', 'expired', 'moved'].map(
    (type) => `message ${type}`,
  ),
  ...['enqueue', 'interrupt', 'parallel', 'reject'].flatMap((onBusy) => [
    `accept ${onBusy}: accepted`,
    `accept ${onBusy}: question_closed`,
  ]),
  ...['no_conversation', 'key_reused'].map((kind) => `accept enqueue: ${kind}`),
  ...['step', 'wait', 'expired'].map((kind) => `claim: ${kind}`),
  ...['claimed', 'wait'].map((kind) => `claimCall: ${kind}`),
  ...['call', 'finish', 'reassign'].flatMap((kind) => ['applied', 'overtaken', 'lost'].map((how) => `decide ${kind}: ${how}`)),
  ...['bind', 'again', 'renew', 'renewCall'].flatMap((rule) => [`${rule}: true`, `${rule}: false`]),
  ...['poked', 'due', 'null'].map((how) => `poke: ${how}`),
  'accept reject: busy',
  'attempt ok late',
  'attempt unknown',
  'breaker open',
  'cancel wanted unsettled',
  'observe completed: canceled',
  'observe completed: queued',
  'stop: canceled',
  'expire: expired',
  'sweep: some',
];

test(`${sequences} random sequences of rules give the same answers and leave the same rows`, { timeout: patienceMs }, async () => {
  const share = sequences / processes;
  const compared = await Promise.all(Array.from({ length: processes }, (_, place) => compare(1 + place * share, share)));
  expect(compared.map((each) => each.sequences)).toEqual(Array.from({ length: processes }, () => share));
  const seen = new Set(compared.flatMap(({ marks }) => Object.keys(marks)));
  expect(wanted.filter((mark) => !seen.has(mark))).toEqual([]);
  expect(
    [...seen].filter((mark) => mark.includes('refused')),
    'rules that Postgres refused',
  ).toEqual([]);
});

test('what the double gives away changes nothing in it', async () => {
  const store = createDoubleStore({ agents, ids: { next: v7 } });
  store.setNow(1_900_000_000_000);
  const first = await accepted(store.ledger, newMessage('hello', null));
  const context = await step(store.ledger, first.intentionId);
  const [call] = await called(store.ledger, context, ['weather']);
  const before = structuredClone(await store.snapshot(first.message.conversationId));
  expect(Reflect.set(first.message, 'content', 'changed')).toBe(false);
  expect(Reflect.set(first.message.parts, 'seq', 7)).toBe(false);
  Reflect.set(call ?? {}, 'state', 'failed');
  Reflect.set(context.messages, 'length', 0);
  Reflect.set((await store.snapshot(first.message.conversationId)).messages, 'length', 0);
  expect(await store.snapshot(first.message.conversationId)).toEqual(before);
});

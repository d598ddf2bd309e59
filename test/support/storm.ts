// Calls in every state, and all that can arrive at their webhooks: in every shape, from everyone, any number of times. Effects: Postgres.

import { pushSecret } from '../../src/agent/push.ts';
import type { Call, ClosingState } from '../../src/intention/call.ts';
import { accepted, called, closing, type LedgerUnderTest, newMessage, owner, step } from './ledger.ts';

/** Before the storm. `stopped`: canceled with a wanted CancelTask, its task known or not. */
export const standings = [
  'planned',
  'sending',
  'working',
  'input_required',
  'auth_required',
  'unknown',
  'completed',
  'failed',
  'stopped',
  'stopped nameless',
] as const;
export type Standing = (typeof standings)[number];

export interface Target {
  readonly call: Call;
  readonly standing: Standing;
  /** The task that its agent has for it, whether the ledger knows or not. */
  readonly task: string;
}

export const keys = ['the key that signs', 'the key before it'] as const;
const wrongKey = 'a key of nobody here';

/** Numbers that repeat with their seed. Source: mulberry32. */
export function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const pick = <Item>(random: () => number, items: readonly [Item, ...Item[]]): Item =>
  items[Math.floor(random() * items.length)] ?? items[0];

export function shuffle<Item>(random: () => number, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

/** Runs all of `work`, `width` at a time. */
export async function lanes<Item>(items: readonly Item[], width: number, work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

const names = ['weather', 'people', 'travel', 'weather', 'people'];

/** One intention with a decision for five agents at once, each of its calls brought by the ledger's rules to where it is to stand. */
export async function besiege({ ledger }: LedgerUnderTest, five: readonly Standing[]): Promise<readonly Target[]> {
  const { message, intentionId } = await accepted(ledger, newMessage('five at once', null));
  const calls = await called(ledger, await step(ledger, intentionId), names);
  const targets = calls.map((call, place): Target => ({ call, standing: five[place] ?? 'planned', task: `task-${call.id}` }));
  for (const { call, standing, task } of targets) {
    if (standing === 'planned') continue;
    await ledger.claimCall(call.id, `call:${call.id}`);
    if (standing === 'sending' || standing === 'stopped nameless') continue;
    if (standing === 'working' || standing === 'stopped') await ledger.bind(call, task, null, false);
    else await ledger.observe(call, closing(call, closed(standing), standing, task));
  }
  if (five.some((standing) => standing.startsWith('stopped'))) await ledger.stop(owner, message.conversationId, intentionId);
  return targets;
}

function closed(standing: Standing): ClosingState {
  return standing === 'input_required' || standing === 'auth_required' || standing === 'unknown' || standing === 'failed'
    ? standing
    : 'completed';
}

/** What notifications look like, in v1.0 and v0.3. */
const shapes: readonly [(task: string) => unknown, ...((task: string) => unknown)[]] = [
  (id) => ({ task: { id, contextId: 'context', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [] } }),
  (taskId) => ({ statusUpdate: { taskId, contextId: 'context', status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }),
  (taskId) => ({ artifactUpdate: { taskId, contextId: 'context', artifact: { artifactId: 'a', parts: [{ text: 'forged' }] } } }),
  (taskId) => ({ message: { messageId: 'm', role: 'ROLE_AGENT', taskId, parts: [{ text: 'forged' }] } }),
  (id) => ({ kind: 'task', id, contextId: 'context', status: { state: 'failed' } }),
  (id) => ({ id, contextId: 'context', status: { state: 'completed' } }),
  (taskId) => ({ kind: 'status-update', taskId, contextId: 'context', status: { state: 'canceled' }, final: true }),
  (taskId) => ({ kind: 'artifact-update', taskId, artifact: { artifactId: 'a', parts: [] }, append: true }),
  (taskId) => ({ kind: 'message', messageId: 'm', role: 'agent', taskId, parts: [] }),
];
/** Of no task. */
const nameless: readonly [unknown, ...unknown[]] = [
  { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [] } },
  { kind: 'message', messageId: 'm', role: 'agent', parts: [] },
];
const rubbish: readonly [string, ...string[]] = [
  '',
  '{"task":',
  '[]',
  'null',
  '{"hello":"world"}',
  '{"task":{"id":""}}',
  '{"kind":"other","id":"t"}',
];

/** One thing that is sent to a webhook, and by whom. */
export interface Missile {
  /** What stands in the path; that of `target`, unless nobody has such a call. */
  readonly id: string;
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the sender knows the secret of that very call. */
  readonly authentic: boolean;
  /** The task that it names; null: none. */
  readonly names: string | null;
  readonly readable: boolean;
}

/** A notification for `target`: mostly from its agent, else from one who is not, or of a task that is not its own. */
export async function aim(random: () => number, target: Target, others: readonly [Target, ...Target[]]): Promise<Missile> {
  const other = pick(random, others);
  const { id, authentic, secret } = await sender(random, target, other);
  const kind = random();
  const names = kind < 0.7 ? target.task : kind < 0.85 ? other.task : null;
  const readable = kind < 0.95;
  const body = !readable ? pick(random, rubbish) : JSON.stringify(names === null ? pick(random, nameless) : pick(random, shapes)(names));
  return { id, target, headers: shown(random, secret), body, authentic, names: readable ? names : null, readable };
}

async function sender(random: () => number, target: Target, other: Target) {
  const { id } = target.call;
  // What was never sent has told nobody its secret.
  const roll = target.standing === 'planned' ? 0.8 + random() / 5 : random();
  if (roll < 0.7) return { id, authentic: true, secret: await pushSecret(keys[0], id) };
  if (roll < 0.8) return { id, authentic: true, secret: await pushSecret(keys[1], id) };
  if (roll < 0.84 || other === target) return { id, authentic: false, secret: await pushSecret(wrongKey, id) };
  if (roll < 0.88) return { id, authentic: false, secret: await pushSecret(keys[0], other.call.id) };
  if (roll < 0.92) return { id, authentic: false, secret: (await pushSecret(keys[0], id)).slice(0, -1) };
  if (roll < 0.94) return { id, authentic: false, secret: null };
  const stranger = pick(random, [crypto.randomUUID(), 'x', id.toUpperCase(), `${id} `, "'; drop table call; --"]);
  return { id: stranger, authentic: false, secret: await pushSecret(keys[0], id) };
}

function shown(random: () => number, secret: string | null): Readonly<Record<string, string>> {
  if (secret === null) return {};
  const token = { 'X-A2A-Notification-Token': secret };
  const bearer = { Authorization: `Bearer ${secret}` };
  return pick<Readonly<Record<string, string>>>(random, [
    token,
    bearer,
    { ...token, ...bearer },
    { ...token, Authorization: 'Bearer wrong' },
  ]);
}

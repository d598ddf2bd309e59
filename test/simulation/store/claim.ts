// Claim, ClaimCall, renewals, pushes and the sweep in the double. Pure but for the tables given.

import { type CallState, questionStates } from '../../../src/intention/call.ts';
import { cancelAgainMs, firstLookMs, leaseMs, longestLookMs, lookPauseMs, maxCancels } from '../../../src/intention/limits.ts';
import type { CallId, ConversationId, IntentionId, Message } from '../../../src/intention/message.ts';
import type { CallClaim, Claim, RunnerName } from '../../../src/intention/rules.ts';
import type { FreeContext, OpenQuestion, StepContext } from '../../../src/step/context.ts';
import { agentOf, callOf, callsOf, inOrder, isOpen, isParked, isQuestion } from './shared.ts';
import { admitTask, belongsTo, type CallRow, type ConversationRow, type IntentionRow, isTaken, messageOf, type Tables } from './tables.ts';

/** Turns of the conversation that the prompt may look back on. */
const historyRows = 30;

export function claim(tables: Tables, id: IntentionId, by: RunnerName): Claim {
  const { nowMs } = tables;
  const intention = tables.intentions.get(id);
  if (!intention) return elsewhere(tables, id);
  const { conversation } = intention;
  if (intention.status === 'planning' && isFree(intention, by, nowMs)) {
    intention.leaseBy = by;
    intention.leaseUntilMs = nowMs + leaseMs;
    intention.wakeAtMs = nowMs + leaseMs;
    intention.fence++;
    intention.failures++;
  }
  for (const call of callsOf(intention)) {
    if (call.leaseBy !== by || !isOpen(call.state)) continue;
    call.leaseBy = null;
    call.leaseUntilMs = null;
    call.wakeAtMs = nowMs;
  }
  if (intention.status === 'planning' && intention.leaseBy === by) return { kind: 'step', context: load(tables, intention) };
  const { status, wakeAtMs, leaseUntilMs } = intention;
  const parked = isParked(status);
  if (parked && wakeAtMs !== null && wakeAtMs <= nowMs) return { kind: 'expired', conversationId: conversation.id };
  const atMs = status === 'planning' ? leaseUntilMs : parked ? wakeAtMs : null;
  return { kind: 'wait', inMs: atMs === null ? null : Math.max(0, atMs - nowMs), wake: due(tables, intention) };
}

const isFree = (row: { readonly leaseBy: string | null; readonly leaseUntilMs: number | null }, by: RunnerName, nowMs: number): boolean =>
  row.leaseUntilMs === null || row.leaseUntilMs <= nowMs || row.leaseBy === by;

/** The message that would have started the intention joined another one, or moved there. */
function elsewhere(tables: Tables, id: IntentionId): Claim {
  const message = messageOf(tables, id);
  const home = message === null ? id : belongsTo(message);
  return { kind: 'wait', inMs: null, wake: home === id ? [] : [`intention:${home}`] };
}

function due(tables: Tables, intention: IntentionRow): RunnerName[] {
  const isDue = (wakeAtMs: number | null): boolean => wakeAtMs !== null && wakeAtMs <= tables.nowMs;
  const names: RunnerName[] = [];
  for (const call of callsOf(intention)) if (isDue(call.wakeAtMs)) names.push(`call:${call.id}`);
  for (const other of intention.conversation.intentions.values())
    if (other.id !== intention.id && other.status === 'planning' && isDue(other.wakeAtMs) && other.leaseUntilMs === null)
      names.push(`intention:${other.id}`);
  return names;
}

function load(tables: Tables, intention: IntentionRow): StepContext {
  const { conversation } = intention;
  const messages = conversation.messages.filter((row) => belongsTo(row) === intention.id);
  const lastSeq = messages.at(-1)?.seq ?? 0;
  return {
    intentionId: intention.id,
    conversationId: conversation.id,
    ownerId: conversation.ownerId,
    nowMs: tables.nowMs,
    fence: intention.fence,
    step: intention.step,
    failures: intention.failures,
    deadlineMs: intention.deadlineMs,
    messages,
    history: conversation.messages
      .filter((row) => belongsTo(row) !== intention.id && (row.role === 'assistant' || (row.role === 'user' && row.seq < lastSeq)))
      .slice(-historyRows),
    calls: [...callsOf(intention)].sort(inOrder).map(callOf),
    questions: questionsFor(intention),
    freeContexts: freeContexts(conversation),
    agents: [...tables.agents.values()].map(agentOf),
    staleSources: [],
  };
}

/** Of the intention and of every parked one, oldest first. */
function questionsFor(intention: IntentionRow): readonly OpenQuestion[] {
  const { conversation } = intention;
  const questions: (OpenQuestion & { readonly createdAtMs: number; readonly ord: number })[] = [];
  for (const call of conversation.calls.values()) {
    const kind = questionKind(call.state);
    const asker = conversation.intentions.get(call.intentionId);
    if (kind === null || !asker || !(asker === intention || isParked(asker.status))) continue;
    const asked = conversation.messages.findLast((row) => row.callId === call.id && isQuestionRow(row));
    questions.push({
      callId: call.id,
      intentionId: call.intentionId,
      agent: call.agent,
      kind,
      content: asked?.content ?? '',
      query: callOf(call).query,
      createdAtMs: call.createdAtMs,
      ord: call.ord,
    });
  }
  questions.sort((a, b) => a.createdAtMs - b.createdAtMs || a.ord - b.ord);
  return questions.map(({ createdAtMs: _, ord: __, ...question }) => question);
}

const isQuestionRow = (row: Message): boolean => row.type === 'input_required' || row.type === 'auth_required';
const questionKind = (state: CallState): OpenQuestion['kind'] | null => questionStates.find((question) => question === state) ?? null;

const isOver = (state: CallState): boolean => state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';

/** Of each agent the context of its newest call that is over, unless something open uses one. In the order of the agents' ids. */
function freeContexts(conversation: ConversationRow): readonly FreeContext[] {
  const calls = [...conversation.calls.values()];
  const used = (call: CallRow): boolean =>
    calls.some(
      (other) => other.agentId === call.agentId && other.contextId === call.contextId && (isOpen(other.state) || isQuestion(other.state)),
    );
  const newest = new Map<string, CallRow>();
  for (const call of calls) {
    if (call.contextId === null || !isOver(call.state) || used(call)) continue;
    const known = newest.get(call.agentId);
    if (!known || call.createdAtMs > known.createdAtMs || (call.createdAtMs === known.createdAtMs && call.ord > known.ord))
      newest.set(call.agentId, call);
  }
  return [...newest.values()]
    .sort((a, b) => (a.agentId < b.agentId ? -1 : 1))
    .flatMap(({ agentId, contextId, taskId }) => (contextId === null ? [] : [{ agentId, contextId, taskId }]));
}

/** Until a task is looked up again: twice as far off each time; the jitter of the store is fixed at its middle. */
const lookMs = (polls: number): number => Math.min(longestLookMs, firstLookMs * 2 ** Math.min(polls, 10));

export function claimCall(tables: Tables, id: CallId, by: RunnerName, token: string): CallClaim {
  const { nowMs } = tables;
  const call = tables.calls.get(id);
  if (!call) return { kind: 'wait', inMs: null };
  if (mayClaim(call, by, nowMs)) take(tables, call, by, token);
  const mine = call.leaseBy === by && call.lastLookAtMs === nowMs;
  const agent = tables.agents.get(call.agentId);
  const inMs = waitFor(call, by, nowMs);
  if (!mine || !agent) return { kind: 'wait', inMs };
  const fresh = call.state === 'sending' && call.transmissions.some((each) => each.attempt === call.attempts && each.token === token);
  return { kind: 'claimed', fresh, call: callOf(call), agent: agentOf(agent), nowMs, inMs };
}

function mayClaim(call: CallRow, by: RunnerName, nowMs: number): boolean {
  // Its reader is looked for when its lease ends; if that is the caller itself, its last run died.
  const orphaned = call.leaseBy === by && call.wakeAtMs !== null && call.wakeAtMs === call.leaseUntilMs;
  const due = (call.wakeAtMs !== null && call.wakeAtMs <= nowMs) || orphaned;
  const rested = call.lastLookAtMs === null || call.lastLookAtMs <= nowMs - lookPauseMs || call.state === 'planned' || orphaned;
  return due && rested && isFree(call, by, nowMs) && (isWatched(call.state) || (call.state === 'canceled' && call.cancel === 'wanted'));
}

const isWatched = (state: CallState): boolean => isOpen(state) || state === 'auth_required' || state === 'unknown';

function take(tables: Tables, call: CallRow, by: RunnerName, token: string): void {
  const { nowMs } = tables;
  const planned = call.state === 'planned';
  if (planned) admitTask(tables, call, 'sending', call.taskId);
  const { polls, cancelAttempts } = call;
  call.wakeAtMs = nextLookMs(call, nowMs);
  call.leaseBy = by;
  call.leaseUntilMs = nowMs + leaseMs;
  call.updatedAtMs = nowMs;
  call.lastLookAtMs = nowMs;
  if (call.cancel === 'wanted') call.cancelAttempts = cancelAttempts + 1;
  if (!planned && call.state !== 'sending') call.polls = polls + 1;
  if (!planned) return;
  call.state = 'sending';
  call.attempts++;
  call.sentAtMs = nowMs;
  call.transmissions.push({ attempt: call.attempts, token, startedAtMs: nowMs, endedAtMs: null, outcome: null, error: null });
}

function nextLookMs(call: CallRow, nowMs: number): number | null {
  if (call.state === 'planned') return nowMs + leaseMs;
  if (call.state === 'canceled') return nowMs + cancelAgainMs * 2 ** Math.min(call.cancelAttempts, maxCancels);
  if (call.state === 'unknown' && call.taskId === null) return null;
  return nowMs + lookMs(call.polls);
}

function waitFor(call: CallRow, by: RunnerName, nowMs: number): number | null {
  if (call.wakeAtMs === null) return null;
  const others = call.leaseBy !== null && call.leaseBy !== by;
  const freeMs = others ? (call.leaseUntilMs ?? call.wakeAtMs) : call.wakeAtMs;
  const restedMs = call.state === 'planned' || call.lastLookAtMs === null ? call.wakeAtMs : call.lastLookAtMs + lookPauseMs;
  return Math.max(0, Math.max(call.wakeAtMs, freeMs, restedMs) - nowMs);
}

export function renew(
  tables: Tables,
  holder: { readonly intention: IntentionId; readonly fence: number } | { readonly call: CallId },
  by: RunnerName,
): boolean {
  const row = 'call' in holder ? heldCall(tables, holder.call, by) : heldIntention(tables, holder.intention, holder.fence, by);
  if (!row) return false;
  row.leaseUntilMs = tables.nowMs + leaseMs;
  row.wakeAtMs = tables.nowMs + leaseMs;
  return true;
}

function heldCall(tables: Tables, id: CallId, by: RunnerName): CallRow | undefined {
  const call = tables.calls.get(id);
  return call?.leaseBy === by && isOpen(call.state) ? call : undefined;
}

function heldIntention(tables: Tables, id: IntentionId, fence: number, by: RunnerName): IntentionRow | undefined {
  const intention = tables.intentions.get(id);
  return intention?.leaseBy === by && intention.fence === fence && intention.status === 'planning' ? intention : undefined;
}

export function poke(tables: Tables, id: CallId, taskId: string | null): 'poked' | 'due' | null {
  const call = tables.calls.get(id);
  if (!call) return null;
  const nameless = call.state === 'canceled' && call.cancel === 'wanted' && call.taskId === null && taskId !== null;
  if (!isWatched(call.state) && !nameless) return null;
  const soonMs = Math.max(tables.nowMs, (call.lastLookAtMs ?? Number.NEGATIVE_INFINITY) + lookPauseMs);
  const binds = taskId !== null && call.taskId === null && call.attempts > 0 && !isTaken(tables, call, taskId);
  if (!binds && call.wakeAtMs !== null && call.wakeAtMs <= soonMs) return 'due';
  if (binds) call.taskId = taskId;
  if (binds && call.state === 'planned') call.state = 'working';
  call.wakeAtMs = soonMs;
  call.lastPokeAtMs = tables.nowMs;
  return 'poked';
}

/** Due for longer than the grace, oldest first. */
export function sweep(tables: Tables, graceSeconds: number, limit: number): RunnerName[] {
  const beforeMs = tables.nowMs - graceSeconds * 1_000;
  const found: { readonly name: RunnerName; readonly wakeAtMs: number }[] = [];
  for (const { id, wakeAtMs } of tables.intentions.values())
    if (wakeAtMs !== null && wakeAtMs < beforeMs) found.push({ name: `intention:${id}`, wakeAtMs });
  for (const { id, wakeAtMs } of tables.calls.values())
    if (wakeAtMs !== null && wakeAtMs < beforeMs) found.push({ name: `call:${id}`, wakeAtMs });
  return found
    .sort((a, b) => a.wakeAtMs - b.wakeAtMs)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** A conversation goes with all that is in it. What was at work is to be aborted; null: it was not there. */
export function remove(tables: Tables, owner: string, id: ConversationId): RunnerName[] | null {
  const conversation = tables.conversations.get(id);
  if (conversation?.ownerId !== owner) return null;
  const names: RunnerName[] = [];
  for (const { id: intention, status } of conversation.intentions.values()) {
    if (status !== 'answered' && status !== 'failed' && status !== 'canceled' && status !== 'expired') names.push(`intention:${intention}`);
    tables.intentions.delete(intention);
  }
  for (const { id: call, wakeAtMs } of conversation.calls.values()) {
    if (wakeAtMs !== null) names.push(`call:${call}`);
    tables.calls.delete(call);
  }
  for (const { id: message } of conversation.messages) tables.places.delete(message);
  for (const [key, { conversationId }] of tables.keys) if (conversationId === id) tables.keys.delete(key);
  tables.conversations.delete(id);
  return names;
}

// What several rules of the double share: turns, questions, and rows in the port's words. Pure.

import type { Agent } from '../../../src/agent/card.ts';
import { type Call, type CallState, openStates, questionStates } from '../../../src/intention/call.ts';
import { type IntentionStatus, isTerminal } from '../../../src/intention/intention.ts';
import { planningMs } from '../../../src/intention/limits.ts';
import type { IntentionId } from '../../../src/intention/message.ts';
import type { RunnerName } from '../../../src/intention/rules.ts';
import { type AgentRow, belongsTo, type CallRow, type ConversationRow, type IntentionRow, type Tables } from './tables.ts';

export const isOpen = (state: CallState): boolean => openStates.some((open) => open === state);
export const isQuestion = (state: CallState): boolean => questionStates.some((question) => question === state);
export const isParked = (status: IntentionStatus): boolean => status === 'input_required' || status === 'auth_required';
export const isLive = (intention: IntentionRow): boolean => !isTerminal(intention.status);

export function* callsOf(intention: IntentionRow): Generator<CallRow> {
  for (const call of intention.conversation.calls.values()) if (call.intentionId === intention.id) yield call;
}

/** An intention of the conversation that takes turns is at work or waits for its turn; `but` is left out. */
export function isBusy(conversation: ConversationRow, but: IntentionId | null): boolean {
  for (const intention of conversation.intentions.values()) {
    const { status } = intention;
    if (!intention.parallel && intention.id !== but && (status === 'queued' || status === 'planning' || status === 'calling')) return true;
  }
  return false;
}

/** The status of an intention that may go on: its turn, or the queue. */
export const runnable = (parallel: boolean, conversation: ConversationRow, but: IntentionId | null): 'queued' | 'planning' =>
  !parallel && isBusy(conversation, but) ? 'queued' : 'planning';

/** The intention whose turn it is once `leaving` has left: the queued one whose newest user row is oldest. Look before `leaving` is changed, promote after. */
export function nextInTurn(conversation: ConversationRow, leaving: IntentionId | null): IntentionRow | null {
  const waiting: IntentionRow[] = [];
  for (const intention of conversation.intentions.values()) {
    if (intention.id === leaving) continue;
    if (!intention.parallel && (intention.status === 'planning' || intention.status === 'calling')) return null;
    if (intention.status === 'queued') waiting.push(intention);
  }
  let next: IntentionRow | null = null;
  let nextSeq = Number.POSITIVE_INFINITY;
  for (const intention of waiting) {
    const seq = conversation.messages.findLast((row) => row.role === 'user' && belongsTo(row) === intention.id)?.seq;
    if (seq !== undefined && seq < nextSeq) {
      next = intention;
      nextSeq = seq;
    }
  }
  return next;
}

export function promote(tables: Tables, intention: IntentionRow | null): void {
  if (intention === null) return;
  intention.status = 'planning';
  intention.wakeAtMs = tables.nowMs;
  intention.deadlineMs += tables.nowMs - intention.updatedAtMs;
  intention.updatedAtMs = tables.nowMs;
}

export function startIntention(
  tables: Tables,
  conversation: ConversationRow,
  id: IntentionId,
  parallel: boolean,
  status: 'queued' | 'planning',
): void {
  const { nowMs } = tables;
  const intention: IntentionRow = {
    id,
    conversation,
    status,
    parallel,
    step: 0,
    fence: 0,
    leaseBy: null,
    leaseUntilMs: null,
    wakeAtMs: status === 'planning' ? nowMs : null,
    deadlineMs: nowMs + planningMs,
    failures: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  conversation.intentions.set(id, intention);
  tables.intentions.set(id, intention);
}

/** A parked intention got a user row: it goes on, or waits for its turn. Time spent waiting for the user is not planning time. */
export function resume(tables: Tables, intention: IntentionRow, status: 'queued' | 'planning'): void {
  intention.status = status;
  intention.wakeAtMs = status === 'planning' ? tables.nowMs : null;
  intention.deadlineMs += tables.nowMs - intention.updatedAtMs;
  intention.updatedAtMs = tables.nowMs;
  intention.failures = 0;
}

/** What this rule put to work. */
export function promotedNow(tables: Tables, conversation: ConversationRow | undefined, but: IntentionId | null): RunnerName[] {
  const names: RunnerName[] = [];
  for (const intention of conversation?.intentions.values() ?? [])
    if (intention.status === 'planning' && intention.updatedAtMs === tables.nowMs && intention.id !== but)
      names.push(`intention:${intention.id}`);
  return names;
}

export const release = (row: { leaseBy: string | null; leaseUntilMs: number | null }): void => {
  row.leaseBy = null;
  row.leaseUntilMs = null;
};

/** The row in the port's words; a copy. */
export function callOf(call: CallRow): Call {
  const query = call.conversation.messages.find((row) => row.type === 'query' && row.callId === call.id);
  return {
    id: call.id,
    conversationId: call.conversation.id,
    intentionId: call.intentionId,
    ownerId: call.conversation.ownerId,
    step: call.step,
    ord: call.ord,
    agentId: call.agentId,
    agent: call.agent,
    messageId: call.messageId,
    taskId: call.taskId,
    contextId: call.contextId,
    referenceTaskIds: call.referenceTaskIds,
    state: call.state,
    answers: call.answers,
    attempts: call.attempts,
    polls: call.polls,
    fingerprint: call.fingerprint,
    staleFingerprint: call.staleFingerprint,
    sentAtMs: call.sentAtMs,
    deadlineMs: call.deadlineMs,
    cancel: call.cancel,
    cancelAttempts: call.cancelAttempts,
    cancelOutcome: call.cancelOutcome,
    error: call.error,
    query: query?.content ?? '',
    parts: query?.parts.items ?? [],
  };
}

export const agentOf = (row: AgentRow): Agent => ({
  ...row.agent,
  deduplicates: row.deduplicates,
  downUntilMs: row.downUntilMs,
});

export const inOrder = (a: CallRow, b: CallRow): number => a.step - b.step || a.ord - b.ord;

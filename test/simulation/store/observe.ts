// Observe, Bind, Again and Cancelled in the double. Pure but for the tables given.

import type { Call, CancelOutcome, Closing } from '../../../src/intention/call.ts';
import type { IntentionStatus } from '../../../src/intention/intention.ts';
import {
  againMs,
  breakerFailures,
  breakerMs,
  firstLookMs,
  maxTransmissions,
  questionMs,
  signInLookMs,
} from '../../../src/intention/limits.ts';
import type { Observed } from '../../../src/intention/rules.ts';
import { callsOf, isBusy, isLive, isOpen, isParked, isQuestion, nextInTurn, promote, promotedNow, release } from './shared.ts';
import {
  type AttemptRow,
  admit,
  admitTask,
  append,
  belongsTo,
  type CallRow,
  type IntentionRow,
  isTaken,
  messageOf,
  type Tables,
} from './tables.ts';

export function observe(tables: Tables, call: Call, closing: Closing): Observed {
  const row = tables.calls.get(call.id);
  if (row) {
    const closes = isOpen(row.state) || (isWatchedQuestion(row) && row.state !== closing.state && closing.state !== 'unknown');
    if (closes) close(tables, row, closing);
    else if (isUnheard(row)) note(tables, row, closing.outcome, 'late');
  }
  return {
    message: messageOf(tables, closing.row.id),
    status: tables.intentions.get(call.intentionId)?.status ?? 'canceled',
    wake: tables.intentions.has(call.intentionId) ? promotedNow(tables, tables.conversations.get(call.conversationId), null) : [],
  };
}

/** A sign-in may happen by itself, and what nobody knew may become known. */
const isWatchedQuestion = ({ state }: CallRow): boolean => state === 'auth_required' || state === 'unknown';

function close(tables: Tables, call: CallRow, closing: Closing): void {
  const { nowMs } = tables;
  const asks = isQuestion(closing.state);
  const taskId = closing.taskId !== null && !isTaken(tables, call, closing.taskId) ? closing.taskId : call.taskId;
  const intention = tables.intentions.get(call.intentionId);
  const live = intention && isLive(intention) ? intention : undefined;
  admitTask(tables, call, closing.state, taskId);
  if (live) admit(tables, call.conversation, live.id, [closing.row]);

  const taskBefore = call.taskId;
  call.state = closing.state;
  call.taskId = taskId;
  call.contextId = closing.contextId ?? call.contextId;
  call.fingerprint = closing.fingerprint;
  call.error = closing.error;
  release(call);
  const watched = closing.state === 'auth_required' || (closing.state === 'unknown' && taskBefore !== null);
  call.wakeAtMs = watched ? nowMs + signInLookMs : null;
  if (asks) call.deadlineMs = nowMs + questionMs;
  call.updatedAtMs = nowMs;
  note(tables, call, closing.outcome, closing.error);
  count(tables, call.agentId, closing.reached);
  if (!live) return;
  joinStep(tables, live);
  append(tables, call.conversation, live.id, closing.row);
}

const lastOf = (call: CallRow): AttemptRow | undefined => call.transmissions.find((each) => each.attempt === call.attempts);
const isUnheard = (call: CallRow): boolean => lastOf(call)?.endedAtMs === null;

/** For the audit of the transmission; what first comes when the call is over is kept here and nowhere else. */
function note(tables: Tables, call: CallRow, outcome: Closing['outcome'], error: string | null): void {
  const attempt = lastOf(call);
  if (!attempt) return;
  attempt.endedAtMs = tables.nowMs;
  attempt.outcome = outcome;
  attempt.error = error;
}

/** The breaker: so many calls in a row that did not reach their agent, and it is left alone for a while. */
function count(tables: Tables, agentId: string, reached: boolean | null): void {
  const agent = tables.agents.get(agentId);
  if (!agent || reached === null) return;
  if (reached) {
    if (agent.failures > 0) agent.downUntilMs = null;
    agent.failures = 0;
    return;
  }
  agent.failures++;
  if (agent.failures >= breakerFailures) agent.downUntilMs = tables.nowMs + breakerMs;
}

/** After a call of it closed: the intention goes on when no call is open and nothing is asked, or the user has spoken already; else it is parked. */
function joinStep(tables: Tables, intention: IntentionRow): void {
  const { nowMs } = tables;
  const before = intention.status;
  const after = statusOf(intention);
  const parks = isParked(after);
  const next = before === 'calling' && parks ? nextInTurn(intention.conversation, intention.id) : null;
  const goesOn = (after === 'planning' || after === 'queued') && before !== 'planning' && before !== 'queued';
  if (goesOn) intention.deadlineMs += nowMs - intention.updatedAtMs;
  if (after === 'planning' && before !== 'planning') intention.wakeAtMs = nowMs;
  else if (parks)
    intention.wakeAtMs = Math.max(...[...callsOf(intention)].filter((call) => isQuestion(call.state)).map((call) => call.deadlineMs));
  else if (after !== before) intention.wakeAtMs = null;
  if (after !== before) intention.updatedAtMs = nowMs;
  intention.status = after;
  promote(tables, next);
}

function statusOf(intention: IntentionRow): IntentionStatus {
  const { status, conversation, parallel } = intention;
  if (status === 'queued' || status === 'planning') return status;
  const calls = [...callsOf(intention)];
  if (calls.some((call) => isOpen(call.state))) return 'calling';
  const asking = calls.filter((call) => isQuestion(call.state));
  if (asking.length === 0 || (status === 'calling' && hasSpoken(intention)))
    return !parallel && status !== 'calling' && isBusy(conversation, intention.id) ? 'queued' : 'planning';
  return asking.some((call) => call.state !== 'auth_required') ? 'input_required' : 'auth_required';
}

/** The user has, since the last decision. */
function hasSpoken({ id, conversation }: IntentionRow): boolean {
  const decided = conversation.messages.findLast((row) => row.type === 'query' && row.intentionId === id);
  return (
    decided !== undefined &&
    conversation.messages.some(
      (row) => row.seq > decided.seq && belongsTo(row) === id && (row.role === 'user' || row.type === 'reassigned'),
    )
  );
}

export function bind(tables: Tables, call: Call, taskId: string, contextId: string | null, keeps: boolean): boolean {
  const { nowMs } = tables;
  const row = tables.calls.get(call.id);
  if (!row) return false;
  if (mayBind(row) && !isTaken(tables, row, taskId)) {
    row.taskId = taskId;
    row.contextId = contextId ?? row.contextId;
    row.updatedAtMs = nowMs;
    if (row.state === 'canceled') row.wakeAtMs = nowMs;
    else if (!keeps) row.wakeAtMs = Math.min(row.wakeAtMs ?? Number.POSITIVE_INFINITY, nowMs + firstLookMs);
    if (row.state === 'sending') row.state = 'working';
    if (!keeps) release(row);
  }
  return row.taskId === taskId && (row.state === 'working' || row.state === 'unknown');
}

function mayBind({ state, taskId, cancel }: CallRow): boolean {
  if (state === 'sending' || state === 'working') return true;
  return taskId === null && (state === 'unknown' || (state === 'canceled' && cancel === 'wanted'));
}

export function again(tables: Tables, call: Call): boolean {
  const { nowMs } = tables;
  const row = tables.calls.get(call.id);
  if (row?.attempts !== call.attempts) return false;
  if (row.state === 'planned') return true;
  if (row.state !== 'sending' || row.attempts >= maxTransmissions || row.taskId !== call.taskId) return false;
  row.state = 'planned';
  row.wakeAtMs = nowMs + againMs;
  release(row);
  row.updatedAtMs = nowMs;
  const attempt = lastOf(row);
  if (!attempt) return true;
  attempt.endedAtMs = nowMs;
  attempt.outcome = 'unknown';
  return true;
}

export function cancelled(tables: Tables, call: Call, outcome: CancelOutcome): void {
  const row = tables.calls.get(call.id);
  if (row?.cancel !== 'wanted') return;
  // A task that nobody had named yet may still be named, and canceled then; it may just have been.
  const nameless = outcome === 'unsettled' && call.taskId === null;
  if (outcome !== 'unsettled' || (row.taskId !== null && !nameless)) row.cancel = 'done';
  row.cancelOutcome = outcome;
  if (!nameless || row.taskId === null) row.wakeAtMs = null;
  release(row);
}

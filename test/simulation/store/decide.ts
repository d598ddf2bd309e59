// Decide in the double. Pure but for the tables given.

import type { NewCall } from '../../../src/intention/call.ts';
import { leaseMs } from '../../../src/intention/limits.ts';
import { type IntentionId, intentionId, type Message, planName } from '../../../src/intention/message.ts';
import type { Decided, RunnerName } from '../../../src/intention/rules.ts';
import type { Outcome } from '../../../src/intention/transition.ts';
import type { StepContext } from '../../../src/step/context.ts';
import {
  callOf,
  callsOf,
  inOrder,
  isParked,
  isQuestion,
  nextInTurn,
  promote,
  promotedNow,
  release,
  resume,
  runnable,
  startIntention,
} from './shared.ts';
import {
  admit,
  admitTask,
  append,
  belongsTo,
  type CallRow,
  type ConversationRow,
  type IntentionRow,
  messageOf,
  plainRow,
  refuse,
  type Tables,
} from './tables.ts';

export function decide(tables: Tables, context: StepContext, by: RunnerName, outcome: Outcome): Decided {
  const held = holds(tables, context);
  if (held && newestSeq(held) === (context.messages.at(-1)?.seq ?? 0)) write(tables, held, by, outcome);

  const ids = outcome.kind === 'call' ? outcome.rows.map((row) => row.id) : [outcome.row.id];
  const messages = ids.flatMap((id) => messageOf(tables, id) ?? []).sort((a, b) => a.seq - b.seq);
  if (messages.length === 0) return holds(tables, context) ? { kind: 'overtaken' } : { kind: 'lost' };
  const intention = tables.intentions.get(context.intentionId);
  const conversation = tables.conversations.get(context.conversationId);
  const cancels: RunnerName[] = [];
  for (const call of conversation?.calls.values() ?? [])
    if (call.cancel === 'wanted' && call.updatedAtMs === tables.nowMs) cancels.push(`call:${call.id}`);
  const made = outcome.kind === 'call' && intention ? [...callsOf(intention)].filter((call) => call.step === context.step + 1) : [];
  return {
    kind: 'applied',
    messages,
    status: intention?.status ?? 'answered',
    calls: made.sort(inOrder).map(callOf),
    wake: [...promotedNow(tables, conversation, null), ...cancels],
  };
}

/** The intention, while fence, step and status are those of the load. */
function holds(tables: Tables, { intentionId: id, fence, step }: StepContext): IntentionRow | undefined {
  const intention = tables.intentions.get(id);
  return intention?.fence === fence && intention.step === step && intention.status === 'planning' ? intention : undefined;
}

const newestSeq = ({ id, conversation }: IntentionRow): number | undefined =>
  conversation.messages.findLast((row) => belongsTo(row) === id)?.seq;

function write(tables: Tables, intention: IntentionRow, by: RunnerName, outcome: Outcome): void {
  switch (outcome.kind) {
    case 'call':
      call(tables, intention, by, outcome);
      break;
    case 'finish':
      finish(tables, intention, outcome);
      break;
    case 'reassign':
      reassign(tables, intention, outcome);
  }
}

/** A single call is sent by whoever decided it; several are planned, each for its own Runner. */
function call(tables: Tables, intention: IntentionRow, by: RunnerName, outcome: Extract<Outcome, { kind: 'call' }>): void {
  const { nowMs } = tables;
  const { conversation } = intention;
  const single = outcome.calls.length === 1;
  const answered = outcome.calls.flatMap(({ answers }) => (answers === null ? [] : (openQuestion(tables, intention, answers) ?? [])));
  admit(tables, conversation, intention.id, outcome.rows);
  for (const made of outcome.calls) {
    if (tables.calls.has(made.id)) refuse('call_pkey');
    const others = answered.filter((question) => question.taskId === made.taskId && question.agentId === made.agentId);
    if (single && others.length === 0) admitTask(tables, made, 'sending', made.taskId);
  }

  for (const question of answered) {
    question.state = 'resumed';
    question.wakeAtMs = null;
    question.updatedAtMs = nowMs;
  }
  intention.step++;
  for (const made of outcome.calls) addCall(tables, intention, made, single ? by : null);
  for (const row of outcome.rows) append(tables, conversation, intention.id, row);
  intention.status = 'calling';
  intention.failures = 0;
  release(intention);
  intention.wakeAtMs = null;
  intention.updatedAtMs = nowMs;
}

function openQuestion(tables: Tables, intention: IntentionRow, id: string): CallRow | undefined {
  const question = tables.calls.get(id);
  return question?.intentionId === intention.id && isQuestion(question.state) ? question : undefined;
}

/** `sender`: who sends it now, its first transmission begun; null: it is planned. */
function addCall(tables: Tables, intention: IntentionRow, made: NewCall, sender: RunnerName | null): void {
  const { nowMs } = tables;
  const { conversation } = intention;
  const row: CallRow = {
    id: made.id,
    conversation,
    intentionId: intention.id,
    step: intention.step,
    ord: made.ord,
    agentId: made.agentId,
    agent: made.agent,
    messageId: made.messageId,
    taskId: made.taskId,
    contextId: made.contextId,
    referenceTaskIds: Object.freeze([...made.referenceTaskIds]),
    state: sender === null ? 'planned' : 'sending',
    answers: made.answers,
    attempts: sender === null ? 0 : 1,
    polls: 0,
    wakeAtMs: sender === null ? nowMs : nowMs + leaseMs,
    leaseBy: sender,
    leaseUntilMs: sender === null ? null : nowMs + leaseMs,
    deadlineMs: nowMs + made.allowedMs,
    sentAtMs: sender === null ? null : nowMs,
    fingerprint: null,
    staleFingerprint: made.staleFingerprint,
    lastLookAtMs: null,
    lastPokeAtMs: null,
    cancel: null,
    cancelAttempts: 0,
    cancelOutcome: null,
    error: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    transmissions: sender === null ? [] : [{ attempt: 1, token: null, startedAtMs: nowMs, endedAtMs: null, outcome: null, error: null }],
  };
  conversation.calls.set(row.id, row);
  tables.calls.set(row.id, row);
}

/** The final row; the intention's questions close with it, and the next in the queue has its turn. */
function finish(tables: Tables, intention: IntentionRow, outcome: Extract<Outcome, { kind: 'finish' }>): void {
  const { nowMs } = tables;
  const { conversation } = intention;
  admit(tables, conversation, intention.id, [outcome.row]);
  const next = nextInTurn(conversation, intention.id);
  for (const question of callsOf(intention)) {
    if (!isQuestion(question.state)) continue;
    question.state = 'canceled';
    question.cancel = 'wanted';
    question.wakeAtMs = nowMs;
    question.updatedAtMs = nowMs;
  }
  intention.status = outcome.status;
  intention.step++;
  leave(intention, nowMs);
  intention.wakeAtMs = null;
  promote(tables, next);
  append(tables, conversation, intention.id, outcome.row);
}

/** Nobody holds the intention any more: a write of its last holder finds no row. */
function leave(intention: IntentionRow, nowMs: number): void {
  intention.fence++;
  intention.failures = 0;
  release(intention);
  intention.updatedAtMs = nowMs;
}

interface Target {
  readonly id: IntentionId;
  readonly parallel: boolean;
  /** Null: it starts with the message. */
  readonly parked: IntentionRow | null;
}

/**
 * The newest user row moves. Its old intention is parked again with its old expiry, or never was when it held nothing
 * else, or goes on when its question closed meanwhile. Whoever gives a message away gives its turn with it.
 */
function reassign(tables: Tables, intention: IntentionRow, outcome: Extract<Outcome, { kind: 'reassign' }>): void {
  const { nowMs } = tables;
  const { conversation } = intention;
  const moving = conversation.messages.findLast((row) => row.role === 'user' && row.movedTo === null && row.intentionId === intention.id);
  const target = moving ? targetOf(tables, intention, moving, outcome.to) : null;
  if (!moving || !target) return;
  if (tables.places.has(outcome.row.id)) refuse('message_id');
  if (target.parked === null && tables.intentions.has(target.id)) refuse('intention_pkey');

  const asked = [...callsOf(intention)].filter((call) => isQuestion(call.state));
  const others = conversation.messages.some((row) => belongsTo(row) === intention.id && row.seq !== moving.seq);
  const goesOn = asked.length === 0 && others;
  const given = target.parallel || (!intention.parallel && !goesOn);
  const status = given ? 'planning' : runnable(false, conversation, null);
  // A turn that is not given with the message goes to the queue.
  const next = target.parallel && !intention.parallel && !goesOn ? nextInTurn(conversation, intention.id) : null;

  conversation.messages[moving.seq - 1] = Object.freeze({ ...moving, movedTo: target.id });
  if (asked.length > 0) {
    intention.status = asked.some((call) => call.state !== 'auth_required') ? 'input_required' : 'auth_required';
    intention.wakeAtMs = Math.max(...asked.map((call) => call.deadlineMs));
    leave(intention, nowMs);
  } else if (others) {
    leave(intention, nowMs);
    intention.wakeAtMs = nowMs;
  } else forget(tables, conversation, intention);
  promote(tables, next);
  if (target.parked === null) startIntention(tables, conversation, target.id, target.parallel, status);
  else resume(tables, target.parked, status);
  append(
    tables,
    conversation,
    target.id,
    plainRow({
      id: outcome.row.id,
      role: 'agent',
      type: 'reassigned',
      agent: planName,
      parts: { seq: moving.seq, from: moving.intentionId, decision: outcome.row.decision },
    }),
  );
}

function targetOf(
  tables: Tables,
  intention: IntentionRow,
  moving: Message,
  to: Extract<Outcome, { kind: 'reassign' }>['to'],
): Target | null {
  if (to === 'new') return { id: intentionId(moving.id), parallel: intention.parallel, parked: null };
  const question = tables.calls.get(to);
  const asker = question && isQuestion(question.state) ? tables.intentions.get(question.intentionId) : undefined;
  if (!asker || asker === intention || asker.conversation !== intention.conversation || !isParked(asker.status)) return null;
  return { id: asker.id, parallel: asker.parallel, parked: asker };
}

/** It held nothing but the message that moved. */
function forget(tables: Tables, conversation: ConversationRow, intention: IntentionRow): void {
  for (const { id } of callsOf(intention)) {
    conversation.calls.delete(id);
    tables.calls.delete(id);
  }
  conversation.intentions.delete(intention.id);
  tables.intentions.delete(intention.id);
}

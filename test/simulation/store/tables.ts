// The double's rows, and what they hold each other to. Pure.

import type { Agent } from '../../../src/agent/card.ts';
import { Fault } from '../../../src/fault.ts';
import type { CallState, CancelOutcome } from '../../../src/intention/call.ts';
import type { IntentionStatus } from '../../../src/intention/intention.ts';
import {
  type AgentName,
  type CallId,
  type ConversationId,
  type IntentionId,
  type Message,
  type MessageId,
  messageId,
  type NewMessage,
  type OwnerId,
} from '../../../src/intention/message.ts';
import type { Accepting } from '../../../src/intention/rules.ts';

/** Times are ms since the epoch on the store's clock. */
export interface ConversationRow {
  readonly id: ConversationId;
  readonly ownerId: OwnerId;
  title: string;
  nextSeq: number;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /** Ascending seq, from 1 without gaps. Rows are replaced, never changed. */
  readonly messages: Message[];
  readonly intentions: Map<IntentionId, IntentionRow>;
  /** In the order of their making. */
  readonly calls: Map<CallId, CallRow>;
}

export interface IntentionRow {
  readonly id: IntentionId;
  readonly conversation: ConversationRow;
  status: IntentionStatus;
  readonly parallel: boolean;
  step: number;
  fence: number;
  leaseBy: string | null;
  leaseUntilMs: number | null;
  wakeAtMs: number | null;
  deadlineMs: number;
  failures: number;
  readonly createdAtMs: number;
  updatedAtMs: number;
}

export interface CallRow {
  readonly id: CallId;
  readonly conversation: ConversationRow;
  readonly intentionId: IntentionId;
  readonly step: number;
  readonly ord: number;
  readonly agentId: string;
  readonly agent: AgentName;
  readonly messageId: MessageId;
  taskId: string | null;
  contextId: string | null;
  readonly referenceTaskIds: readonly string[];
  state: CallState;
  readonly answers: CallId | null;
  attempts: number;
  polls: number;
  wakeAtMs: number | null;
  leaseBy: string | null;
  leaseUntilMs: number | null;
  deadlineMs: number;
  sentAtMs: number | null;
  fingerprint: string | null;
  readonly staleFingerprint: string | null;
  lastLookAtMs: number | null;
  lastPokeAtMs: number | null;
  cancel: 'wanted' | 'done' | null;
  cancelAttempts: number;
  cancelOutcome: CancelOutcome | null;
  error: string | null;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /** Its transmissions, in order. */
  readonly transmissions: AttemptRow[];
}

export interface AttemptRow {
  readonly attempt: number;
  readonly token: string | null;
  readonly startedAtMs: number;
  endedAtMs: number | null;
  outcome: 'ok' | 'rejected' | 'unknown' | null;
  error: string | null;
}

export interface AgentRow {
  readonly agent: Omit<Agent, 'deduplicates' | 'downUntilMs'>;
  deduplicates: boolean;
  failures: number;
  downUntilMs: number | null;
}

export interface KeyRow {
  readonly scope: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly conversationId: ConversationId;
  readonly messageId: MessageId;
}

export interface Tables {
  nowMs: number;
  readonly conversations: Map<string, ConversationRow>;
  readonly intentions: Map<string, IntentionRow>;
  readonly calls: Map<string, CallRow>;
  /** By message id: the conversation that has it, and its seq. */
  readonly places: Map<string, { readonly conversation: ConversationRow; readonly seq: number }>;
  /** By owner, scope and key. */
  readonly keys: Map<string, KeyRow>;
  readonly agents: Map<string, AgentRow>;
  /** Ids that the store itself gave. */
  ids: number;
}

export const keyOf = (owner: OwnerId, key: NonNullable<Accepting['idempotency']>): string => JSON.stringify([owner, key.scope, key.key]);

export function messageOf(tables: Tables, id: string): Message | null {
  const place = tables.places.get(id);
  return place?.conversation.messages[place.seq - 1] ?? null;
}

/** The intention that a row belongs to now. */
export const belongsTo = (message: Message): IntentionId => message.movedTo ?? message.intentionId;

/** An id for a row that no caller named. */
export const nextId = (tables: Tables): MessageId => messageId(`00000000-0000-4000-8000-${String(++tables.ids).padStart(12, '0')}`);

export const iso = (ms: number): string => new Date(ms).toISOString();

/** What Postgres says when a unique index would be broken; the whole rule is undone, so it is asked before anything is written. */
export function refuse(constraint: string): never {
  throw new Fault('internal', { notes: { postgres: '23505', constraint } });
}

/** Throws Fault `internal` when one of the rows may not stand beside those that are there. */
export function admit(tables: Tables, conversation: ConversationRow, intention: IntentionId, rows: readonly NewMessage[]): void {
  for (const row of rows) {
    if (tables.places.has(row.id)) refuse('message_id');
    const clash = (other: Message): boolean =>
      (row.type === 'query' &&
        other.type === 'query' &&
        other.intentionId === intention &&
        other.step === row.step &&
        other.ord === row.ord) ||
      (isQuestion(row.type) &&
        row.callId !== null &&
        other.callId === row.callId &&
        other.type === row.type &&
        other.agent === row.agent) ||
      (isResult(row.type) && row.callId !== null && isResult(other.type) && other.callId === row.callId) ||
      (row.role === 'assistant' && other.role === 'assistant' && other.intentionId === intention);
    if (conversation.messages.some(clash)) refuse('message_one_of_its_kind');
  }
}

const isQuestion = (type: Message['type']): boolean => type === 'input_required' || type === 'auth_required';
const isResult = (type: Message['type']): boolean => type === 'answer' || type === 'error';

const isLive = (state: CallState): boolean =>
  state === 'sending' || state === 'working' || state === 'input_required' || state === 'auth_required';

type Holder = Pick<CallRow, 'id' | 'agentId'>;

function someoneHas(tables: Tables, call: Holder, taskId: string | null, whose: (state: CallState) => boolean): boolean {
  if (taskId === null) return false;
  for (const other of tables.calls.values())
    if (other.taskId === taskId && other.agentId === call.agentId && other.id !== call.id && whose(other.state)) return true;
  return false;
}

/** Another call of the agent has this task, open, asking, or planned as an answer. */
export const isTaken = (tables: Tables, call: Holder, taskId: string | null): boolean =>
  someoneHas(tables, call, taskId, (state) => isLive(state) || state === 'planned' || state === 'unknown');

/** Throws Fault `internal` when a live call would share its task with another one. */
export function admitTask(tables: Tables, call: Holder, state: CallState, taskId: string | null): void {
  if (isLive(state) && someoneHas(tables, call, taskId, isLive)) refuse('call_live_task');
}

/** Appends a row at the end of its conversation. Frozen: what callers get of it is the row itself. */
export function append(tables: Tables, conversation: ConversationRow, intention: IntentionId, row: NewMessage): void {
  const message: Message = Object.freeze({
    conversationId: conversation.id,
    seq: conversation.nextSeq,
    id: row.id,
    intentionId: intention,
    movedTo: null,
    step: row.step,
    ord: row.ord,
    role: row.role,
    type: row.type,
    agent: row.agent,
    toAgent: row.toAgent,
    reason: row.reason,
    callId: row.callId,
    content: row.content,
    parts: Object.freeze({ ...row.parts }),
    usage: row.usage,
    createdAt: iso(tables.nowMs),
  });
  conversation.messages.push(message);
  tables.places.set(message.id, { conversation, seq: message.seq });
  conversation.nextSeq++;
  conversation.updatedAtMs = tables.nowMs;
}

/** A row with nothing in it but what is given. */
export const plainRow = (given: Pick<NewMessage, 'id' | 'role'> & Partial<NewMessage>): NewMessage => ({
  step: null,
  ord: null,
  type: null,
  agent: null,
  toAgent: null,
  reason: null,
  callId: null,
  content: '',
  parts: {},
  usage: null,
  ...given,
});

// Accept, Stop and Expire in the double. Pure but for the tables given.

import { nameTaskMs } from '../../../src/intention/limits.ts';
import { type ConversationId, type IntentionId, intentionId, type OwnerId } from '../../../src/intention/message.ts';
import type { Accepted, Accepting, RunnerName, Stopped } from '../../../src/intention/rules.ts';
import {
  callsOf,
  isBusy,
  isLive,
  isOpen,
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
  append,
  belongsTo,
  type ConversationRow,
  type IntentionRow,
  keyOf,
  messageOf,
  nextId,
  plainRow,
  refuse,
  type Tables,
} from './tables.ts';

export function open(tables: Tables, owner: OwnerId, id: ConversationId, title: string): void {
  if (!tables.conversations.has(id)) addConversation(tables, owner, id, title);
}

function addConversation(tables: Tables, owner: OwnerId, id: ConversationId, title: string): ConversationRow {
  const conversation: ConversationRow = {
    id,
    ownerId: owner,
    title,
    nextSeq: 1,
    createdAtMs: tables.nowMs,
    updatedAtMs: tables.nowMs,
    messages: [],
    intentions: new Map(),
    calls: new Map(),
  };
  tables.conversations.set(id, conversation);
  return conversation;
}

export function accept(tables: Tables, message: Accepting): Accepted {
  const named = typeof message.answerTo === 'string';
  const id = message.conversation;
  if (id === null && named) return { kind: 'question_closed' };
  if (id === null) start(tables, message);
  else join(tables, message, tables.conversations.get(id));

  const key = message.idempotency === null ? undefined : tables.keys.get(keyOf(message.owner, message.idempotency));
  const own = tables.conversations.get(id ?? message.newConversationId);
  const home = key ? tables.conversations.get(key.conversationId) : own;
  if (home?.ownerId !== message.owner) return { kind: 'no_conversation' };
  if (key && key.bodyHash !== message.idempotency?.bodyHash) return { kind: 'key_reused' };
  const row = messageOf(tables, key?.messageId ?? message.messageId);
  const intention = row === null ? undefined : tables.intentions.get(belongsTo(row));
  if (row === null || intention === undefined)
    return { kind: message.onBusy === 'reject' && own !== undefined && isBusy(own, null) && !named ? 'busy' : 'question_closed' };
  const stop = message.onBusy === 'interrupt' ? stoppedNow(tables, own) : [];
  return {
    kind: 'accepted',
    message: row,
    intentionId: intention.id,
    status: intention.status,
    repeated: row.id !== message.messageId,
    stopped: stop.length > 0 ? { message: null, status: null, stop, wake: [] } : null,
  };
}

/** False: the key was used before. */
function takeKey(tables: Tables, message: Accepting, conversationId: ConversationId): boolean {
  if (message.idempotency === null) return true;
  const name = keyOf(message.owner, message.idempotency);
  if (tables.keys.has(name)) return false;
  tables.keys.set(name, { ...message.idempotency, conversationId, messageId: message.messageId });
  return true;
}

const userRow = (message: Accepting) => plainRow({ id: message.messageId, role: 'user', content: message.content, parts: message.parts });

function start(tables: Tables, message: Accepting): void {
  if (tables.conversations.has(message.newConversationId)) return;
  if (tables.places.has(message.messageId)) refuse('message_id');
  if (!takeKey(tables, message, message.newConversationId)) return;
  const conversation = addConversation(tables, message.owner, message.newConversationId, message.title);
  const first = intentionId(message.messageId);
  startIntention(tables, conversation, first, message.onBusy === 'parallel', 'planning');
  append(tables, conversation, first, userRow(message));
}

function join(tables: Tables, message: Accepting, conversation: ConversationRow | undefined): void {
  if (conversation?.ownerId !== message.owner || tables.places.has(message.messageId)) return;
  const known = message.idempotency !== null && tables.keys.has(keyOf(message.owner, message.idempotency));
  if (message.onBusy === 'interrupt' && !known) interrupt(tables, message, conversation);

  const target = targetOf(message, conversation);
  if (target === null && typeof message.answerTo === 'string') return;
  if (target?.status !== 'calling' && message.onBusy === 'reject' && isBusy(conversation, target?.id ?? null)) return;
  if (!takeKey(tables, message, conversation.id)) return;
  if (conversation.title === '') conversation.title = message.title;
  if (target === null) {
    const parallel = message.onBusy === 'parallel';
    startIntention(tables, conversation, intentionId(message.messageId), parallel, runnable(parallel, conversation, null));
  } else if (target.status !== 'calling') resume(tables, target, runnable(target.parallel, conversation, target.id));
  append(tables, conversation, target?.id ?? intentionId(message.messageId), userRow(message));
}

/** The intention whose open question the message is for: the named one; unnamed, the one whose question was the last thing said. */
function targetOf(message: Accepting, conversation: ConversationRow): IntentionRow | null {
  if (message.answerTo === null) return null;
  const last = conversation.messages.at(-1);
  const asked = last?.type === 'input_required' || last?.type === 'auth_required' ? last.callId : null;
  for (const call of conversation.calls.values()) {
    const intention = conversation.intentions.get(call.intentionId);
    if (!intention || !isQuestion(call.state) || !(isParked(intention.status) || intention.status === 'calling')) continue;
    const meant = message.answerTo === undefined ? call.id === asked : call.id === message.answerTo || intention.id === message.answerTo;
    if (meant) return intention;
  }
  return null;
}

/** Stops what is at work or waits for its turn, but for the intention that the message joins. */
function interrupt(tables: Tables, message: Accepting, conversation: ConversationRow): void {
  const target = targetOf(message, conversation);
  if (target === null && typeof message.answerTo === 'string') return;
  const stopped = [...conversation.intentions.values()].filter(
    ({ parallel, status, id }) => !parallel && (status === 'queued' || status === 'planning' || status === 'calling') && id !== target?.id,
  );
  end(tables, conversation, stopped, 'canceled');
}

/** Ends intentions of one conversation: their calls and questions are canceled, CancelTask wanted of those that may have reached their agent. */
function end(tables: Tables, conversation: ConversationRow, intentions: readonly IntentionRow[], type: 'canceled' | 'expired'): void {
  const { nowMs } = tables;
  for (const intention of intentions) {
    for (const call of callsOf(intention)) {
      if (!isOpen(call.state) && !isQuestion(call.state)) continue;
      call.state = 'canceled';
      call.cancel = call.attempts === 0 && call.taskId === null ? null : 'wanted';
      call.wakeAtMs = call.taskId !== null ? nowMs : call.attempts > 0 ? nowMs + nameTaskMs : null;
      release(call);
      call.updatedAtMs = nowMs;
    }
    intention.status = type;
    intention.fence++;
    intention.wakeAtMs = null;
    release(intention);
    intention.updatedAtMs = nowMs;
  }
  for (const { id } of [...intentions].sort((a, b) => (a.id < b.id ? -1 : 1)))
    append(tables, conversation, id, plainRow({ id: nextId(tables), role: 'assistant', type }));
}

/** The Runners of what this rule stopped. */
function stoppedNow(tables: Tables, conversation: ConversationRow | undefined): RunnerName[] {
  const names: RunnerName[] = [];
  for (const { id, status, updatedAtMs } of conversation?.intentions.values() ?? [])
    if ((status === 'canceled' || status === 'expired') && updatedAtMs === tables.nowMs) names.push(`intention:${id}`);
  for (const { id, state, updatedAtMs } of conversation?.calls.values() ?? [])
    if (state === 'canceled' && updatedAtMs === tables.nowMs) names.push(`call:${id}`);
  return names;
}

const nothing: Stopped = { message: null, status: null, stop: [], wake: [] };

function endOne(tables: Tables, id: IntentionId, type: 'canceled' | 'expired', may: (intention: IntentionRow) => boolean): Stopped {
  const intention = tables.intentions.get(id);
  if (!intention || !may(intention)) return nothing;
  const { conversation } = intention;
  if (isLive(intention)) {
    const next = nextInTurn(conversation, id);
    end(tables, conversation, [intention], type);
    promote(tables, next);
  }
  return {
    message: conversation.messages.find((row) => row.role === 'assistant' && row.intentionId === id) ?? null,
    status: intention.status,
    stop: stoppedNow(tables, conversation),
    wake: promotedNow(tables, conversation, id),
  };
}

export const stop = (tables: Tables, owner: OwnerId, conversation: ConversationId, id: IntentionId): Stopped =>
  endOne(tables, id, 'canceled', (intention) => intention.conversation.id === conversation && intention.conversation.ownerId === owner);

export const expire = (tables: Tables, id: IntentionId): Stopped =>
  endOne(
    tables,
    id,
    'expired',
    ({ status, wakeAtMs }) => status === 'expired' || (isParked(status) && wakeAtMs !== null && wakeAtMs <= tables.nowMs),
  );

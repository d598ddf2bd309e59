// Rows as Postgres gives them (as JSON) into our words. Pure.

import type { SQL } from 'drizzle-orm';
import { sql } from 'drizzle-orm';
import type { Agent, AgentCard, AgentSource } from '../agent/card.ts';
import type { Call, CallState, CancelOutcome } from '../intention/call.ts';
import {
  agentName,
  callId,
  conversationId,
  intentionId,
  type Message,
  type MessageType,
  messageId,
  ownerId,
  type Part,
  type Parts,
  type Role,
  type Usage,
} from '../intention/message.ts';

/** `to_jsonb(message)`. */
export interface MessageRow {
  readonly conversation_id: string;
  readonly seq: number;
  readonly id: string;
  readonly intention_id: string;
  readonly moved_to: string | null;
  readonly step: number | null;
  readonly ord: number | null;
  readonly role: Role;
  readonly type: MessageType | null;
  readonly agent: string | null;
  readonly to_agent: string | null;
  readonly reason: string | null;
  readonly call_id: string | null;
  readonly content: string;
  readonly parts: Parts;
  readonly usage: Usage | null;
  readonly created_at: string;
}

export function messageFrom(row: MessageRow): Message {
  return {
    conversationId: conversationId(row.conversation_id),
    seq: row.seq,
    id: messageId(row.id),
    intentionId: intentionId(row.intention_id),
    movedTo: row.moved_to === null ? null : intentionId(row.moved_to),
    step: row.step,
    ord: row.ord,
    role: row.role,
    type: row.type,
    agent: row.agent === null ? null : agentName(row.agent),
    toAgent: row.to_agent === null ? null : agentName(row.to_agent),
    reason: row.reason,
    callId: row.call_id === null ? null : callId(row.call_id),
    content: row.content,
    parts: row.parts,
    usage: row.usage,
    createdAt: new Date(row.created_at).toISOString(),
  };
}

/** What `callJson` selects. */
export interface CallRow {
  readonly id: string;
  readonly conversation_id: string;
  readonly intention_id: string;
  readonly owner_id: string;
  readonly step: number;
  readonly ord: number;
  readonly agent_id: string;
  readonly agent: string;
  readonly message_id: string;
  readonly task_id: string | null;
  readonly context_id: string | null;
  readonly reference_task_ids: readonly string[];
  readonly state: CallState;
  readonly answers: string | null;
  readonly attempts: number;
  readonly polls: number;
  readonly fingerprint: string | null;
  readonly stale_fingerprint: string | null;
  readonly sent_at: string | null;
  readonly deadline: string;
  readonly cancel: 'wanted' | 'done' | null;
  readonly cancel_attempts: number;
  readonly cancel_outcome: CancelOutcome | null;
  readonly error: string | null;
  readonly query: string;
  readonly items: readonly Part[] | null;
}

/** A call with its owner and the words of its query, as one JSON object. `alias` names a row of `call` in scope. */
export const callJson = (alias: SQL): SQL => sql`(to_jsonb(${alias}) || jsonb_build_object(
  'owner_id', (select o.owner_id from conversation o where o.id = ${alias}.conversation_id),
  'query', (select m.content from message m where m.intention_id = ${alias}.intention_id and m.type = 'query' and m.call_id = ${alias}.id),
  'items', (select m.parts->'items' from message m where m.intention_id = ${alias}.intention_id and m.type = 'query' and m.call_id = ${alias}.id)))`;

export function callFrom(row: CallRow): Call {
  return {
    id: callId(row.id),
    conversationId: conversationId(row.conversation_id),
    intentionId: intentionId(row.intention_id),
    ownerId: ownerId(row.owner_id),
    step: row.step,
    ord: row.ord,
    agentId: row.agent_id,
    agent: agentName(row.agent),
    messageId: messageId(row.message_id),
    taskId: row.task_id,
    contextId: row.context_id,
    referenceTaskIds: row.reference_task_ids,
    state: row.state,
    answers: row.answers === null ? null : callId(row.answers),
    attempts: row.attempts,
    polls: row.polls,
    fingerprint: row.fingerprint,
    staleFingerprint: row.stale_fingerprint,
    sentAtMs: row.sent_at === null ? null : Date.parse(row.sent_at),
    deadlineMs: Date.parse(row.deadline),
    cancel: row.cancel,
    cancelAttempts: row.cancel_attempts,
    cancelOutcome: row.cancel_outcome,
    error: row.error,
    query: row.query,
    parts: row.items ?? [],
  };
}

/** `to_jsonb(agent)`. */
export interface AgentRow {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: string;
  readonly card_url: string;
  readonly card: AgentCard;
  readonly down_until: string | null;
  readonly deduplicates: boolean | null;
}

/** With what the configuration says of the agent's source. */
export function agentFrom(row: AgentRow, sources: readonly AgentSource[]): Agent {
  const source = sources.find(({ url }) => url === row.source);
  return {
    id: row.id,
    name: agentName(row.namespace === 'default' ? row.name : `${row.namespace}/${row.name}`),
    source: row.source,
    cardUrl: row.card_url,
    card: row.card,
    deduplicates: source?.deduplicates ?? row.deduplicates ?? false,
    allowedMs: source?.deadlineMs ?? null,
    downUntilMs: row.down_until === null ? null : Date.parse(row.down_until),
  };
}

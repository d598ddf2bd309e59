// The words for what clients see: committed rows, and the ephemeral that a row supersedes. Pure.

import type { Call, CallState, CancelOutcome } from '../intention/call.ts';
import type { IntentionStatus } from '../intention/intention.ts';
import type { AgentName, CallId, ConversationId, IntentionId, Json, Message, MessageType, Part, Role } from '../intention/message.ts';

/** One ledger row on the wire. Readers ignore what they do not know. */
export interface MessageEvent {
  readonly seq: number;
  readonly id: string;
  readonly conversation_id: ConversationId;
  readonly intention_id: IntentionId;
  readonly step: number | null;
  readonly role: Role;
  readonly type: MessageType | null;
  readonly agent: AgentName | null;
  readonly to_agent: AgentName | null;
  readonly reason: string | null;
  /** What the planner wrote beside its calls. */
  readonly note: string | null;
  readonly call_id: CallId | null;
  readonly content: string;
  /** Of a `reassigned` row: the message that moved here, and from where. */
  readonly parts: readonly Part[] | { readonly seq: number; readonly from: IntentionId };
  readonly schema: Json | null;
  readonly usage: Json | null;
  readonly created_at: string;
}

/**
 * A piece of text on its way into a row. `offset` counts UTF-16 units from the start of the source's text.
 * A source is (intention, step, agent, call); a higher `attempt` replaces its text, a lower one is dropped.
 */
export interface DeltaEvent {
  readonly intention_id: IntentionId;
  readonly step: number;
  readonly agent: AgentName;
  readonly call_id: CallId | null;
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

export interface StatusEvent {
  readonly intention_id: IntentionId;
  readonly status: IntentionStatus;
}

export interface ConversationEvent {
  readonly conversation_id: ConversationId;
  readonly title: string;
}

/** What became of a call beside its rows: of its cancellation, or of a look at one in doubt. */
export interface CallEvent {
  readonly intention_id: IntentionId;
  readonly call_id: CallId;
  readonly agent: AgentName;
  readonly state: CallState;
  readonly cancel: 'wanted' | CancelOutcome | null;
}

/** Everything that travels on `GET /v1/conversations/:id/events`. Only `message` has an id (its seq). */
export type StreamEvent =
  | { readonly kind: 'message'; readonly data: MessageEvent }
  | { readonly kind: 'delta'; readonly data: DeltaEvent }
  | { readonly kind: 'status'; readonly data: StatusEvent }
  | { readonly kind: 'call'; readonly data: CallEvent }
  | { readonly kind: 'conversation'; readonly data: ConversationEvent };

/** A row's content on the wire is cut at this many UTF-16 units (64 KiB of ASCII); the whole is in `GET .../messages` and files. */
export const maxEventContent = 65_536;

/** A ledger row as clients see it: the decision's audit stays inside. */
export function messageEvent(message: Message): MessageEvent {
  const { parts } = message;
  return {
    seq: message.seq,
    id: message.id,
    conversation_id: message.conversationId,
    intention_id: message.intentionId,
    step: message.step,
    role: message.role,
    type: message.type,
    agent: message.agent,
    to_agent: message.toAgent,
    reason: message.reason,
    note: parts.decision?.note || null,
    call_id: message.callId,
    content: message.content.slice(0, maxEventContent),
    parts: parts.seq !== undefined && parts.from !== undefined ? { seq: parts.seq, from: parts.from } : (parts.items ?? []),
    schema: parts.schema ?? null,
    usage: message.usage ? { ...message.usage } : null,
    created_at: message.createdAt,
  };
}

export function callEvent(call: Call): CallEvent {
  return {
    intention_id: call.intentionId,
    call_id: call.id,
    agent: call.agent,
    state: call.state,
    cancel: call.cancelOutcome ?? (call.cancel === 'wanted' ? 'wanted' : null),
  };
}

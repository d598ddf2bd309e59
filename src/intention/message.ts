// The words of the ledger: one message row, its ids and its parts. Pure.

/** Ids are UUIDv7 made in the Worker; they name things and never order them (`seq` does). */
export type ConversationId = string & { readonly __id: 'conversation' };
export type IntentionId = string & { readonly __id: 'intention' };
export type MessageId = string & { readonly __id: 'message' };
export type CallId = string & { readonly __id: 'call' };
export type FileId = string & { readonly __id: 'file' };
export type OwnerId = string & { readonly __id: 'owner' };
/** An agent as users, prompts and wires name it: `name` in the namespace `default`, else `namespace/name`. */
export type AgentName = string & { readonly __id: 'agent name' };

export const conversationId = (id: string): ConversationId => id as ConversationId;
export const intentionId = (id: string): IntentionId => id as IntentionId;
export const messageId = (id: string): MessageId => id as MessageId;
export const callId = (id: string): CallId => id as CallId;
export const fileId = (id: string): FileId => id as FileId;
export const ownerId = (id: string): OwnerId => id as OwnerId;
export const agentName = (name: string): AgentName => name as AgentName;

/** The planner speaks under this name in the `agent` column; no agent may bear it. */
export const planName: AgentName = agentName('plan');

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/**
 * A piece of content. Bytes, and text or data over 16 KiB, live in the `file` table and are referred to by `file_id`.
 * `was` tells a file that was a large text or data part when it came in.
 * Source: A2A v1.0 §4.1.6 Part; spelled as on our wire.
 */
export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly name?: string; readonly media_type?: string; readonly metadata?: Json }
  | { readonly kind: 'data'; readonly data: Json; readonly name?: string; readonly media_type?: string; readonly metadata?: Json }
  | FilePart;

export interface FilePart {
  readonly kind: 'file';
  /** Ours, when we hold the bytes. */
  readonly file_id?: FileId;
  /** `/v1/files/:id` when we hold the bytes, else where the sender said they are (never fetched by us). */
  readonly url: string;
  readonly name?: string;
  readonly media_type?: string;
  /** Bytes; absent for a file that we do not hold. */
  readonly size?: number;
  readonly was?: 'text' | 'data';
  readonly metadata?: Json;
}

export type Role = 'user' | 'agent' | 'assistant';
export type MessageType = 'query' | 'answer' | 'input_required' | 'auth_required' | 'error' | 'reassigned' | 'canceled' | 'expired';

/** What a planner step cost, as the model's server reported it; absent numbers were not reported. */
export interface Usage {
  readonly model: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cached_tokens?: number;
}

/** The model's decision as it was made, kept with the row of ord 0 for audit. Clients see only `note`. */
export interface Decision {
  readonly note: string;
  readonly tool_call_ids: readonly string[];
  readonly raw: Json;
  readonly prompt_hash: string;
}

/** What a row carries beside its text. Each key has one writer: `items` whoever speaks, the others as said. */
export interface Parts {
  readonly items?: readonly Part[];
  /** On the query, final or reassigned row of ord 0 of a decision. */
  readonly decision?: Decision;
  /** On a query: the question (a call) that this query answers. */
  readonly answers?: CallId;
  /** On a `reassigned` row: the user row that moved here, and the intention it was published under. */
  readonly seq?: number;
  readonly from?: IntentionId;
  /** On a user row: what the caller said it answers; null is "something new". Absent: the caller did not say. */
  readonly answer_to?: string | null;
  /** On a user row: what is decided of the question that it answers; no model is asked. */
  readonly resolve?: 'retry';
  /** On a user row: the agents that the caller allows. */
  readonly agents?: readonly AgentName[];
  /** On a question: the JSON schema of the answer that the agent asks for. */
  readonly schema?: Json;
}

/** One row of the ledger, immutable as published but for `movedTo`. Source: table `message`. */
export interface Message {
  readonly conversationId: ConversationId;
  /** Place in the conversation, from 1 without gaps; also the SSE id. */
  readonly seq: number;
  readonly id: MessageId;
  /** The intention it was published under. */
  readonly intentionId: IntentionId;
  /** The intention it was reassigned to, if it was. */
  readonly movedTo: IntentionId | null;
  /** The decision it belongs to, from 1; null for what the user said. */
  readonly step: number | null;
  /** Place among the queries of one decision, from 0. */
  readonly ord: number | null;
  readonly role: Role;
  readonly type: MessageType | null;
  /** Who speaks when role is `agent`: `plan` or an agent's name. */
  readonly agent: AgentName | null;
  /** Whom a query asks. */
  readonly toAgent: AgentName | null;
  readonly reason: string | null;
  readonly callId: CallId | null;
  readonly content: string;
  readonly parts: Parts;
  readonly usage: Usage | null;
  /** ISO 8601, the database's clock. */
  readonly createdAt: string;
}

/** A row about to be appended: the ledger gives it its place and time. */
export type NewMessage = Omit<Message, 'conversationId' | 'seq' | 'intentionId' | 'movedTo' | 'createdAt'>;

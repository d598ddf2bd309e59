// The words for one A2A call to one agent, and for what may be heard of it. Pure.

import type { AgentName, CallId, ConversationId, IntentionId, MessageId, NewMessage, OwnerId, Part } from './message.ts';

/** Source: table `call`. The last five are terminal and absorb. */
export const callStates = [
  'planned',
  'sending',
  'working',
  'input_required',
  'auth_required',
  'unknown',
  'resumed',
  'completed',
  'failed',
  'canceled',
  'rejected',
] as const;
export type CallState = (typeof callStates)[number];

/** The step cannot go on while one of its calls is in one of these. */
export const openStates = ['planned', 'sending', 'working'] as const satisfies readonly CallState[];
/** The call asks something of the user: of an `unknown` one, `plan` does. */
export const questionStates = ['input_required', 'auth_required', 'unknown'] as const satisfies readonly CallState[];

/** How a call may close: the state it takes, with what is said of it in the ledger. */
export type ClosingState = 'input_required' | 'auth_required' | 'unknown' | 'completed' | 'failed' | 'canceled' | 'rejected';

/** What CancelTask came to: the agent confirmed it; the task was over; the agent knows no such task; nobody ever said. */
export const cancelOutcomes = ['canceled', 'finished', 'gone', 'unsettled'] as const;
export type CancelOutcome = (typeof cancelOutcomes)[number];

/** One call as the ledger holds it. Times are milliseconds since the epoch on the database's clock. */
export interface Call {
  readonly id: CallId;
  readonly conversationId: ConversationId;
  readonly intentionId: IntentionId;
  readonly ownerId: OwnerId;
  readonly step: number;
  readonly ord: number;
  readonly agentId: string;
  readonly agent: AgentName;
  /** The A2A messageId, derived from (intention, step, ord): a repeated send can be recognised by the agent. */
  readonly messageId: MessageId;
  readonly taskId: string | null;
  readonly contextId: string | null;
  /** Earlier tasks that a follow-up refers to. */
  readonly referenceTaskIds: readonly string[];
  readonly state: CallState;
  /** The question that this call answers on the same task. */
  readonly answers: CallId | null;
  /** Transmissions begun so far. */
  readonly attempts: number;
  /** How often its task was looked up; the backoff of polling counts by it. With `attempts` it numbers what is streamed of it. */
  readonly polls: number;
  /** Of the snapshot that closed it. */
  readonly fingerprint: string | null;
  /** What the snapshot of the old turn looked like, for a call that answers a question. */
  readonly staleFingerprint: string | null;
  readonly sentAtMs: number | null;
  readonly deadlineMs: number;
  readonly cancel: 'wanted' | 'done' | null;
  readonly cancelAttempts: number;
  readonly cancelOutcome: CancelOutcome | null;
  /** Why it failed, for operators. */
  readonly error: string | null;
  /** What is sent: the query and the parts that go with it. */
  readonly query: string;
  readonly parts: readonly Part[];
}

/** A call about to be made. `messageId`, ids and texts are final: a committed decision is executed, never made again. */
export interface NewCall {
  readonly id: CallId;
  readonly ord: number;
  readonly agentId: string;
  readonly agent: AgentName;
  readonly messageId: MessageId;
  readonly taskId: string | null;
  readonly contextId: string | null;
  readonly referenceTaskIds: readonly string[];
  readonly answers: CallId | null;
  readonly staleFingerprint: string | null;
  /** How long the agent may take, in milliseconds from the decision. */
  readonly allowedMs: number;
}

/** All that closing a call writes. */
export interface Closing {
  readonly state: ClosingState;
  readonly row: NewMessage;
  readonly taskId: string | null;
  readonly contextId: string | null;
  readonly fingerprint: string | null;
  /** For the audit of the attempt. */
  readonly outcome: 'ok' | 'rejected' | 'unknown';
  readonly error: string | null;
  /** For the agent's breaker: whether it answered; null: this tells nothing of it. */
  readonly reached: boolean | null;
}

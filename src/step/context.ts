// All that one planner step needs, as one load brings it. Types only.

import type { Agent, AgentSource } from '../agent/card.ts';
import type { Call } from '../intention/call.ts';
import type { AgentName, CallId, ConversationId, IntentionId, Message, OwnerId } from '../intention/message.ts';

/** An open question of the conversation, whichever intention asked it. */
export interface OpenQuestion {
  readonly callId: CallId;
  readonly intentionId: IntentionId;
  readonly agent: AgentName;
  readonly kind: 'input_required' | 'auth_required' | 'unknown';
  readonly content: string;
  /** What had been asked of the agent. */
  readonly query: string;
}

/** An A2A context that a new call to this agent may adopt: its last task is over and nothing open uses it. */
export interface FreeContext {
  readonly agentId: string;
  readonly contextId: string;
  readonly taskId: string | null;
}

export interface StepContext {
  readonly intentionId: IntentionId;
  readonly conversationId: ConversationId;
  readonly ownerId: OwnerId;
  /** The database's clock at the claim, ms since the epoch. */
  readonly nowMs: number;
  readonly fence: number;
  /** Decisions made so far. */
  readonly step: number;
  /** Claims since the last decision, this one included. */
  readonly failures: number;
  /** When planning time is used up. */
  readonly deadlineMs: number;
  /** This intention's rows, ascending seq. */
  readonly messages: readonly Message[];
  /** User and assistant rows of the conversation's other intentions, ascending seq, the last 30. */
  readonly history: readonly Message[];
  /** This intention's calls, in the order of their making. */
  readonly calls: readonly Call[];
  /** The open questions of this intention and of every parked one of the conversation, oldest first. */
  readonly questions: readonly OpenQuestion[];
  readonly freeContexts: readonly FreeContext[];
  /** Enabled agents of the configured sources. */
  readonly agents: readonly Agent[];
  /** Configured sources without a fresh row: they are read before the decision. */
  readonly staleSources: readonly AgentSource[];
}

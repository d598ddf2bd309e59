// The words for one decision of the planner. Pure.

import type { AgentName, CallId, Json, Usage } from '../intention/message.ts';

/** One call that the planner wants made. `answers` undefined: the planner did not say. */
export interface PlannedCall {
  readonly agent: AgentName;
  /** A complete sentence for the agent. */
  readonly query: string;
  readonly reason: string;
  /** The open question that it answers; `new` for explicitly none. */
  readonly answers?: CallId | 'new';
  /** The model's own id of the tool call, for audit. */
  readonly toolCallId: string;
}

/** What the planner decided. Text beside calls is a note of the plan, not an answer. */
export type Plan =
  | { readonly kind: 'call'; readonly note: string; readonly calls: readonly [PlannedCall, ...PlannedCall[]] }
  | { readonly kind: 'reassign'; readonly note: string; readonly to: CallId | 'new'; readonly toolCallId: string }
  | { readonly kind: 'report'; readonly text: string };

/** A model's answer before anyone believed it. `invalid` holds the validator's words. */
export interface RawToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly invalid?: string;
}

/**
 * What one model call brought. `finish` is the AI SDK's reason; a stream that merely ended is `interrupted`.
 * Source: notes of `ai` 7, `finishReason`.
 */
export interface RawDecision {
  readonly text: string;
  readonly toolCalls: readonly RawToolCall[];
  readonly finish: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'interrupted' | 'other';
  readonly usage: Usage;
}

/** A turn of the restored transcript. Shapes follow the chat completions wire, spelled without a vendor. */
export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string }
  | {
      readonly role: 'calls';
      readonly note: string;
      readonly calls: readonly { readonly id: string; readonly tool: string; readonly input: Json }[];
    }
  | { readonly role: 'results'; readonly results: readonly { readonly id: string; readonly tool: string; readonly text: string }[] };

/** A tool as the model is shown it; `parameters` is JSON schema. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
}

/** One request to the model, whole. `forced` asks for the report: tools stay visible, none may be called. */
export interface Prompt {
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  readonly forced: boolean;
}

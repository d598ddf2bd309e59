// What goes into the ledger's rules, and what comes back. Types only.

import type { Agent } from '../agent/card.ts';
import type { StepContext } from '../step/context.ts';
import type { Call } from './call.ts';
import type { IntentionStatus } from './intention.ts';
import type { ConversationId, IntentionId, Message, MessageId, OwnerId, Parts } from './message.ts';

/** `intention:<id>` or `call:<id>`. */
export type RunnerName = `intention:${string}` | `call:${string}`;

export type OnBusy = 'enqueue' | 'interrupt' | 'parallel' | 'reject';

/** A message at the door. The id of a new intention is that of its first message: a Runner armed under it finds the message wherever it landed. */
export interface Accepting {
  readonly owner: OwnerId;
  /** Null: a new conversation under `newConversationId`. */
  readonly conversation: ConversationId | null;
  readonly newConversationId: ConversationId;
  readonly messageId: MessageId;
  readonly content: string;
  readonly parts: Parts;
  readonly title: string;
  readonly answerTo: string | null | undefined;
  readonly onBusy: OnBusy;
  readonly idempotency: { readonly scope: string; readonly key: string; readonly bodyHash: string } | null;
}

export type Accepted =
  | {
      readonly kind: 'accepted';
      readonly message: Message;
      readonly intentionId: IntentionId;
      readonly status: IntentionStatus;
      readonly repeated: boolean;
      readonly stopped: Stopped | null;
    }
  | { readonly kind: 'no_conversation' | 'question_closed' | 'busy' | 'key_reused' };

export type Claim =
  | { readonly kind: 'step'; readonly context: StepContext }
  /** Not now: look again in `inMs`; wake these, whose turn it is. */
  | { readonly kind: 'wait'; readonly inMs: number | null; readonly wake: readonly RunnerName[] }
  | { readonly kind: 'expired'; readonly conversationId: ConversationId };

/** `call` says by its state what to do: send (`sending`, just claimed from `planned`), find out, look, or cancel. Look again in `inMs`. */
export type CallClaim =
  | {
      readonly kind: 'claimed';
      readonly fresh: boolean;
      readonly call: Call;
      readonly agent: Agent;
      readonly nowMs: number;
      readonly inMs: number | null;
    }
  | { readonly kind: 'wait'; readonly inMs: number | null };

export type Decided =
  | {
      readonly kind: 'applied';
      readonly messages: readonly Message[];
      readonly status: IntentionStatus;
      readonly calls: readonly Call[];
      readonly wake: readonly RunnerName[];
    }
  /** A newer row has come: load again and decide anew. */
  | { readonly kind: 'overtaken' }
  /** The fence moved: somebody else has the work. */
  | { readonly kind: 'lost' };

/** `message` is null when the call was closed before: a repeat changes nothing. */
export interface Observed {
  readonly message: Message | null;
  readonly status: IntentionStatus;
  readonly wake: readonly RunnerName[];
}

/** `message`: the final row, also of one that had ended before. `stop`: the invocations to abort; `wake`: whose turn it is now. */
export interface Stopped {
  readonly message: Message | null;
  readonly status: IntentionStatus | null;
  readonly stop: readonly RunnerName[];
  readonly wake: readonly RunnerName[];
}

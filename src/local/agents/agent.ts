// The words for a sample agent: what it says of itself, what it hears, what it answers. Pure.

import type { ServerResponse } from 'node:http';

/** What an agent's card says. `examples` are questions that a user could ask as they stand. */
export interface CardWords {
  readonly name: string;
  readonly description: string;
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  readonly skills: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tags: readonly string[];
    readonly examples: readonly string[];
  }[];
}

/** One message from the client, with what the task has heard before. */
export interface Heard {
  /** The text parts, joined by line breaks. */
  readonly text: string;
  /** What the client said earlier on the same task, oldest first; empty on a new task. */
  readonly earlier: readonly string[];
  /** Aborted when the task is canceled or the server closes. */
  readonly signal: AbortSignal;
}

/**
 * One thing that an agent says. `reply` answers without a task and must be the first and only one.
 * `completed`, `failed`, `rejected` and `input_required` end the turn; an agent that just returns has completed.
 */
export type Saying =
  | { readonly kind: 'reply'; readonly text: string }
  | { readonly kind: 'working' | 'completed' | 'failed' | 'rejected' | 'input_required'; readonly text?: string }
  | { readonly kind: 'artifact'; readonly name: string; readonly text: string; readonly file?: WrittenFile };

export interface WrittenFile {
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
}

/** A whole agent: its card, and one function from what it hears to what it says. */
export interface Agent {
  readonly card: CardWords;
  readonly answer: (heard: Heard) => AsyncIterable<Saying>;
  /** Spoils the HTTP answer to a message before the protocol sees it; true: the response is taken care of. */
  readonly spoil?: (text: string, response: ServerResponse) => boolean;
}

/** Agents answer in the language they are asked in. */
export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}

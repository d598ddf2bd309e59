// What an agent said, in our words, and the total mapping from the protocol's states to ours. Pure.

import type { FilePart, Json, Part } from '../intention/message.ts';

/** A part as it came over the wire: bytes are not yet in the file table. */
export type RawPart =
  | Exclude<Part, FilePart>
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly name?: string; readonly media_type?: string; readonly metadata?: Json }
  | { readonly kind: 'link'; readonly url: string; readonly name?: string; readonly media_type?: string; readonly metadata?: Json };

export type ReplyState = 'working' | 'input_required' | 'auth_required' | 'completed' | 'failed' | 'canceled' | 'rejected';

/** All that is known of a task (or of a plain message: then `taskId` is null) at one moment. */
export interface AgentReply {
  readonly taskId: string | null;
  readonly contextId: string | null;
  readonly state: ReplyState;
  /** The text of the parts; of a failure, the agent's reason; may be empty. */
  readonly content: string;
  readonly parts: readonly RawPart[];
  /** The JSON schema of the answer that a question asks for. */
  readonly schema: Json | null;
  /** Of state, timestamp, status messageId and the text: equal fingerprints tell nothing new. */
  readonly fingerprint: string;
  /** The messageIds that the task's history holds. */
  readonly messageIds: readonly string[];
}

/** What arrives while a reply is read, in order. `text` appends to what is shown of this call; `reply` is last. */
export type AgentEvent =
  | { readonly kind: 'bound'; readonly taskId: string; readonly contextId: string | null }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reply'; readonly reply: AgentReply };

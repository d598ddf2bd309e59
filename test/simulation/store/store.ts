// What the simulator and the differential test ask of a store, be it the double or the SQL. Types only.

import type { Agent } from '../../../src/agent/card.ts';
import type { Call } from '../../../src/intention/call.ts';
import type { IntentionStatus } from '../../../src/intention/intention.ts';
import type { ConversationId, IntentionId, Message, OwnerId } from '../../../src/intention/message.ts';
import type { Archive, Ids, Ledger } from '../../../src/world.ts';

export interface Store {
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** All rows of a conversation, and the agents' breakers. For tests: no rule is asked. */
  snapshot(conversation: ConversationId): Promise<Snapshot>;
  /** Milliseconds since the epoch, integers. The store's clock stands until it is set again. */
  setNow(ms: number): void;
  /** All conversations are gone, and the agents are as they were given. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /** Always fresh, never missing; `allowedMs` is the same for all of one source. */
  readonly agents: readonly Agent[];
  /** Gives the token of each claim of a call; the same one twice makes the second claim a repeat of the first. */
  readonly ids: Ids;
}

/** Times are ms since the epoch. Lists are in the order of their names here: seq; id; intention, step and ord; call and attempt. */
export interface Snapshot {
  /** Null: there is none. */
  readonly conversation: ConversationSnapshot | null;
  readonly messages: readonly Message[];
  readonly intentions: readonly IntentionSnapshot[];
  readonly calls: readonly CallSnapshot[];
  readonly attempts: readonly AttemptSnapshot[];
  /** Idempotency keys that led here. */
  readonly keys: readonly { readonly scope: string; readonly key: string; readonly messageId: string }[];
  readonly breakers: readonly { readonly agentId: string; readonly failures: number; readonly downUntilMs: number | null }[];
}

export interface ConversationSnapshot {
  readonly id: ConversationId;
  readonly ownerId: OwnerId;
  readonly title: string;
  readonly nextSeq: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface IntentionSnapshot {
  readonly id: IntentionId;
  readonly status: IntentionStatus;
  readonly parallel: boolean;
  readonly step: number;
  readonly fence: number;
  readonly leaseBy: string | null;
  readonly leaseUntilMs: number | null;
  readonly wakeAtMs: number | null;
  readonly deadlineMs: number;
  readonly failures: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface CallSnapshot extends Call {
  readonly wakeAtMs: number | null;
  readonly leaseBy: string | null;
  readonly leaseUntilMs: number | null;
  readonly lastLookAtMs: number | null;
  readonly lastPokeAtMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface AttemptSnapshot {
  readonly callId: string;
  readonly attempt: number;
  readonly token: string | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly outcome: 'ok' | 'rejected' | 'unknown' | null;
  readonly error: string | null;
}

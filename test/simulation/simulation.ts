// What the parts of one schedule share. Types only.

import type { CallId, ConversationId, MessageId } from '../../src/intention/message.ts';
import type { Settings } from '../../src/settings.ts';
import type { StreamEvent } from '../../src/stream/event.ts';
import type { Ids, World } from '../../src/world.ts';
import type { Faults } from './faults.ts';
import type { Random } from './random.ts';
import type { Invocation, Scheduler } from './scheduler.ts';
import type { Store } from './store/store.ts';

export interface Simulation {
  readonly scheduler: Scheduler;
  readonly chance: Random;
  readonly faults: Faults;
  readonly store: Store;
  readonly settings: Settings;
  readonly ids: Ids;
  /** The store's next token; one that is set stays until it is set again. */
  readonly token: { value: string };
  /** The database is away until then. */
  readonly away: { untilMs: number };
  /** Conversations that anything was written to. */
  readonly conversations: Set<ConversationId>;
  /** What was published, in order. */
  readonly published: { readonly conversation: ConversationId; readonly event: StreamEvent }[];
  readonly received: Received[];
  /** The task of each call at work, as a claim last told of it. */
  readonly named: Map<CallId, string>;
  /** Each try of CancelTask. */
  readonly cancels: CallId[];
  /** Calls whose execution an agent reported with something unreadable. */
  readonly garbled: Set<CallId>;
  tell(text: string): void;
  violate(text: string): void;
  /** Runs `work` as an invocation of ours; null: it died. */
  invoke<T>(name: string, work: (world: World, own: Invocation) => Promise<T>, died?: () => void): Invocation;
  kill(own: Invocation): void;
  /** Every invocation ends; alarms survive, unless the objects are lost as well. */
  crash(objects: boolean): void;
}

/** A message as an agent got it. */
export interface Received {
  readonly agent: string;
  readonly callId: CallId;
  readonly messageId: MessageId;
  readonly body: string;
  /** Recognised as one that it had. */
  readonly repeated: boolean;
}

/** The last digits, by which a trail tells ids apart. */
export const short = (id: string): string =>
  id.replace(/^(intention|call):/, (kind) => kind.slice(0, 1)).replace(/[0-9a-f-]{28,}(?=[0-9a-f]{5}$)/, '');

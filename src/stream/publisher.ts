// Publishes without holding up the work: events in order, text coalesced, all of it allowed to fail. Effects: calls to the Conversation objects, timers.

import type { ConversationId } from '../intention/message.ts';
import type { Log, Stream } from '../world.ts';
import { type DeltaEvent, maxEventContent, type StreamEvent } from './event.ts';
import { type Held, sourceOf } from './texts.ts';

/** What is asked of a Conversation object. */
export interface Listener {
  publish(conversation: ConversationId, batch: readonly StreamEvent[]): Promise<readonly Held[]>;
  close(): Promise<void>;
}

/** Most frames of a source. Streaming is four fifths of the CPU of a question; the eye sees no difference. */
const textPauseMs = 20;
/** An object that takes longer is away; readers get the rows from Postgres. */
const callTimeoutMs = 5_000;

/** A source of text, sent up to `sent`, last at `lastMs`. */
interface Source {
  readonly event: Omit<DeltaEvent, 'offset' | 'text'>;
  text: string;
  sent: number;
  lastMs: number;
  open: boolean;
}

interface Outbox {
  readonly events: StreamEvent[];
  readonly sources: Set<Source>;
  closing: boolean;
  draining: Promise<void> | null;
  /** Ends a pause: what came now need not wait for text. */
  hurry: () => void;
}

/**
 * The port `Stream` over `listenerOf`, for one invocation: a promise of one request must not be awaited in another.
 * `settled` resolves when all that was given has been delivered or given up, within seconds; it never rejects.
 */
export function publisher(listenerOf: (conversation: ConversationId) => Listener, log: Log): Stream & { settled(): Promise<void> } {
  const outboxes = new Map<ConversationId, Outbox>();

  const outboxOf = (conversation: ConversationId): Outbox => {
    const known = outboxes.get(conversation);
    if (known) return known;
    const fresh: Outbox = { events: [], sources: new Set(), closing: false, draining: null, hurry: () => undefined };
    outboxes.set(conversation, fresh);
    return fresh;
  };

  /** Twice at most: a second delivery changes nothing, and an object that was just moved answers the second time. */
  const deliver = async (conversation: ConversationId, batch: readonly StreamEvent[]): Promise<readonly Held[]> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await inTime(listenerOf(conversation).publish(conversation, batch));
      } catch (thrown) {
        if (attempt === 1) continue;
        log('stream.publish_failed', { conversation, events: batch.length, reason: thrown instanceof Error ? thrown.name : typeof thrown });
        return [];
      }
    }
  };

  const drain = async (conversation: ConversationId, outbox: Outbox): Promise<void> => {
    for (;;) {
      // Events of one tick go together.
      await Promise.resolve();
      const dueMs = Math.min(...[...outbox.sources].filter(isBehind).map(({ lastMs }) => lastMs + textPauseMs));
      if (outbox.events.length > 0 || dueMs <= Date.now()) {
        const batch = outbox.events.splice(0);
        for (const source of outbox.sources) if (source.lastMs + textPauseMs <= Date.now()) batch.push(...piece(source));
        compare(outbox, await deliver(conversation, batch));
      } else if (outbox.closing) {
        outbox.closing = false;
        await letGo(conversation);
      } else if (dueMs < Number.POSITIVE_INFINITY) {
        await pause(dueMs - Date.now(), outbox);
      } else {
        // In the same tick as the look: whatever is given next starts anew.
        outboxes.delete(conversation);
        return;
      }
    }
  };

  const letGo = async (conversation: ConversationId): Promise<void> => {
    try {
      await inTime(listenerOf(conversation).close());
    } catch (thrown) {
      log('stream.close_failed', { conversation, reason: thrown instanceof Error ? thrown.name : typeof thrown });
    }
  };

  const start = (conversation: ConversationId, outbox: Outbox) => {
    outbox.draining ??= drain(conversation, outbox);
  };

  return {
    publish(conversation, events) {
      const outbox = outboxOf(conversation);
      outbox.events.push(...events);
      outbox.hurry();
      start(conversation, outbox);
    },
    relay(conversation, event) {
      const source: Source = { event, text: '', sent: 0, lastMs: 0, open: true };
      return {
        append(text) {
          if (!source.open || source.text.length >= maxEventContent) return;
          source.text = (source.text + text).slice(0, maxEventContent);
          const outbox = outboxOf(conversation);
          outbox.sources.add(source);
          start(conversation, outbox);
        },
        end() {
          if (!source.open) return;
          source.open = false;
          const outbox = outboxOf(conversation);
          // Into the line now, so that it comes before the row that is published next.
          outbox.events.push(...piece(source));
          outbox.sources.delete(source);
          outbox.hurry();
          start(conversation, outbox);
        },
      };
    },
    close(conversation) {
      const outbox = outboxOf(conversation);
      outbox.closing = true;
      outbox.hurry();
      start(conversation, outbox);
    },
    async settled() {
      while (outboxes.size > 0) await Promise.all([...outboxes.values()].map(({ draining }) => draining));
    },
  };
}

/** Where the text may be cut: never within a surrogate pair while more is to come. */
function whole({ text, open }: Source): number {
  return open && /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
}

function isBehind(source: Source): boolean {
  return source.sent < whole(source);
}

/** What was not sent yet, counted as sent. */
function piece(source: Source): readonly StreamEvent[] {
  const end = whole(source);
  if (source.sent >= end) return [];
  const data: DeltaEvent = { ...source.event, offset: source.sent, text: source.text.slice(source.sent, end) };
  source.sent = end;
  source.lastMs = Date.now();
  return [{ kind: 'delta', data }];
}

/** An object that holds less than was sent has lost it: the text goes again from its beginning. */
function compare(outbox: Outbox, held: readonly Held[]): void {
  for (const source of outbox.sources) {
    const answer = held.findLast((one) => one.source === sourceOf(source.event) && one.attempt === source.event.attempt);
    if (answer && answer.length < source.sent) source.sent = 0;
  }
}

function pause(ms: number, outbox: Outbox): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  outbox.hurry = resolve;
  return promise.finally(() => clearTimeout(timer));
}

async function inTime<T>(call: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('timeout')), callTimeoutMs);
  return Promise.race([call, promise]).finally(() => clearTimeout(timer));
}

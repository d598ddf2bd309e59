// The readers of one conversation, each at its own pace over one shared ring. Effects: reads of the ledger, streams.

import { Fault } from '../fault.ts';
import type { ConversationId, IntentionId } from '../intention/message.ts';
import type { Archive } from '../world.ts';
import { messageEvent, type StreamEvent } from './event.ts';
import { fanout } from './fanout.ts';
import { type Frame, ring } from './ring.ts';
import { encode, heartbeatFrame, openingFrame, resetFrame } from './sse.ts';
import type { Held } from './texts.ts';
import { type Until, until } from './until.ts';

/** Memory of one conversation is bounded by this, however slow its readers are. */
const maxRingBytes = 4 * 1024 * 1024;
/** One write to a reader: few writes cost less than many. */
const maxChunkBytes = 32 * 1024;
/** Measured at about 90 KB of memory and 30 us an event each. */
const maxReaders = 200;
/** Rows of one read of the ledger. */
const pageRows = 100;
/** Then the reader connects again; what was left behind by a broken connection goes too. */
const maxStreamMs = 15 * 60_000;
/** How long a later row waits for an earlier one that is still on its way, before the ledger is asked. */
const gapPatienceMs = 250;
/** A ledger that stays behind what was shown is no ledger to replay from. */
const maxRereads = 3;

export interface Broadcast {
  publish(events: readonly StreamEvent[]): readonly Held[];
  /**
   * Rows after `after`, then live. With `follow`, only what belongs to that message, accepted in that intention, up to its end.
   * Faults: `invalid_request` for a cursor from the future, `database_down`; 503 when there are too many readers.
   */
  subscribe(after: number, follow: { readonly intention: IntentionId; readonly seq: number } | null): Promise<ReadableStream<Uint8Array>>;
  /** To be called regularly while somebody listens. */
  beat(): Promise<void>;
  close(): void;
}

export interface BroadcastWorld {
  readonly archive: Pick<Archive, 'replay'>;
  readonly nowMs: () => number;
  /** How many listen now. */
  readonly onReaders: (count: number) => void;
}

interface Reader {
  readonly filter: Until | null;
  readonly untilMs: number;
  /** Place in the ring once it is live. */
  cursor: number;
  live: boolean;
  /** The last row it was given. */
  seq: number;
  /** Frames of its own, before it is live. */
  backlog: Uint8Array[];
  rereads: number;
  end(): void;
  gone: boolean;
}

export function broadcast(conversation: ConversationId, world: BroadcastWorld): Broadcast {
  const state = fanout();
  const shared = ring(maxRingBytes);
  const readers = new Set<Reader>();
  const encoder = new TextEncoder();
  const bytesOf = (text: string): Uint8Array => encoder.encode(text);
  let news = Promise.withResolvers<void>();
  let catchingUp: Promise<void> | null = null;
  let gapWatched = false;

  const toFrames = (events: readonly StreamEvent[]): readonly Frame[] => events.map((event) => ({ event, bytes: bytesOf(encode(event)) }));
  const announce = () => {
    news.resolve();
    news = Promise.withResolvers<void>();
  };
  const push = (frames: readonly Frame[]) => {
    if (readers.size === 0 || frames.length === 0) return;
    for (const frame of frames) shared.push(frame);
    announce();
  };
  const show = (events: readonly StreamEvent[]) => {
    if (readers.size > 0) push(toFrames(events));
  };

  /** One read of the ledger, told to all. Returns what the reader who asked for it lacks. */
  const read = async (after: number) => {
    const ticket = state.begin();
    const { messages, lastSeq, open } = await world.archive.replay(conversation, after, pageRows);
    const rows = messages.map(messageEvent);
    if (readers.size === 0) state.rest();
    const statuses = open.map(({ intentionId, status }) => ({ intention_id: intentionId, status }));
    if (readers.size > 0) show(state.absorb(ticket, { rows, lastSeq, open: statuses }));
    return { rows, lastSeq };
  };

  /** Brings rows that nobody published. At most one at a time; a failed read is made up for by the next heartbeat. */
  const catchUp = (): Promise<void> => {
    catchingUp ??= (async () => {
      for (let more = true; more && readers.size > 0; ) {
        const head = state.head();
        if (head === null) break;
        more = (await read(head)).rows.length === pageRows && state.head() !== head;
      }
    })()
      .catch(() => undefined)
      .finally(() => {
        catchingUp = null;
      });
    return catchingUp;
  };

  const leave = (reader: Reader) => {
    reader.gone = true;
    if (!readers.delete(reader)) return;
    if (readers.size === 0) {
      state.rest();
      shared.clear();
    }
    world.onReaders(readers.size);
  };

  /** Frames of these events for this reader; after its last one it is to be let go. */
  const admit = (reader: Reader, frames: readonly Frame[]): { readonly bytes: readonly Uint8Array[]; readonly ended: boolean } => {
    const bytes: Uint8Array[] = [];
    for (const frame of frames) {
      if (frame.event?.kind === 'message') {
        if (frame.event.data.seq <= reader.seq) continue;
        reader.seq = frame.event.data.seq;
      }
      const verdict = frame.event && reader.filter ? reader.filter.take(frame.event) : 'show';
      if (verdict !== 'hide') bytes.push(frame.bytes);
      if (verdict === 'last') return { bytes, ended: true };
    }
    return { bytes, ended: false };
  };

  /** The next page of the replay; after the last one the reader is live, at a moment with nothing between. */
  const replay = async (reader: Reader): Promise<boolean> => {
    // Registered before the read: whatever is shown from here on is in the ring.
    const cursor = shared.end();
    const { rows, lastSeq } = await read(reader.seq);
    if (reader.seq > lastSeq) throw new Fault('invalid_request', { detail: 'Last-Event-ID is ahead of the conversation.' });
    const page = admit(reader, toFrames(rows.map((data) => ({ kind: 'message', data }))));
    reader.backlog.push(...page.bytes);
    if (page.ended) return true;
    if (rows.length === pageRows) return false;

    const since = shared.read(cursor, Number.POSITIVE_INFINITY);
    if (since === 'behind') return false;
    const missed = admit(
      reader,
      since.frames.filter(({ event }) => event?.kind === 'message'),
    );
    reader.backlog.push(...missed.bytes);
    if (missed.ended) return true;
    // The first read of all went to another reader and saw more: this one reads again.
    if (reader.seq < (state.head() ?? 0)) {
      reader.rereads += 1;
      if (reader.rereads > maxRereads) throw new Fault('database_down', { notes: { seq: reader.seq, head: state.head() } });
      return false;
    }

    const followed = reader.filter ? state.status(reader.filter.intention()) : null;
    const now = admit(
      reader,
      toFrames([
        ...state.textSoFar().map((data) => ({ kind: 'delta', data }) as const),
        ...(reader.filter ? (followed ? [followed] : []) : state.openStatuses()).map((data) => ({ kind: 'status', data }) as const),
      ]),
    );
    reader.backlog.push(...now.bytes);
    reader.cursor = shared.end();
    reader.live = true;
    return now.ended;
  };

  /** What is next for this reader, waiting for it if need be; `last`: and then nothing. */
  const next = async (reader: Reader): Promise<{ readonly chunk: Uint8Array | null; readonly last: boolean }> => {
    for (;;) {
      if (reader.gone || world.nowMs() >= reader.untilMs) return { chunk: null, last: true };
      if (reader.backlog.length > 0) return { chunk: concat(reader.backlog.splice(0)), last: false };
      if (!reader.live) {
        if (await replay(reader)) return { chunk: concat(reader.backlog.splice(0)), last: true };
        continue;
      }
      const read = shared.read(reader.cursor, maxChunkBytes);
      if (read === 'behind') return { chunk: bytesOf(resetFrame), last: true };
      if (read.frames.length === 0) {
        await news.promise;
        continue;
      }
      reader.cursor = read.next;
      const { bytes, ended } = admit(reader, read.frames);
      if (bytes.length > 0 || ended) return { chunk: concat(bytes), last: ended };
    }
  };

  return {
    publish(events) {
      const { show: shown, held } = state.publish(events);
      show(shown);
      if (state.gap() !== null && !gapWatched) {
        gapWatched = true;
        setTimeout(() => {
          gapWatched = false;
          if (state.gap() !== null) void catchUp();
        }, gapPatienceMs);
      }
      return held;
    },

    async subscribe(after, follow) {
      if (readers.size >= maxReaders) throw new Fault('conversation_full');
      const reader: Reader = {
        filter: follow ? until(follow.intention, follow.seq) : null,
        untilMs: world.nowMs() + maxStreamMs,
        cursor: 0,
        live: false,
        seq: after,
        backlog: [bytesOf(openingFrame)],
        rereads: 0,
        end: () => undefined,
        gone: false,
      };
      readers.add(reader);
      world.onReaders(readers.size);
      const lost = (thrown: unknown): never => {
        leave(reader);
        throw thrown;
      };
      const ended = await replay(reader).catch(lost);
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            reader.end = () => {
              controller.enqueue(bytesOf(resetFrame));
              controller.close();
            };
            if (reader.gone) reader.end();
          },
          async pull(controller) {
            const { chunk, last } = ended ? { chunk: concat(reader.backlog.splice(0)), last: true } : await next(reader).catch(lost);
            if (reader.gone) return;
            if (chunk && chunk.length > 0) controller.enqueue(chunk);
            if (!last) return;
            leave(reader);
            controller.close();
          },
          cancel: () => leave(reader),
        },
        { highWaterMark: 0 },
      );
    },

    async beat() {
      const now = world.nowMs();
      for (const reader of readers) {
        // One that does not read is not woken by news.
        if (now < reader.untilMs) continue;
        leave(reader);
        reader.end();
      }
      push([{ event: null, bytes: bytesOf(heartbeatFrame) }]);
      if (readers.size > 0 && state.atWork()) await catchUp();
    },

    close() {
      for (const reader of [...readers]) {
        leave(reader);
        reader.end();
      }
      announce();
    },
  };
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

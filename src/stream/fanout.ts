// What everyone is shown, in which order, and what must be read back first. Pure state: the bytes, the readers and the database are elsewhere.

import { type IntentionStatus, isParked, isTerminal } from '../intention/intention.ts';
import type { IntentionId } from '../intention/message.ts';
import type { DeltaEvent, MessageEvent, StatusEvent, StreamEvent } from './event.ts';
import { finalStatus } from './final.ts';
import { type Held, texts } from './texts.ts';

/** What a read of the ledger brought: rows ascending, the conversation's last seq, and every status that is not terminal. */
export interface ReadBack {
  readonly rows: readonly MessageEvent[];
  readonly lastSeq: number;
  readonly open: readonly StatusEvent[];
}

export interface Fanout {
  /** Takes what was published. `show` goes to everyone in this order; `held` is the answer to the publisher. */
  publish(events: readonly StreamEvent[]): { readonly show: readonly StreamEvent[]; readonly held: readonly Held[] };
  /** Before a read of the ledger; the ticket goes with what it brings. */
  begin(): number;
  absorb(ticket: number, read: ReadBack): readonly StreamEvent[];
  /** The seq after which rows must be read back, since a later one is here and the next is not; else null. */
  gap(): number | null;
  /** The last row shown to everyone; null while nobody listens or nothing was read yet. */
  head(): number | null;
  /** Nobody listens any more: rows are not kept, and the next reader's replay says where the rows are. */
  rest(): void;
  textSoFar(): readonly DeltaEvent[];
  status(intention: IntentionId): StatusEvent | null;
  /** One for each intention that is not terminal. */
  openStatuses(): readonly StatusEvent[];
  /** Whether some intention is neither over nor waiting for the user: then rows may come that nobody published. */
  atWork(): boolean;
}

/** Rows waiting for an earlier one; beyond it they are let go, since the read brings them. */
const maxPending = 256;
/** Ended intentions are remembered so that a status which is late does not open them again. */
const maxStatuses = 1024;

export function fanout(): Fanout {
  const live = texts();
  const statuses = new Map<IntentionId, { readonly status: IntentionStatus; readonly at: number }>();
  let clock = 0;
  let head: number | null = null;
  let pending = new Map<number, MessageEvent>();
  /** Statuses that came with rows which wait: nobody hears of an end before its row. */
  let waiting: StatusEvent[] = [];
  let listening = false;

  const setStatus = (intention: IntentionId, status: IntentionStatus): readonly StreamEvent[] => {
    const known = statuses.get(intention);
    if (known?.status === status || isEnded(intention)) return [];
    clock += 1;
    statuses.delete(intention);
    statuses.set(intention, { status, at: clock });
    for (const [oldest, { status: old }] of statuses) {
      if (statuses.size <= maxStatuses) break;
      if (isTerminal(old)) statuses.delete(oldest);
    }
    if (isTerminal(status)) live.drop(intention);
    return [{ kind: 'status', data: { intention_id: intention, status } }];
  };

  const isEnded = (intention: IntentionId): boolean => {
    const known = statuses.get(intention);
    return known !== undefined && isTerminal(known.status);
  };

  const note = (row: MessageEvent): readonly StreamEvent[] => {
    live.close(row);
    const status = finalStatus(row);
    return status ? setStatus(row.intention_id, status) : [];
  };

  /** Shows the rows that follow on the head, then what waited for them. */
  const drain = (): readonly StreamEvent[] => {
    if (head === null) return [];
    const show: StreamEvent[] = [];
    for (const seq of pending.keys()) if (seq <= head) pending.delete(seq);
    for (let row = pending.get(head + 1); row; row = pending.get(head + 1)) {
      pending.delete(row.seq);
      head = row.seq;
      show.push({ kind: 'message', data: row }, ...note(row));
    }
    if (pending.size > 0) return show;
    for (const { intention_id, status } of waiting) show.push(...setStatus(intention_id, status));
    waiting = [];
    return show;
  };

  const wait = (row: MessageEvent) => {
    if (pending.size < maxPending || pending.has(row.seq)) pending.set(row.seq, row);
  };

  return {
    publish(events) {
      const show: StreamEvent[] = [];
      const held: Held[] = [];
      for (const event of events) {
        switch (event.kind) {
          case 'message':
            if (listening) {
              wait(event.data);
              show.push(...drain());
            } else note(event.data);
            break;
          case 'status':
            if (listening && (head === null || pending.size > 0)) waiting.push(event.data);
            else show.push(...setStatus(event.data.intention_id, event.data.status));
            break;
          case 'delta': {
            if (isEnded(event.data.intention_id)) break;
            const taken = live.take(event.data);
            if (taken.held) held.push(taken.held);
            if (taken.show) show.push({ kind: 'delta', data: taken.show });
            break;
          }
          case 'call':
          case 'conversation':
            show.push(event);
            break;
        }
      }
      return { show, held };
    },
    begin() {
      listening = true;
      // The read is newer than these.
      waiting = [];
      return clock;
    },
    absorb(ticket, read) {
      head ??= read.lastSeq;
      for (const row of read.rows) {
        if (row.seq > head) wait(row);
        else note(row);
      }
      const show = [...drain()];
      for (const data of read.open) {
        const known = statuses.get(data.intention_id);
        // What was published while the read was under way is newer.
        if (known && known.at > ticket) continue;
        if (pending.size > 0) waiting.push(data);
        else show.push(...setStatus(data.intention_id, data.status));
      }
      const open = new Set(read.open.map(({ intention_id }) => intention_id));
      for (const [intention, { status, at }] of statuses) {
        // It ended unheard, and its row lies in what readers replay.
        if (at <= ticket && !isTerminal(status) && !open.has(intention)) statuses.delete(intention);
      }
      return show;
    },
    gap: () => (head !== null && pending.size > 0 ? head : null),
    head: () => head,
    rest() {
      listening = false;
      head = null;
      pending = new Map();
      waiting = [];
    },
    textSoFar: () => live.soFar(),
    status(intention) {
      const known = statuses.get(intention);
      return known ? { intention_id: intention, status: known.status } : null;
    },
    openStatuses: () =>
      [...statuses].filter(([, { status }]) => !isTerminal(status)).map(([intention_id, { status }]) => ({ intention_id, status })),
    atWork: () => [...statuses.values()].some(({ status }) => !isTerminal(status) && !isParked(status)),
  };
}

// The text on its way into rows, as far as it has come: what a reader who joins in mid-answer is shown. Pure state.

import type { CallId, IntentionId } from '../intention/message.ts';
import { type DeltaEvent, type MessageEvent, maxEventContent } from './event.ts';

/** How much of a source is held, in UTF-16 units. A source that has its row, or whose attempt is over, is not answered for. */
export interface Held {
  readonly source: string;
  readonly attempt: number;
  readonly length: number;
}

export interface Texts {
  /** Takes one piece: `show` is what it adds (null: nothing), `held` what the publisher should know. */
  take(delta: DeltaEvent): { readonly show: DeltaEvent | null; readonly held: Held | null };
  /** A row ends the text of its source. */
  close(row: MessageEvent): void;
  /** The intention is over: so is all its text. */
  drop(intention: IntentionId): void;
  /** Every text so far, as one delta from 0 each. */
  soFar(): readonly DeltaEvent[];
}

/** A conversation has few texts at once; ended sources are remembered so that a late piece is not shown. */
const maxLive = 64;
const maxEnded = 1024;

/** A call's id names its source; the planner's is the step. Source: `DeltaEvent`. */
export function sourceOf(delta: {
  readonly intention_id: IntentionId;
  readonly step: number | null;
  readonly call_id: CallId | null;
}): string {
  return delta.call_id ?? `${delta.intention_id}:${delta.step}`;
}

export function texts(): Texts {
  const live = new Map<string, DeltaEvent>();
  const ended = new Set<string>();

  const end = (source: string) => {
    live.delete(source);
    ended.add(source);
    for (const oldest of ended) {
      if (ended.size <= maxEnded) break;
      ended.delete(oldest);
    }
  };
  const endPlan = (intention: IntentionId) => {
    for (const [source, delta] of live) if (delta.intention_id === intention && delta.call_id === null) end(source);
  };

  return {
    take(delta) {
      const source = sourceOf(delta);
      const known = live.get(source);
      if (ended.has(source) || (known && delta.attempt < known.attempt)) return { show: null, held: null };
      const before = known && known.attempt === delta.attempt ? known.text : '';
      const held = (length: number): Held => ({ source, attempt: delta.attempt, length });
      // A piece is missing: the publisher begins again.
      if (delta.offset > before.length) return { show: null, held: held(before.length) };

      const room = maxEventContent - delta.offset;
      const added = delta.text.slice(0, Math.max(0, room));
      const repeated = before.startsWith(added, delta.offset) || added.startsWith(before.slice(delta.offset));
      const text = repeated && before.length > delta.offset + added.length ? before : before.slice(0, delta.offset) + added;
      if (text === before && known?.attempt === delta.attempt) return { show: null, held: held(text.length) };

      live.delete(source);
      live.set(source, { ...delta, offset: 0, text });
      for (const oldest of live.keys()) {
        if (live.size <= maxLive) break;
        live.delete(oldest);
      }
      const offset = repeated ? before.length : delta.offset;
      return { show: { ...delta, offset, text: text.slice(offset) }, held: held(text.length) };
    },
    close(row) {
      if (row.type === 'reassigned' && 'from' in row.parts) endPlan(row.parts.from);
      // A query bears the id of the call it asks for, but ends the planner's text.
      if (row.type !== 'query' && row.call_id !== null) end(row.call_id);
      else if (row.step !== null) end(sourceOf({ intention_id: row.intention_id, step: row.step, call_id: null }));
    },
    drop(intention) {
      for (const [source, delta] of live) if (delta.intention_id === intention) end(source);
    },
    soFar: () => [...live.values()],
  };
}

// The text that a client of the event stream shows, as the page does: pieces as they come, replaced by their row. Pure state.

import type { z } from 'zod';
import type { rowSchema } from '../client.ts';

export type Row = Pick<z.infer<typeof rowSchema>, 'intention_id' | 'step' | 'role' | 'type' | 'call_id' | 'content'>;

export interface Delta {
  readonly intention_id: string;
  readonly step: number;
  readonly call_id: string | null;
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

export interface View {
  row(row: Row): void;
  text(delta: Delta): void;
  /** What is shown of each source: its row's content, else the text so far. */
  texts(): Readonly<Record<string, string>>;
  /** Sources whose text was shown and has no row. */
  open(): readonly string[];
  /** Texts that did not go on in their row. */
  readonly broken: readonly { readonly source: string; readonly shown: string; readonly content: string }[];
  /** How many texts were shown before their row came. */
  grown(): number;
}

/** A call's id names its source; the planner's is the step. */
export const sourceOf = (of: { readonly call_id: string | null; readonly intention_id: string; readonly step: number | null }): string =>
  of.call_id ?? `${of.intention_id}:${of.step}`;

/** Source: `showRow` and `showText` of the page. */
export function viewOf(): View {
  const shown = new Map<string, { readonly attempt: number; readonly text: string }>();
  const ended = new Map<string, string>();
  const broken: View['broken'][number][] = [];
  let grown = 0;
  const end = (source: string, content: string | null) => {
    const text = shown.get(source)?.text;
    shown.delete(source);
    if (text) grown += 1;
    if (text && content !== null && !content.startsWith(text)) broken.push({ source, shown: text, content });
    ended.set(source, content ?? '');
  };
  return {
    broken,
    grown: () => grown,
    open: () => [...shown.keys()],
    texts: () => Object.fromEntries([...ended, ...[...shown].map(([source, { text }]) => [source, text] as const)].sort()),
    row(row) {
      if (row.role === 'user' || row.type === 'reassigned') return;
      const plan = sourceOf({ ...row, call_id: null });
      if (row.type === 'query') end(plan, null);
      else if (row.call_id !== null) end(row.call_id, row.type === 'answer' ? row.content : null);
      else end(plan, row.type === null ? row.content : null);
    },
    text(delta) {
      const source = sourceOf(delta);
      if (ended.has(source)) return;
      const known = shown.get(source) ?? { attempt: 0, text: '' };
      if (delta.attempt < known.attempt) return;
      const before = delta.attempt > known.attempt ? '' : known.text;
      // What is missing comes again from its beginning.
      const text = delta.offset > before.length ? before : before.slice(0, delta.offset) + delta.text;
      shown.set(source, { attempt: delta.attempt, text });
    },
  };
}

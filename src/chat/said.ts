// Text told on a wire that cannot take anything back: what may be added to what was said. Pure state.

import type { DeltaEvent } from '../stream/event.ts';

export interface Said {
  hear(delta: DeltaEvent): void;
  /** How much was heard of the newest attempt, in UTF-16 units. */
  heard(): number;
  spoken(): boolean;
  /** What was heard and not yet said; it counts as said. Nothing once another attempt contradicts what was said. */
  speak(): string;
  /** What to add so that the row is told: the rest of it, nothing, or a blank line and the whole. */
  finish(content: string): string;
}

export function said(): Said {
  let attempt = 0;
  let text = '';
  let told = '';
  /** Only the row can tell how what was said goes on. */
  let waiting = false;
  return {
    hear(delta) {
      if (delta.attempt < attempt) return;
      if (delta.attempt > attempt) {
        attempt = delta.attempt;
        text = '';
        waiting = told !== '';
      }
      // A piece is missing; it is sent again from 0, or the row has it.
      if (delta.offset > text.length) return;
      text = text.slice(0, delta.offset) + delta.text;
      waiting ||= !text.startsWith(told) && !told.startsWith(text);
    },
    heard: () => text.length,
    spoken: () => told !== '',
    speak() {
      if (waiting || text.length <= told.length) return '';
      const more = text.slice(told.length);
      told = text;
      return more;
    },
    finish(content) {
      const before = told;
      told = content;
      if (content.startsWith(before)) return content.slice(before.length);
      return before.trim().endsWith(content.trim()) ? '' : `\n\n${content}`;
    },
  };
}

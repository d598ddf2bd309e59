// The events that everyone shares: a bounded tail with absolute positions, read by cursors. Pure data structure.

import type { StreamEvent } from './event.ts';

/** One encoded frame; a heartbeat carries no event. */
export interface Frame {
  readonly event: StreamEvent | null;
  readonly bytes: Uint8Array;
}

export interface Ring {
  /** The position after the newest frame: where a new reader stands. */
  end(): number;
  push(frame: Frame): void;
  /**
   * Frames from `cursor` on, at most `maxBytes` together but at least one if there is any; and where to go on.
   * `behind`: what the cursor points at is no longer kept.
   */
  read(cursor: number, maxBytes: number): { readonly frames: readonly Frame[]; readonly next: number } | 'behind';
  /** Forgets all frames; positions go on. */
  clear(): void;
}

/** `maxBytes` bounds the sum of the frames kept; the newest is always kept. */
export function ring(maxBytes: number): Ring {
  let frames: Frame[] = [];
  let base = 0;
  let kept = 0;
  return {
    end: () => base + frames.length,
    push(frame) {
      frames.push(frame);
      kept += frame.bytes.length;
      while (kept > maxBytes && frames.length > 1) {
        kept -= frames.shift()?.bytes.length ?? 0;
        base += 1;
      }
    },
    read(cursor, limit) {
      if (cursor < base) return 'behind';
      const found: Frame[] = [];
      let size = 0;
      for (let at = cursor - base; at < frames.length; at += 1) {
        const frame = frames[at];
        if (!frame || (found.length > 0 && size + frame.bytes.length > limit)) break;
        found.push(frame);
        size += frame.bytes.length;
      }
      return { frames: found, next: cursor + found.length };
    },
    clear() {
      base += frames.length;
      frames = [];
      kept = 0;
    },
  };
}

// Keeping a lease while work is under way, and ending the work when it must end. Effects: timers, and the renewal it is given.

import { renewEveryMs } from '../intention/limits.ts';

export type End = 'stopped' | 'lease lost' | 'deadline' | 'long enough';

/**
 * Runs `work` under a signal that aborts when `outer` does, when a renewal hits no row, or when one of `limits` (ms
 * from now) is reached; tells which. The database being away for a moment does not end the work: the fence guards it.
 */
export async function underLease<T>(
  outer: AbortSignal,
  renew: () => Promise<boolean>,
  limits: Partial<Record<'deadline' | 'long enough', number>>,
  work: (signal: AbortSignal, ended: () => End | null) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let end: End | null = null;
  const abort = (why: End) => {
    end ??= why;
    controller.abort();
  };
  const stop = () => abort('stopped');
  if (outer.aborted) stop();
  outer.addEventListener('abort', stop);
  const renewal = setInterval(() => {
    renew().then(
      (held) => {
        if (!held) abort('lease lost');
      },
      () => {},
    );
  }, renewEveryMs);
  const timers = (['deadline', 'long enough'] as const).flatMap((why) => {
    const ms = limits[why];
    return ms === undefined ? [] : [setTimeout(() => abort(why), Math.max(0, ms))];
  });
  try {
    return await work(controller.signal, () => end);
  } finally {
    clearInterval(renewal);
    for (const timer of timers) clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}

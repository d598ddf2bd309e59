// An end to waiting that leaves no timer behind: one that is pending keeps a Durable Object in memory, and billed. Effects: timers.

export interface TimeLimit {
  /** Aborts when time is up, or when `outer` does. */
  readonly signal: AbortSignal;
  readonly expired: () => boolean;
  /** The waiting is over. Idempotent. */
  readonly clear: () => void;
}

export function timeLimit(ms: number, outer?: AbortSignal | null): TimeLimit {
  const late = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    late.abort(new DOMException('it took too long', 'TimeoutError'));
  }, ms);
  const clear = () => clearTimeout(timer);
  outer?.addEventListener('abort', clear, { once: true });
  return { signal: outer ? AbortSignal.any([outer, late.signal]) : late.signal, expired: () => expired, clear };
}

/** `work` under a limit that ends with it. */
export async function within<T>(ms: number, outer: AbortSignal | null, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = timeLimit(ms, outer);
  try {
    return await work(limit.signal);
  } finally {
    limit.clear();
  }
}

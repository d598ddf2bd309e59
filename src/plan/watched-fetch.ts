// A fetch that gives up on a server that is silent, endless, or no model at all. Effects: network.

import { Fault } from '../fault.ts';

export interface Watch {
  /** From the request until the first byte of the body, in milliseconds. */
  readonly firstByteMs: number;
  /** Between two pieces of the body, in milliseconds: comments and hidden reasoning count as life. */
  readonly idleMs: number;
  /** Of the whole response. */
  readonly maxBytes: number;
}

export interface WatchedFetch {
  readonly fetch: typeof fetch;
  /** Why the watch ended the response, whatever error its reader saw; null when it did not. */
  readonly fault: () => Fault | null;
  /** Ends the watch. */
  readonly end: () => void;
}

/** For one request. `edit` changes its body before it leaves. */
export function watchedFetch({ firstByteMs, idleMs, maxBytes }: Watch, edit: (body: string) => string): WatchedFetch {
  const abort = new AbortController();
  let fault: Fault | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const give = (up: Fault) => {
    fault ??= up;
    abort.abort(fault);
  };
  const rest = () => {
    if (timer !== undefined) clearTimeout(timer);
  };
  const expect = (withinMs: number, why: string) => {
    rest();
    timer = setTimeout(() => give(new Fault('model_down', { notes: { why, withinMs } })), withinMs);
  };
  return {
    fault: () => fault,
    end: rest,
    fetch: async (input, init) => {
      expect(firstByteMs, 'no first byte');
      const signal = init?.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal;
      const body = typeof init?.body === 'string' ? { body: edit(init.body) } : {};
      const response = await fetch(input, { ...init, ...body, signal });
      if (response.ok && response.headers.get('content-type')?.includes('text/html')) {
        // A login page or a wrong base URL: no use in trying again.
        give(new Fault('model_refused', { notes: { why: 'HTML instead of a stream', status: response.status } }));
      }
      let bytes = 0;
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => {
          const fail = () => controller.error(signal.reason);
          signal.addEventListener('abort', fail, { once: true });
          if (signal.aborted) fail();
        },
        transform: (piece, controller) => {
          expect(idleMs, 'stalled');
          bytes += piece.byteLength;
          if (bytes > maxBytes) give(new Fault('model_down', { notes: { why: 'too long', maxBytes } }));
          else controller.enqueue(piece);
        },
      });
      const { status, statusText, headers } = response;
      return new Response(response.body?.pipeThrough(counted) ?? null, { status, statusText, headers });
    },
  };
}

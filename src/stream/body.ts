// Text frames as the body of a streaming response. Effects: a timer while the reader waits.

import { heartbeatFrame } from './sse.ts';

/** Silence after which a comment is sent: it keeps proxies patient, and a dead reader shows by the second write. */
const heartbeatMs = 15_000;

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Pulls a frame only when the reader wants one. A reader that leaves ends the frames; an error of the frames breaks the body. */
export function toBody(frames: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<string>> | null = null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= iterator.next();
        const silence = pause(heartbeatMs);
        const result = await Promise.race([next, silence.over]).finally(silence.cancel);
        if (result === null) return controller.enqueue(encoder.encode(heartbeatFrame));
        next = null;
        if (result.done) controller.close();
        else controller.enqueue(encoder.encode(result.value));
      },
      // Not awaited: a generator in mid-read answers only after its next event.
      cancel: () => void iterator.return?.().catch(() => undefined),
    },
    { highWaterMark: 0 },
  );
}

function pause(ms: number): { readonly over: Promise<null>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  return { over: promise, cancel: () => clearTimeout(timer) };
}

// Our own event stream read back into events, for adapters that speak another wire. Pure but for the stream it reads.

import type { StreamEvent } from './event.ts';

/**
 * Events in the order of their frames; comments and `retry` are skipped. Ends with the bytes, or at a `reset`.
 * The bytes are those of `encode` (sse.ts) and come from our own object, so the JSON is taken as it is.
 * Leaving the loop early cancels the stream. Rejects when the stream breaks.
 */
export async function* decode(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const kind = /^event: (.*)$/m.exec(frame)?.[1];
        if (kind === 'reset') return;
        const event = read(kind, /^data: (.*)$/m.exec(frame)?.[1] ?? '{}');
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function read(kind: string | undefined, json: string): StreamEvent | null {
  switch (kind) {
    case 'message':
      return { kind, data: JSON.parse(json) };
    case 'delta':
      return { kind, data: JSON.parse(json) };
    case 'status':
      return { kind, data: JSON.parse(json) };
    case 'call':
      return { kind, data: JSON.parse(json) };
    case 'conversation':
      return { kind, data: JSON.parse(json) };
    default:
      return null;
  }
}

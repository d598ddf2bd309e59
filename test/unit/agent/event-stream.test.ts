// What is read from a stream of events, however its bytes are cut and framed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventReader, mendEvents } from '../../../src/agent/event-stream.ts';

function read(...pieces: readonly string[]) {
  const events = eventReader();
  return [...pieces.flatMap((piece) => events.read(piece, false)), ...events.read('', true)];
}

/** A source that gives these bytes in pieces of these sizes, the rest at once; then breaks off where there is an error. */
function source(bytes: Uint8Array, sizes: readonly number[], error?: Error): ReadableStream<Uint8Array> {
  let at = 0;
  let place = 0;
  return new ReadableStream({
    pull(controller) {
      if (at === bytes.length) return error ? controller.error(error) : controller.close();
      const size = Math.min(sizes[place++] ?? bytes.length, bytes.length - at);
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

const wire = '\ufeffevent: a\r\ndata: {"text":"上海🌧"}\r\n\r\n: comment\n\rdata:\x1e[1,\rdata: 2]\r\rdata: {"last":true}';
const plain = 'event: a\ndata: {"text":"上海🌧"}\n\ndata: [1,2]\n\ndata: {"last":true}\n\n';

describe('a stream of events', () => {
  it('is the same however it is cut', async () => {
    const bytes = new TextEncoder().encode(wire);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: bytes.length }), async (sizes) => {
        const mended = mendEvents(source(bytes, sizes), (data) => data.replaceAll('\n', ''));
        expect(await new Response(mended).text()).toBe(plain);
      }),
    );
  });

  it('is heard as it comes, before it ends', async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const reader = mendEvents(readable, (data) => data).getReader();
    const sent = writer.write(new TextEncoder().encode('data: {}\n\ndata: {"half'));
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: {}\n\n');
    await sent;
    await reader.cancel();
    await expect(writer.write(new Uint8Array(1))).rejects.toBe(undefined);
  });

  it('breaks off as its source does', async () => {
    const error = new Error('gone');
    const mended = mendEvents(source(new TextEncoder().encode('data: {}\n\n'), [], error), (data) => data);
    await expect(new Response(mended).text()).rejects.toBe(error);
  });

  it('lets its source go when an event cannot be read', async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const error = new Error('unreadable');
    const mended = mendEvents(readable, () => {
      throw error;
    });
    const [text] = await Promise.allSettled([new Response(mended).text(), writer.write(new TextEncoder().encode('data: {}\n\n'))]);
    expect(text).toEqual({ status: 'rejected', reason: error });
    await expect(writer.closed).rejects.toBe(error);
  });

  it('is read without what is no event', () => {
    expect(read('data\n\nid: 1\n\ndata:\n\n\n\nnonsense\n\n')).toEqual([]);
    expect(read('data: a\ndata: b\n', '\nevent: x\nid: 2\ndata:c')).toEqual([
      { name: '', data: 'a\nb' },
      { name: 'x', data: 'c' },
    ]);
  });
});

// Reads a stream of events byte by byte as it comes, and hands each on in its plainest form. Pure.

/** UTF-16 units of one event: what the SDK takes. */
const maxEvent = 4 * 1_048_576;

/**
 * The same events, `data` mended, comments and ids left out. Tolerated beyond WHATWG HTML §9.2.6: stray control characters
 * and byte order marks before a line or its data, and a line of JSON without a field name. `mend` returns null for what is
 * no event. The stream rejects as its source does, or with what `mend` throws, or when one event is too large.
 */
export function mendEvents(source: ReadableStream<Uint8Array>, mend: (data: string) => string | null): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const events = eventReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          // A pull that brings nothing is not repeated by itself.
          while (true) {
            const { done, value } = await reader.read();
            const text = value ? decoder.decode(value, { stream: true }) : decoder.decode();
            const mended = events.read(text, done).flatMap(({ name, data }) => {
              const said = mend(data);
              return said === null ? [] : [`${name === '' ? '' : `event: ${name}\n`}data: ${said}\n\n`];
            });
            if (mended.length > 0) controller.enqueue(encoder.encode(mended.join('')));
            if (done) return controller.close();
            if (mended.length > 0) return;
          }
        } catch (thrown) {
          // What fails here leaves the source open.
          await reader.cancel(thrown).catch(() => undefined);
          throw thrown;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

interface WireEvent {
  readonly name: string;
  readonly data: string;
}

/** Takes text in any pieces; gives the events that each piece completes. What is left at the end counts as complete. */
export function eventReader(): { read(text: string, last: boolean): readonly WireEvent[] } {
  let rest = '';
  let name = '';
  let data: string[] = [];
  let size = 0;

  const take = (): readonly WireEvent[] => {
    const event = { name, data: data.join('\n') };
    name = '';
    data = [];
    size = 0;
    return event.data === '' ? [] : [event];
  };

  const takeLine = (wire: string): readonly WireEvent[] => {
    const line = withoutStray(wire);
    if (line === '') return take();
    if (line.startsWith('{')) return [...take(), { name: '', data: line }];
    const [, field = '', value = ''] = /^([a-z]+):? ?(.*)$/su.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'data') {
      data.push(withoutStray(value));
      size += value.length;
    }
    return [];
  };

  return {
    read(text, last) {
      rest += text;
      if (rest.length + size > maxEvent && !/[\r\n]/.test(text)) throw new Error('one event of the stream is too large');
      if (!last && !/[\r\n]/.test(text)) return [];
      // A carriage return at the end may be half of a line's end.
      const held = !last && rest.endsWith('\r') ? '\r' : '';
      const lines = rest.slice(0, rest.length - held.length).split(/\r\n|\n|\r/);
      rest = last ? '' : `${lines.pop() ?? ''}${held}`;
      const events = lines.flatMap(takeLine);
      if (rest.length + size > maxEvent) throw new Error('one event of the stream is too large');
      return last ? [...events, ...take()] : events;
    },
  };
}

function withoutStray(text: string): string {
  return text.replace(/^[\p{Cc}\ufeff]+/u, '');
}

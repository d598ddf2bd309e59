import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../../src/fault.ts';
import { decode } from '../../../src/stream/decode.ts';
import type { StreamEvent } from '../../../src/stream/event.ts';
import { encode, heartbeatFrame, openingFrame, parseLastEventId, resetFrame } from '../../../src/stream/sse.ts';
import { collect, delta, message, status } from './events.ts';

const awkward = 'a\r\nb\u2028c\n\ndata: x\n\nid: 9\u0000"\\\ud83d';

describe('encode', () => {
  test('a row has its seq as id, one line of data, and LF only', () => {
    const frame = encode(message(42, { content: awkward }));
    expect(frame).toMatch(/^id: 42\nevent: message\ndata: [^\r\n]+\n\n$/);
  });

  test('an ephemeral event has no id', () => {
    expect(encode(status('i1', 'planning'))).toBe('event: status\ndata: {"intention_id":"i1","status":"planning"}\n\n');
    expect(encode(delta(0, 'x'))).not.toContain('id: ');
  });

  test('another parser reads every frame as it was meant', () => {
    const seen: EventSourceMessage[] = [];
    let retry = 0;
    const parser = createParser({ onEvent: (event) => seen.push(event), onRetry: (ms) => (retry = ms) });
    parser.feed(
      openingFrame + heartbeatFrame + encode(message(7, { content: awkward })) + heartbeatFrame + encode(delta(3, awkward)) + resetFrame,
    );
    expect(retry).toBe(1000);
    expect(seen.map(({ id, event }) => [id, event])).toEqual([
      ['7', 'message'],
      [undefined, 'delta'],
      [undefined, 'reset'],
    ]);
    expect(JSON.parse(seen[0]?.data ?? '')).toMatchObject({ seq: 7, content: awkward });
    expect(JSON.parse(seen[1]?.data ?? '')).toMatchObject({ offset: 3, text: awkward });
  });
});

describe('Last-Event-ID', () => {
  test('nothing is the beginning', () => {
    expect([parseLastEventId(null), parseLastEventId(undefined), parseLastEventId('')]).toEqual([0, 0, 0]);
  });

  test('a canonical integer is taken', () => {
    expect([parseLastEventId('0'), parseLastEventId('42'), parseLastEventId('9007199254740991')]).toEqual([0, 42, Number.MAX_SAFE_INTEGER]);
  });

  test.each(['-1', '+1', '01', '1.0', '1e3', ' 1', '1 ', 'abc', '0x1', '١', '9007199254740992', '99999999999999999'])(
    '%j is refused',
    (text) => {
      expect(() => parseLastEventId(text)).toThrow(Fault);
    },
  );
});

describe('decode', () => {
  const events = [message(1, { content: '天气如何 😀' }), delta(0, '上海'), status('i1', 'calling')];

  test('bytes cut anywhere, even inside a character, give the events', async () => {
    const bytes = new TextEncoder().encode(openingFrame + events.map(encode).join(heartbeatFrame));
    for (const size of [1, 2, 3, 7, 1000]) {
      const cut: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size) cut.push(bytes.slice(at, at + size));
      expect(await collect(decode(ReadableStream.from(cut)))).toEqual(events);
    }
  });

  test('a reset ends it, and leaving early cancels the stream', async () => {
    const text = encode(status('i1', 'planning')) + resetFrame + encode(status('i1', 'calling'));
    expect(await collect(decode(ReadableStream.from([new TextEncoder().encode(text)])))).toHaveLength(1);
    const canceled = Promise.withResolvers<string>();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(encode(status('i1', 'planning')))),
      cancel: () => canceled.resolve('canceled'),
    });
    const first: StreamEvent[] = [];
    for await (const event of decode(endless)) {
      first.push(event);
      break;
    }
    expect(first).toHaveLength(1);
    expect(await canceled.promise).toBe('canceled');
  });
});

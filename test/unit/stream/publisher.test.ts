import { expect, test } from 'vitest';
import { type DeltaEvent, maxEventContent, type StreamEvent } from '../../../src/stream/event.ts';
import { type Fanout, fanout } from '../../../src/stream/fanout.ts';
import { type Listener, publisher } from '../../../src/stream/publisher.ts';
import { conversation, delta, message, piece, report, status } from './events.ts';

const { offset: _offset, text: _text, ...source } = piece(0, '');

/** A Conversation object that keeps what it is told, and can lose its memory or its connection. */
function object() {
  let state: Fanout = fanout();
  const batches: StreamEvent[][] = [];
  let failures = 0;
  let closed = 0;
  const listener: Listener = {
    async publish(_, batch) {
      if (failures > 0) {
        failures -= 1;
        throw new Error('Network connection lost');
      }
      batches.push([...batch]);
      return state.publish(batch).held;
    },
    async close() {
      closed += 1;
    },
  };
  return {
    listener,
    batches,
    text: () => state.textSoFar().map(({ text }) => text),
    closed: () => closed,
    lose: () => {
      state = fanout();
    },
    fail: (times: number) => {
      failures = times;
    },
  };
}

function publishing(to: ReturnType<typeof object>) {
  const logged: string[] = [];
  return {
    stream: publisher(
      () => to.listener,
      (event) => logged.push(event),
    ),
    logged,
  };
}

const tokens = async (relay: { append(text: string): void }, count: number) => {
  for (let index = 0; index < count; index += 1) {
    relay.append(`${index} `);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};
const wholeOf = (count: number) => Array.from({ length: count }, (_, index) => `${index} `).join('');

test('events of one tick go together and in order', async () => {
  const to = object();
  const { stream } = publishing(to);
  stream.publish(conversation, [message(1)]);
  stream.publish(conversation, [message(2), status('i1', 'planning')]);
  await stream.settled();
  expect(to.batches).toEqual([[message(1), message(2), status('i1', 'planning')]]);
});

test('text arrives whole in few pieces, and before the row that is published after its end', async () => {
  const to = object();
  const { stream } = publishing(to);
  const relay = stream.relay(conversation, source);
  await tokens(relay, 60);
  relay.end();
  stream.publish(conversation, [status('i1', 'calling')]);
  await stream.settled();
  const events = to.batches.flat();
  expect(to.text()).toEqual([wholeOf(60)]);
  expect(events.at(-1)).toEqual(status('i1', 'calling'));
  expect(events.length).toBeLessThan(30);
});

test('text that the object lost is sent again from its beginning', async () => {
  const to = object();
  const { stream } = publishing(to);
  const relay = stream.relay(conversation, source);
  await tokens(relay, 30);
  to.lose();
  await tokens(relay, 30);
  await stream.settled();
  expect(to.text()).toEqual([wholeOf(30) + wholeOf(30)]);
  relay.end();
  await stream.settled();
});

test('a failed call is made once more; what fails twice is given up and logged, and the rest goes on', async () => {
  const to = object();
  const { stream, logged } = publishing(to);
  to.fail(1);
  stream.publish(conversation, [message(1)]);
  await stream.settled();
  expect(to.batches).toEqual([[message(1)]]);
  to.fail(2);
  stream.publish(conversation, [message(2)]);
  await stream.settled();
  stream.publish(conversation, [message(3)]);
  await stream.settled();
  expect(to.batches).toEqual([[message(1)], [message(3)]]);
  expect(logged).toEqual(['stream.publish_failed']);
});

test('an object that cannot even be named rejects nothing', async () => {
  const logged: string[] = [];
  const stream = publisher(
    () => {
      throw new Error('no such namespace');
    },
    (event) => logged.push(event),
  );
  stream.publish(conversation, [message(1)]);
  stream.close(conversation);
  await stream.settled();
  expect(logged).toEqual(['stream.publish_failed', 'stream.close_failed']);
});

test('a surrogate pair is never cut, whatever the pieces', async () => {
  const to = object();
  const { stream } = publishing(to);
  const relay = stream.relay(conversation, source);
  relay.append('a\ud83d');
  await new Promise((resolve) => setTimeout(resolve, 30));
  relay.append('\ude00b');
  relay.end();
  await stream.settled();
  expect(to.batches.flat().map(({ data }) => data)).toEqual([piece(0, 'a'), piece(1, '😀b')]);
});

test('text beyond what its row may be on the wire is not sent', async () => {
  const to = object();
  const { stream } = publishing(to);
  const relay = stream.relay(conversation, source);
  relay.append('x'.repeat(maxEventContent + 5));
  relay.append('y');
  relay.end();
  await stream.settled();
  expect(to.text()).toEqual(['x'.repeat(maxEventContent)]);
});

test('a text whose row came first stops quietly', async () => {
  const to = object();
  const { stream } = publishing(to);
  const relay = stream.relay(conversation, source);
  relay.append('half');
  stream.publish(conversation, [report(1, 'whole', 1)]);
  await stream.settled();
  relay.append(' more');
  relay.end();
  await stream.settled();
  expect(to.text()).toEqual([]);
});

test('a conversation is let go after what was published before', async () => {
  const to = object();
  const { stream } = publishing(to);
  stream.publish(conversation, [delta(0, 'x')]);
  stream.close(conversation);
  await stream.settled();
  expect([to.batches.length, to.closed()]).toEqual([1, 1]);
});

test('two sources keep apart', async () => {
  const to = object();
  const { stream } = publishing(to);
  const other: Omit<DeltaEvent, 'offset' | 'text'> = { ...source, step: 2 };
  const relays = [stream.relay(conversation, source), stream.relay(conversation, other)];
  for (const relay of relays) relay.append('a');
  for (const relay of relays) relay.append('b');
  for (const relay of relays) relay.end();
  await stream.settled();
  expect(to.text()).toEqual(['ab', 'ab']);
});

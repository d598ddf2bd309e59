import { expect, test } from 'vitest';
import { intentionId } from '../../../src/intention/message.ts';
import type { StreamEvent } from '../../../src/stream/event.ts';
import { encode } from '../../../src/stream/sse.ts';
import { subscriptions } from '../../../src/stream/subscribe.ts';
import { collect, conversation, delta, message, query, report, status } from './events.ts';

/** A Conversation object that answers each connection with the next of these; `cut` breaks off after them. */
function object(connections: readonly (readonly StreamEvent[] | { readonly cut: readonly StreamEvent[] } | number)[]) {
  const asked: string[] = [];
  const heard = subscriptions(() => ({
    async fetch(url) {
      const connection = connections[asked.length] ?? 404;
      asked.push(new URL(url).search);
      if (typeof connection === 'number') return new Response('{}', { status: connection });
      const cut = 'cut' in connection;
      const waiting = [...(cut ? connection.cut : connection)];
      return new Response(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            const event = waiting.shift();
            if (event) controller.enqueue(new TextEncoder().encode(encode(event)));
            else if (cut) controller.error(new Error('Network connection lost'));
            else controller.close();
          },
        }),
      );
    },
  }));
  return { asked, events: (forMs: number) => heard.events(conversation, 3, intentionId('i1'), forMs), watch: heard.watch };
}

test('a connection that ends or breaks is followed by another from the last row on', async () => {
  const done = [report(6, 'done'), status('i1', 'answered')];
  const to = object([[message(4), delta(0, 'x')], { cut: [query(5, 'k1', 'q')] }, [...done, message(7)]]);
  expect(await collect(to.events(5_000))).toEqual([message(4), delta(0, 'x'), query(5, 'k1', 'q'), ...done]);
  expect(to.asked).toEqual([3, 4, 5].map((after) => `?after=${after}&intention=i1&message=4`));
});

test('a message that moved is followed over connections', async () => {
  const moved = message(5, { role: 'agent', type: 'reassigned', intention_id: 'i2', parts: { seq: 4, from: intentionId('i1') } });
  const to = object([[message(4), moved], [status('i2', 'answered')]]);
  expect(await collect(to.events(5_000))).toEqual([message(4), moved, status('i2', 'answered')]);
  expect(to.asked[1]).toBe('?after=5&intention=i2&message=4');
});

test('it ends with the final row even if the connection breaks before its status', async () => {
  const to = object([{ cut: [report(4, 'done')] }]);
  expect(await collect(to.events(5_000))).toEqual([report(4, 'done')]);
});

test('it ends when its time is up, whatever the object does', async () => {
  expect(await collect(object([503]).events(20))).toEqual([]);
  const silent = subscriptions(() => ({ fetch: async () => new Response(new ReadableStream<Uint8Array>()) }));
  expect(await collect(silent.events(conversation, 0, intentionId('i1'), 20))).toEqual([]);
});

test('a refusal is not asked again', async () => {
  const to = object([404, [message(4)]]);
  expect(await collect(to.events(5_000))).toEqual([]);
  expect(to.asked).toHaveLength(1);
});

test('bytes for a client are passed on as they are', async () => {
  const to = object([[message(1)]]);
  expect(await (await to.watch(conversation, 0, null)).text()).toBe(encode(message(1)));
  expect(to.asked).toEqual(['?after=0']);
});

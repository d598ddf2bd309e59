import { expect, test } from 'vitest';
import { toBody } from '../../../src/stream/body.ts';

async function* frames(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

test('frames become bytes in their order', async () => {
  expect(await new Response(toBody(frames('data: 上海\n\n', 'data: 2\n\n'))).text()).toBe('data: 上海\n\ndata: 2\n\n');
});

test('a reader that leaves ends the frames, and nothing is taken that it did not ask for', async () => {
  let taken = 0;
  const ended = Promise.withResolvers<number>();
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        taken += 1;
        yield 'x';
      }
    } finally {
      ended.resolve(taken);
    }
  }
  const reader = toBody(endless()).getReader();
  expect(taken).toBe(0);
  await reader.read();
  await reader.cancel();
  expect(await ended.promise).toBe(1);
});

test('frames that break off break the body', async () => {
  async function* broken(): AsyncGenerator<string> {
    yield 'x';
    throw new Error('gone');
  }
  await expect(new Response(toBody(broken())).text()).rejects.toThrow('gone');
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutThinking } from '../../../src/plan/thinking.ts';

/** The text in pieces of `size` through the filter. */
function filtered(text: string, size: number): string {
  const thinking = withoutThinking();
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  return pieces.map((piece) => thinking.take(piece)).join('') + thinking.rest();
}

test.each([
  ['<think>hm, Shanghai</think>\n\nIt is hot.', 'It is hot.'],
  ['\n<think>\n</think>It is hot.', 'It is hot.'],
  ['It is hot.', 'It is hot.'],
  ['<thin ice', '<thin ice'],
  ['<', '<'],
  ['<think>never ends', ''],
  ['Use <think> as a tag.', 'Use <think> as a tag.'],
])('%j is told as %j, however it is cut', (text, told) => {
  for (let size = 1; size <= text.length; size += 1) expect(filtered(text, size)).toBe(told);
});

test('text without thinking passes unchanged', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes('<think>')),
      fc.integer({ min: 1, max: 9 }),
      (text, size) => {
        expect(filtered(text, size)).toBe(text);
      },
    ),
  );
});

import { expect, test } from 'vitest';
import { type Frame, ring } from '../../../src/stream/ring.ts';

const frame = (text: string): Frame => ({ event: null, bytes: new TextEncoder().encode(text) });
const texts = (read: ReturnType<ReturnType<typeof ring>['read']>) =>
  read === 'behind' ? read : { texts: read.frames.map(({ bytes }) => new TextDecoder().decode(bytes)), next: read.next };

test('a cursor reads what came after it, up to the limit, at least one frame', () => {
  const shared = ring(100);
  for (const text of ['aa', 'bb', 'cccccc']) shared.push(frame(text));
  expect(texts(shared.read(0, 5))).toEqual({ texts: ['aa', 'bb'], next: 2 });
  expect(texts(shared.read(2, 5))).toEqual({ texts: ['cccccc'], next: 3 });
  expect(texts(shared.read(3, 5))).toEqual({ texts: [], next: 3 });
});

test('beyond its cap the oldest go, and their readers learn that they are behind', () => {
  const shared = ring(5);
  for (const text of ['aa', 'bb', 'cc']) shared.push(frame(text));
  expect(shared.read(0, 100)).toBe('behind');
  expect(texts(shared.read(1, 100))).toEqual({ texts: ['bb', 'cc'], next: 3 });
});

test('a frame above the cap is still kept while it is the newest', () => {
  const shared = ring(5);
  shared.push(frame('aa'));
  shared.push(frame('bbbbbbbbbb'));
  expect(texts(shared.read(1, 1))).toEqual({ texts: ['bbbbbbbbbb'], next: 2 });
});

test('positions go on after a clear', () => {
  const shared = ring(100);
  shared.push(frame('aa'));
  shared.clear();
  expect(shared.end()).toBe(1);
  expect(shared.read(0, 100)).toBe('behind');
  shared.push(frame('bb'));
  expect(texts(shared.read(1, 100))).toEqual({ texts: ['bb'], next: 2 });
});

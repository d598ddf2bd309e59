import { expect, test } from 'vitest';
import { intentionId } from '../../../src/intention/message.ts';
import type { StreamEvent } from '../../../src/stream/event.ts';
import { until } from '../../../src/stream/until.ts';
import { message, query, reply, report, status } from './events.ts';

const follow = (seq: number, ...events: StreamEvent[]) => {
  const follower = until(intentionId('i1'), seq);
  return events.map((event) => follower.take(event));
};

test('shows what belongs to the message and ends with its intention', () => {
  expect(
    follow(
      1,
      message(1),
      message(2, { intention_id: 'i2' }),
      status('i2', 'answered'),
      query(3, 'k1', 'q'),
      reply(4, 'k1', 'a'),
      report(5, 'done'),
      status('i1', 'answered'),
    ),
  ).toEqual(['show', 'hide', 'hide', 'show', 'show', 'show', 'last']);
});

test('a question from before the message does not end it; one after it does', () => {
  expect(
    follow(
      4,
      status('i1', 'input_required'),
      message(4),
      status('i1', 'planning'),
      reply(5, 'k2', 'where?', { type: 'input_required' }),
      status('i1', 'input_required'),
    ),
  ).toEqual(['show', 'show', 'show', 'show', 'last']);
});

test('follows a message that moves to another intention', () => {
  const from = intentionId('i1');
  expect(
    follow(
      4,
      message(4),
      message(5, { role: 'agent', type: 'reassigned', intention_id: 'i2', parts: { seq: 4, from } }),
      status('i1', 'input_required'),
      status('i2', 'planning'),
      message(6, { intention_id: 'i2', role: 'assistant' }),
      status('i2', 'answered'),
    ),
  ).toEqual(['show', 'show', 'hide', 'show', 'show', 'last']);
});

test('another message that moves is not followed', () => {
  const from = intentionId('i1');
  expect(follow(4, message(6, { role: 'agent', type: 'reassigned', intention_id: 'i2', parts: { seq: 5, from } }))).toEqual(['hide']);
});

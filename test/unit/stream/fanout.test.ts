import { describe, expect, test } from 'vitest';
import { maxEventContent, type StatusEvent, type StreamEvent } from '../../../src/stream/event.ts';
import { type Fanout, fanout } from '../../../src/stream/fanout.ts';
import { delta, message, piece, query, reply, report, row, status } from './events.ts';

/** A fanout that somebody listens to, with rows up to `head` replayed. */
function listening(head: number, open: readonly StreamEvent[] = []): Fanout {
  const state = fanout();
  state.absorb(state.begin(), { rows: [], lastSeq: head, open: open.map(statusOf) });
  return state;
}

const statusOf = (event: StreamEvent): StatusEvent => {
  if (event.kind !== 'status') throw new Error('not a status');
  return event.data;
};
/** What is shown, in short. */
function short(event: StreamEvent): number | string {
  switch (event.kind) {
    case 'message':
      return event.data.seq;
    case 'delta':
      return `${event.data.offset}:${event.data.text}`;
    case 'status':
      return event.data.status;
    case 'call':
      return event.data.call_id;
    case 'conversation':
      return event.data.title;
  }
}
const shown = (events: readonly StreamEvent[]) => events.map(short);
const publish = (state: Fanout, ...events: StreamEvent[]) => shown(state.publish(events).show);
const heldAfter = (state: Fanout, ...events: StreamEvent[]) => state.publish(events).held.map(({ length }) => length);

describe('rows', () => {
  test('are shown once each and in order, however they come', () => {
    const state = listening(0);
    expect(publish(state, message(1), message(1))).toEqual([1]);
    expect(publish(state, message(4), message(3))).toEqual([]);
    expect(state.gap()).toBe(1);
    expect(publish(state, message(2))).toEqual([2, 3, 4]);
    expect(state.gap()).toBeNull();
    expect(publish(state, message(2), message(4))).toEqual([]);
  });

  test('a gap is filled by what is read back', () => {
    const state = listening(3);
    expect(publish(state, message(6), status('i1', 'calling'))).toEqual([]);
    expect(state.gap()).toBe(3);
    const ticket = state.begin();
    const read = { rows: [row(4), row(5), row(6)], lastSeq: 6, open: [statusOf(status('i1', 'calling'))] };
    expect(shown(state.absorb(ticket, read))).toEqual([4, 5, 6, 'calling']);
    expect(state.gap()).toBeNull();
  });

  test('before the first read they wait, and those that the read replays are not shown again', () => {
    const state = fanout();
    const ticket = state.begin();
    expect(publish(state, message(5), message(6), status('i1', 'planning'))).toEqual([]);
    expect(shown(state.absorb(ticket, { rows: [row(4), row(5)], lastSeq: 5, open: [] }))).toEqual([6, 'planning']);
    expect(state.head()).toBe(6);
  });

  test('are not kept while nobody listens; the next reader replays them', () => {
    const state = listening(3);
    state.rest();
    expect(publish(state, message(4), message(9))).toEqual([]);
    expect([state.head(), state.gap()]).toEqual([null, null]);
    expect(shown(state.absorb(state.begin(), { rows: [row(9)], lastSeq: 9, open: [] }))).toEqual([]);
    expect(publish(state, message(10))).toEqual([10]);
  });
});

describe('statuses', () => {
  test('wait for the rows they came with', () => {
    const state = listening(1);
    expect(publish(state, message(3), status('i1', 'input_required'))).toEqual([]);
    expect(publish(state, message(2))).toEqual([2, 3, 'input_required']);
  });

  test('are shown when they change, and a final row says its own', () => {
    const state = listening(1, [status('i1', 'planning')]);
    expect(publish(state, status('i1', 'planning'), status('i1', 'calling'))).toEqual(['calling']);
    expect(publish(state, report(2, 'done'), status('i1', 'answered'))).toEqual([2, 'answered']);
    expect(publish(state, status('i1', 'calling'))).toEqual([]);
  });

  test.each([
    [{ type: 'canceled' }, 'canceled'],
    [{ type: 'expired' }, 'expired'],
    [{ type: 'error', role: 'assistant' }, 'failed'],
  ] as const)('a row %o ends its intention as %s', (fields, ended) => {
    const state = listening(1, [status('i1', 'calling')]);
    expect(publish(state, message(2, fields))).toEqual([2, ended]);
    expect(state.atWork()).toBe(false);
  });

  test('an agent that fails ends nothing', () => {
    const state = listening(1, [status('i1', 'calling')]);
    expect(publish(state, reply(2, 'k1', 'down', { type: 'error' }))).toEqual([2]);
    expect(state.atWork()).toBe(true);
  });

  test('published during a read are newer than what it brings', () => {
    const state = listening(1, [status('i1', 'planning')]);
    const ticket = state.begin();
    expect(publish(state, report(2, 'done'))).toEqual([2, 'answered']);
    expect(shown(state.absorb(ticket, { rows: [], lastSeq: 1, open: [statusOf(status('i1', 'planning'))] }))).toEqual([]);
    expect(state.openStatuses()).toEqual([]);
  });

  test('an intention is at work until it is over or waits for the user', () => {
    const state = listening(1);
    expect(state.atWork()).toBe(false);
    publish(state, status('i1', 'planning'), status('i2', 'queued'));
    expect(state.atWork()).toBe(true);
    publish(state, status('i1', 'input_required'), status('i2', 'canceled'));
    expect(state.atWork()).toBe(false);
    expect(state.openStatuses()).toEqual([{ intention_id: 'i1', status: 'input_required' }]);
  });

  test('one that ended while nobody listened is not at work for ever', () => {
    const state = listening(1, [status('i1', 'planning')]);
    state.rest();
    state.absorb(state.begin(), { rows: [], lastSeq: 5, open: [] });
    expect(state.atWork()).toBe(false);
  });
});

describe('text', () => {
  test('grows piece by piece; the publisher hears how much is held', () => {
    const state = listening(1);
    expect(publish(state, delta(0, '上海'), delta(2, '很热'))).toEqual(['0:上海', '2:很热']);
    expect(state.textSoFar()).toEqual([piece(0, '上海很热')]);
    expect(heldAfter(state, delta(4, '😀'))).toEqual([6]);
  });

  test('a piece with one missing before it is not shown, and the answer tells where to go on', () => {
    const state = listening(1);
    expect(state.publish([delta(5, 'later')])).toEqual({ show: [], held: [{ source: 'i1:1', attempt: 1, length: 0 }] });
    expect(publish(state, delta(0, 'soon later'))).toEqual(['0:soon later']);
  });

  test('sent again, only what is new is shown', () => {
    const state = listening(1);
    publish(state, delta(0, 'abc'));
    expect(publish(state, delta(0, 'abc'), delta(0, 'ab'), delta(1, 'bcd'))).toEqual(['3:d']);
    expect(publish(state, delta(0, 'abcdef'))).toEqual(['4:ef']);
  });

  test('another text at the same place replaces what was there', () => {
    const state = listening(1);
    publish(state, delta(0, 'abc'));
    expect(publish(state, delta(0, 'xy'))).toEqual(['0:xy']);
    expect(state.textSoFar()).toEqual([piece(0, 'xy')]);
  });

  test('a lower attempt is dropped, a higher one replaces', () => {
    const state = listening(1);
    publish(state, delta(0, 'second', { attempt: 2 }));
    expect(publish(state, delta(0, 'first', { attempt: 1 }))).toEqual([]);
    expect(heldAfter(state, delta(5, '!', { attempt: 1 }))).toEqual([]);
    expect(publish(state, delta(0, 'third', { attempt: 3 }))).toEqual(['0:third']);
    expect(state.textSoFar()).toEqual([piece(0, 'third', { attempt: 3 })]);
  });

  test('after its row none is shown, though a query bears the id of the call it asks for', () => {
    const state = listening(1);
    publish(state, delta(0, 'let me ask'));
    expect(publish(state, query(2, 'k1', 'weather?'), delta(10, ' more'), delta(0, 'hot', { call: 'k1' }))).toEqual([2, '0:hot']);
    expect(state.textSoFar()).toEqual([piece(0, 'hot', { call: 'k1' })]);
    expect(publish(state, reply(3, 'k1', 'hot!'), delta(3, '!', { call: 'k1' }))).toEqual([3]);
    expect(state.textSoFar()).toEqual([]);
  });

  test('a text that began before the reader came is there in whole, and ends even while nobody listens', () => {
    const state = fanout();
    state.publish([delta(0, 'half an '), delta(8, 'answer')]);
    expect(state.textSoFar()).toEqual([piece(0, 'half an answer')]);
    state.publish([report(2, 'half an answer', 1)]);
    expect(state.textSoFar()).toEqual([]);
    expect(publish(state, delta(0, 'again'))).toEqual([]);
  });

  test('a message that moved takes the planner text of its old intention away', () => {
    const state = listening(1);
    publish(state, delta(0, 'hmm'));
    publish(
      state,
      message(2, {
        role: 'agent',
        type: 'reassigned',
        agent: 'plan',
        intention_id: 'i2',
        parts: { seq: 1, from: piece(0, '').intention_id },
      }),
    );
    expect(state.textSoFar()).toEqual([]);
  });

  test('an end takes all text of the intention', () => {
    const state = listening(1, [status('i1', 'calling')]);
    publish(state, delta(0, 'hot', { call: 'k1' }), delta(0, 'cold', { call: 'k2' }));
    publish(state, message(2, { type: 'canceled', role: 'assistant' }));
    expect(state.textSoFar()).toEqual([]);
    expect(publish(state, delta(0, 'late', { call: 'k3' }))).toEqual([]);
  });

  test('no text is longer than its row may be on the wire', () => {
    const state = listening(1);
    expect(heldAfter(state, delta(0, 'x'.repeat(maxEventContent + 10)))).toEqual([maxEventContent]);
    expect(publish(state, delta(maxEventContent, 'y'))).toEqual([]);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../../../src/fault.ts';
import { type IntentionStatus, isTerminal } from '../../../src/intention/intention.ts';
import { intentionId, type Message, messageId } from '../../../src/intention/message.ts';
import { type Broadcast, broadcast } from '../../../src/stream/broadcast.ts';
import { decode } from '../../../src/stream/decode.ts';
import { type MessageEvent, messageEvent, type StreamEvent } from '../../../src/stream/event.ts';
import { collect, conversation, delta, message, query, report, row, status } from './events.ts';

/** A ledger in memory; `hold` makes its next reads wait, after they have seen what there is. */
let rows: Message[];
let open: Map<string, IntentionStatus>;
let hold: Promise<void>;
let reads: number[];
let nowMs: number;
let listeners: number;
let room: Broadcast;

const archive = {
  async replay(_: unknown, after: number, limit: number) {
    reads.push(after);
    const found = {
      messages: rows.filter(({ seq }) => seq > after).slice(0, limit),
      lastSeq: rows.at(-1)?.seq ?? 0,
      open: [...open].map(([id, value]) => ({ intentionId: intentionId(id), status: value })),
    };
    await hold;
    return found;
  },
};

beforeEach(() => {
  rows = [];
  open = new Map();
  hold = Promise.resolve();
  reads = [];
  nowMs = 0;
  listeners = 0;
  room = broadcast(conversation, {
    archive,
    nowMs: () => nowMs,
    onReaders: (count) => {
      listeners = count;
    },
  });
});

function ledgerRow(event: MessageEvent): Message {
  return {
    conversationId: event.conversation_id,
    seq: event.seq,
    id: messageId(event.id),
    intentionId: event.intention_id,
    movedTo: null,
    step: event.step,
    ord: null,
    role: event.role,
    type: event.type,
    agent: event.agent,
    toAgent: event.to_agent,
    reason: event.reason,
    callId: event.call_id,
    content: event.content,
    parts: {},
    usage: null,
    createdAt: event.created_at,
  };
}

/** As the service does it: into the ledger first. Returns what is then published. */
function commit(...events: StreamEvent[]): readonly StreamEvent[] {
  for (const event of events) {
    if (event.kind === 'message') rows.push(ledgerRow(event.data));
    if (event.kind === 'status' && isTerminal(event.data.status)) open.delete(event.data.intention_id);
    else if (event.kind === 'status') open.set(event.data.intention_id, event.data.status);
  }
  return events;
}

function short(event: StreamEvent): string {
  switch (event.kind) {
    case 'message':
      return String(event.data.seq);
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

/** The next `count` events of a reader, in short. */
async function take(events: AsyncIterator<StreamEvent>, count: number): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < count) {
    const { done, value } = await events.next();
    if (done) return [...seen, 'end'];
    seen.push(short(value));
  }
  return seen;
}

const listen = async (after = 0, follow: Parameters<Broadcast['subscribe']>[1] = null) => decode(await room.subscribe(after, follow));

describe('a reader', () => {
  test('gets what was before, then what is, without gap or double', async () => {
    commit(message(1), message(2), status('i1', 'planning'));
    const reader = await listen();
    room.publish(commit(message(3)));
    room.publish([message(2), message(3)]);
    room.publish(commit(message(4)));
    expect(await take(reader, 5)).toEqual(['1', '2', 'planning', '3', '4']);
  });

  test('misses nothing that is committed and published while its replay is read', async () => {
    commit(message(1));
    const gate = Promise.withResolvers<void>();
    hold = gate.promise;
    const subscribed = listen();
    room.publish(commit(message(2), status('i1', 'planning')));
    gate.resolve();
    const reader = await subscribed;
    room.publish(commit(message(3)));
    expect(await take(reader, 4)).toEqual(['1', '2', 'planning', '3']);
  });

  test('that comes back gets only what is later, and the text so far', async () => {
    const first = await listen();
    room.publish(commit(message(1), status('i1', 'planning')));
    room.publish([delta(0, '上海')]);
    room.publish([delta(2, '很热')]);
    expect(await take(first, 4)).toEqual(['1', 'planning', '0:上海', '2:很热']);
    await first.return();
    room.publish([delta(4, '。')]);
    const second = await listen(1);
    room.publish([delta(5, '!')]);
    expect(await take(second, 3)).toEqual(['0:上海很热。', 'planning', '5:!']);
  });

  test('gets more rows than one read brings', async () => {
    commit(...Array.from({ length: 250 }, (_, index) => message(index + 1)));
    const reader = await listen();
    room.publish(commit(message(251)));
    expect(await take(reader, 251)).toEqual(Array.from({ length: 251 }, (_, index) => String(index + 1)));
  });

  test('from the future is refused, and leaves nothing behind', async () => {
    commit(message(1));
    await expect(room.subscribe(2, null)).rejects.toThrow(Fault);
    expect(listeners).toBe(0);
  });

  test('that does not read is told to come back, and the others are not hurt', async () => {
    const slow = (await room.subscribe(0, null)).getReader();
    const quick = await listen();
    await slow.read();
    const big = 'x'.repeat(60_000);
    for (let seq = 1; seq <= 100; seq += 1) {
      room.publish(commit(message(seq, { content: big })));
      expect(await take(quick, 1)).toEqual([String(seq)]);
    }
    const { value } = await slow.read();
    expect(new TextDecoder().decode(value)).toBe('event: reset\ndata: {}\n\n');
    expect((await slow.read()).done).toBe(true);
    expect(listeners).toBe(1);
  });

  test('that comes back slowly gets several events in one chunk', async () => {
    const slow = (await room.subscribe(0, null)).getReader();
    await slow.read();
    for (let seq = 1; seq <= 10; seq += 1) room.publish(commit(message(seq)));
    const { value } = await slow.read();
    expect(new TextDecoder().decode(value).match(/^id: /gm)).toHaveLength(10);
  });

  test('is let go after its time, whether it reads or not', async () => {
    const idle = await room.subscribe(0, null);
    nowMs = 15 * 60_000;
    await room.beat();
    expect(listeners).toBe(0);
    expect(await collect(decode(idle))).toEqual([]);
  });

  test('that leaves is not counted any more', async () => {
    const body = await room.subscribe(0, null);
    expect(listeners).toBe(1);
    await body.cancel();
    expect(listeners).toBe(0);
  });
});

describe('one message followed', () => {
  const followed = { intention: intentionId('i1'), seq: 1 };

  test('ends with its intention and hides what belongs to others', async () => {
    commit(message(1), status('i1', 'planning'));
    const reader = await listen(0, followed);
    room.publish(commit(message(2, { intention_id: 'i2' }), status('i2', 'queued')));
    room.publish(commit(query(3, 'k1', 'weather?'), status('i1', 'calling')));
    room.publish(commit(report(4, 'hot'), status('i1', 'answered')));
    expect(await take(reader, 9)).toEqual(['1', 'planning', '3', 'calling', '4', 'answered', 'end']);
    expect(listeners).toBe(0);
  });

  test('that is over already is replayed and ends', async () => {
    commit(message(1), report(2, 'hot'), message(3, { intention_id: 'i2' }));
    const reader = await listen(0, followed);
    expect(await take(reader, 9)).toEqual(['1', '2', 'answered', 'end']);
  });
});

describe('the room', () => {
  test('reads back a row that did not come, once', async () => {
    const reader = await listen();
    const [first, second] = commit(message(1), message(2));
    if (!first || !second) throw new Error('two rows');
    room.publish([second]);
    expect(await take(reader, 2)).toEqual(['1', '2']);
    expect(reads).toEqual([0, 0]);
  });

  test('waits a moment for a row that is only late', async () => {
    const reader = await listen();
    const [first, second] = commit(message(1), message(2));
    if (!first || !second) throw new Error('two rows');
    room.publish([second]);
    room.publish([first]);
    expect(await take(reader, 2)).toEqual(['1', '2']);
    expect(reads).toEqual([0]);
  });

  test('looks for rows that nobody published, only while an intention is at work', async () => {
    const reader = await listen();
    await room.beat();
    expect(reads).toEqual([0]);
    room.publish(commit(message(1), status('i1', 'planning')));
    commit(report(2, 'done'), status('i1', 'answered'));
    await room.beat();
    expect(await take(reader, 4)).toEqual(['1', 'planning', '2', 'answered']);
    await room.beat();
    expect(reads).toEqual([0, 1]);
  });

  test('takes no more than two hundred', async () => {
    for (let count = 0; count < 200; count += 1) await room.subscribe(0, null);
    await expect(room.subscribe(0, null)).rejects.toMatchObject({ code: 'conversation_full', retry: true });
  });

  test('lets everyone go when the conversation is deleted', async () => {
    const reader = await listen();
    room.close();
    expect(await take(reader, 1)).toEqual(['end']);
    expect(listeners).toBe(0);
  });

  test('two first readers at once both get every row', async () => {
    commit(message(1));
    const gate = Promise.withResolvers<void>();
    hold = gate.promise;
    const early = listen();
    commit(message(2));
    hold = Promise.resolve();
    const late = await listen();
    gate.resolve();
    const both = [await early, late];
    room.publish(commit(message(3)));
    for (const reader of both) expect(await take(reader, 3)).toEqual(['1', '2', '3']);
  });

  test('a row looks the same replayed and live', async () => {
    const event = row(1, { role: 'agent', type: 'answer', agent: 'weather', call_id: 'k1', step: 1, content: '很热' });
    const live = await listen();
    room.publish(commit({ kind: 'message', data: event }));
    const replayed = await listen();
    expect((await live.next()).value).toEqual((await replayed.next()).value);
    expect(messageEvent(ledgerRow(event))).toEqual(event);
  });
});

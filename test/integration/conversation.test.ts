// The events of a conversation: rows from Postgres, then live, in one order for all, whoever leaves, lags or is restarted.

import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { v7 } from 'uuid';
import { expect, test } from 'vitest';
import { bind } from '../../src/bind.ts';
import {
  type ConversationId,
  conversationId,
  type IntentionId,
  intentionId,
  type Message,
  messageId,
  ownerId,
  planName,
} from '../../src/intention/message.ts';
import { decode } from '../../src/stream/decode.ts';
import { messageEvent, type StreamEvent } from '../../src/stream/event.ts';

const owner = ownerId('anonymous');

/** A row that nobody is told of; all but the first wait in the queue, and no alarm is armed. */
async function write(id: ConversationId | null, content = 'hi'): Promise<Message> {
  const accepted = await bind(env).ledger.accept({
    owner,
    conversation: id,
    newConversationId: conversationId(v7()),
    messageId: messageId(v7()),
    content,
    parts: {},
    title: content,
    answerTo: undefined,
    onBusy: 'enqueue',
    idempotency: null,
  });
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
  return accepted.message;
}

async function withRows(count: number): Promise<{ readonly id: ConversationId; readonly rows: readonly Message[] }> {
  const first = await write(null);
  const rows = [first];
  while (rows.length < count) rows.push(await write(first.conversationId));
  return { id: first.conversationId, rows };
}

const objectOf = (id: ConversationId) => env.CONVERSATION.getByName(id);
const open = (id: ConversationId, after = 0) => objectOf(id).fetch(`https://conversation/${id}?after=${after}`);
const publish = (id: ConversationId, ...events: readonly StreamEvent[]) => objectOf(id).publish(id, events);
const shown = (row: Message): StreamEvent => ({ kind: 'message', data: messageEvent(row) });

async function listen(id: ConversationId, after = 0): Promise<AsyncGenerator<StreamEvent, void, void>> {
  const { body } = await open(id, after);
  if (body === null) throw new Error('no stream');
  return decode(body);
}

async function take(
  events: AsyncGenerator<StreamEvent, void, void>,
  isLast: (event: StreamEvent) => boolean,
): Promise<readonly StreamEvent[]> {
  const taken: StreamEvent[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) {
    taken.push(next.value);
    if (isLast(next.value)) break;
  }
  return taken;
}

const upTo = (seq: number) => (event: StreamEvent) => event.kind === 'message' && event.data.seq === seq;
const seqs = (events: readonly StreamEvent[]) => events.flatMap((event) => (event.kind === 'message' ? [event.data.seq] : []));
const text = (intention: IntentionId, attempt: number, offset: number, words: string): StreamEvent => ({
  kind: 'delta',
  data: { intention_id: intention, step: 1, agent: planName, call_id: null, attempt, offset, text: words },
});
const texts = (events: readonly StreamEvent[]) =>
  events.flatMap((event) => (event.kind === 'delta' ? [[event.data.attempt, event.data.offset, event.data.text]] : []));
const isText = (event: StreamEvent) => event.kind === 'delta';

test('rows are replayed from Postgres and go on live, without gap or double, also when they are told out of order', async () => {
  const { id } = await withRows(3);
  const events = await listen(id);
  expect(seqs(await take(events, upTo(3)))).toEqual([1, 2, 3]);
  const later = [await write(id), await write(id), await write(id)];
  for (const row of [later[2], later[0], later[0], later[1]]) if (row) await publish(id, shown(row));
  expect(seqs(await take(events, upTo(6)))).toEqual([4, 5, 6]);
});

test('a row that nobody told of is read when a later one is told', async () => {
  const { id } = await withRows(1);
  const events = await listen(id);
  await take(events, upTo(1));
  await write(id);
  await publish(id, shown(await write(id)));
  expect(seqs(await take(events, upTo(3)))).toEqual([2, 3]);
});

test('two subscribers see the same events', async () => {
  const { id, rows } = await withRows(2);
  const intention = intentionId(rows[0]?.id ?? '');
  const all = await Promise.all([listen(id), listen(id)]);
  await Promise.all(all.map((events) => take(events, upTo(2))));
  await publish(id, text(intention, 1, 0, 'so'), text(intention, 1, 2, ' far'));
  await publish(id, shown(await write(id)));
  const [one, other] = await Promise.all(all.map((events) => take(events, upTo(3))));
  expect(one).toEqual(other);
  expect(
    texts(one ?? [])
      .map(([, , words]) => words)
      .join(''),
  ).toBe('so far');
});

test('whoever comes back with the last id after the object was lost, between any two rows, sees the same sequence', async () => {
  const { id } = await withRows(1);
  const seen: number[] = [];
  for (let last = 1; last <= 5; last += 1) {
    const events = await listen(id, seen.at(-1) ?? 0);
    seen.push(...seqs(await take(events, upTo(last))));
    await abortAllDurableObjects();
    await events.return().catch(() => undefined);
    await write(id);
  }
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

test('a reconnect in mid-answer gets the text so far; a higher attempt replaces it, and a lower one is not shown', async () => {
  const { id, rows } = await withRows(1);
  const intention = intentionId(rows[0]?.id ?? '');
  const first = await listen(id);
  await take(first, upTo(1));
  await publish(id, text(intention, 1, 0, 'Shang'), text(intention, 1, 5, 'hai'));
  expect(texts(await take(await listen(id), isText))).toEqual([[1, 0, 'Shanghai']]);
  await publish(id, text(intention, 2, 0, 'Bei'), text(intention, 1, 8, ' is hot'), text(intention, 2, 3, 'jing'));
  expect(texts(await take(await listen(id, 1), isText))).toEqual([[2, 0, 'Beijing']]);
});

test('the publisher is told how much of its text is held, also by an object that has lost it', async () => {
  const { id, rows } = await withRows(1);
  const intention = intentionId(rows[0]?.id ?? '');
  const source = `${intention}:1`;
  expect(await publish(id, text(intention, 1, 0, 'Shang'))).toEqual([{ source, attempt: 1, length: 5 }]);
  await evictDurableObject(objectOf(id));
  expect(await publish(id, text(intention, 1, 5, 'hai'))).toEqual([{ source, attempt: 1, length: 0 }]);
});

test('a reader who does not keep up is told to come back, and the others miss nothing', async () => {
  const { id } = await withRows(1);
  const slow = await open(id);
  const fast = await listen(id);
  await take(fast, upTo(1));
  const long = 'x'.repeat(60_000);
  const sent = 100;
  const reading = take(fast, (event) => event.kind === 'conversation' && event.data.title === `${sent}`);
  for (let place = 1; place < sent; place += 1)
    await publish(id, { kind: 'conversation', data: { conversation_id: id, title: `${long}${place}` } });
  await publish(id, { kind: 'conversation', data: { conversation_id: id, title: `${sent}` } });
  expect((await reading).filter(({ kind }) => kind === 'conversation')).toHaveLength(sent);
  expect((await slow.text()).endsWith('event: reset\ndata: {}\n\n')).toBe(true);
});

test('the 201st reader is refused for now, and there is room again when one leaves', async () => {
  const { id } = await withRows(1);
  const all = await Promise.all(Array.from({ length: 200 }, () => open(id)));
  const refused = await open(id);
  expect([refused.status, refused.headers.get('content-type'), refused.headers.has('retry-after')]).toEqual([
    503,
    'application/problem+json',
    true,
  ]);
  await refused.body?.cancel();
  await all[0]?.body?.cancel();
  await expect
    .poll(async () => {
      const response = await open(id);
      await response.body?.cancel();
      return response.status;
    })
    .toBe(200);
  await objectOf(id).close();
});

test('a closed conversation lets everyone go', async () => {
  const { id } = await withRows(1);
  const all = await Promise.all([open(id), open(id)]);
  const texts = all.map((response) => response.text());
  await objectOf(id).close();
  expect((await Promise.all(texts)).map((body) => body.endsWith('event: reset\ndata: {}\n\n'))).toEqual([true, true]);
});

test('a heartbeat brings the rows that nobody told of, while an intention is at work', async () => {
  const { id } = await withRows(1);
  const events = await listen(id);
  await take(events, upTo(1));
  await write(id);
  expect(seqs(await take(events, upTo(2)))).toEqual([2]);
});

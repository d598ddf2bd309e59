// Whoever listens from whatever place, and however often the Conversation object dies, ends with the same events and the same texts.

import { abortAllDurableObjects } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { sql } from 'drizzle-orm';
import { v7 } from 'uuid';
import { beforeAll, describe, expect, it } from 'vitest';
import { bind } from '../../src/bind.ts';
import { connect } from '../../src/db/database.ts';
import { type ConversationId, conversationId, type Message, messageId, ownerId, planName } from '../../src/intention/message.ts';
import { decode } from '../../src/stream/decode.ts';
import { messageEvent, type StreamEvent } from '../../src/stream/event.ts';
import { viewOf } from '../support/outside/view.ts';

const owner = ownerId('anonymous');
const { settings } = bind(env);
const database = connect(settings.databaseUrl, settings.databaseEndpoint, async () => {});

/** A row that nobody is told of; all but the first wait in the queue, and no alarm is armed. */
async function ask(id: ConversationId | null, content: string): Promise<Message> {
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

/** The report that ends the question's intention, as the ledger would hold it. */
async function answer(question: Message, content: string): Promise<Message> {
  const id = v7();
  await database.one(sql`with place as (update conversation set next_seq = next_seq + 1 where id = ${question.conversationId}::uuid returning id, next_seq - 1 as seq),
      over as (update intention set status = 'answered', wake_at = null where id = ${question.intentionId}::uuid)
    insert into message (conversation_id, seq, id, intention_id, step, role, content)
      select place.id, place.seq, ${id}::uuid, ${question.intentionId}::uuid, 1, 'assistant', ${content} from place`);
  const rows = await bind(env).archive.messages(owner, question.conversationId, { after: question.seq, limit: 200 });
  const row = rows?.find((found) => found.id === id);
  if (!row) throw new Error('the row is not there');
  return row;
}

const shown = (row: Message): StreamEvent => ({ kind: 'message', data: messageEvent(row) });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A subscriber over as many connections as it takes, each from the last id on. */
function subscribe(id: ConversationId) {
  const view = viewOf();
  const rows: { readonly seq: number; readonly data: string }[] = [];
  let connections = 0;
  let left = false;
  const follow = async () => {
    for (; !left; await pause(5)) {
      const response = await env.CONVERSATION.getByName(id)
        .fetch(`https://conversation/${id}?after=${rows.at(-1)?.seq ?? 0}`)
        .catch(() => null);
      if (!response?.ok || response.body === null) continue;
      const events = decode(response.body);
      connections += 1;
      try {
        for await (const event of events) {
          if (event.kind === 'delta') view.text(event.data);
          if (event.kind !== 'message') continue;
          rows.push({ seq: event.data.seq, data: JSON.stringify(event.data) });
          view.row(event.data);
        }
      } catch {
        // The object died.
      }
    }
  };
  const following = follow();
  return {
    rows,
    view,
    connections: () => connections,
    /** Resolves when the connection that is open has ended. */
    leave() {
      left = true;
      return following;
    },
  };
}

type Subscriber = ReturnType<typeof subscribe>;

const soon = { timeout: 10_000, interval: 5 };
const seqs = (to: number, after = 0) => Array.from({ length: Math.max(0, to - after) }, (_, place) => after + place + 1);

async function all(subscribers: readonly Subscriber[], value: (one: Subscriber) => unknown, expected: unknown): Promise<void> {
  await expect.poll(() => subscribers.map(value), soon).toEqual(subscribers.map(() => expected));
}

describe('a log of 20 rows', () => {
  const n = 20;
  let id: ConversationId;
  beforeAll(async () => {
    const first = await ask(null, 'row 1');
    id = first.conversationId;
    for (let place = 2; place <= n; place += 1) await ask(id, `row ${place}`);
  });
  const open = (headers: [string, string][], query = '') =>
    exports.default.fetch(`http://service/v1/conversations/${id}/events${query}`, { headers: new Headers(headers) });

  it('is gone on with from every id, by header and by query, also from ids that are not there yet', async () => {
    const places = Array.from({ length: n + 3 }, (_, place) => place);
    const responses = await Promise.all(
      places.flatMap((place) => [
        open([['last-event-id', `${place}`]]),
        open([], `?after=${place}`),
        // The header is the newer one.
        open([['last-event-id', `${place}`]], '?after=1'),
      ]),
    );
    const streams = responses.map(({ body }) => {
      if (body === null) throw new Error('no stream');
      return decode(body);
    });
    const reading = streams.map(async (events) => {
      const rows: number[] = [];
      for await (const event of events) {
        if (event.kind !== 'message') continue;
        rows.push(event.data.seq);
        if (event.data.seq === n + 1) break;
      }
      return rows;
    });
    bind(env).stream.publish(id, [shown(await ask(id, 'the row after them'))]);
    const expected = places.flatMap((place) => [
      seqs(n + 1, Math.min(place, n)),
      seqs(n + 1, Math.min(place, n)),
      seqs(n + 1, Math.min(place, n)),
    ]);
    expect(await Promise.all(reading)).toEqual(expected);
  });

  const rubbish = [
    '-1',
    '-0',
    '1.5',
    '1e3',
    '+1',
    ' 1x',
    '0x10',
    '01',
    'null',
    'NaN',
    'abc',
    '1 2',
    '1,2',
    '9007199254740993',
    '9'.repeat(400),
    '²',
  ];

  it.each(rubbish)('is refused from %j, by header and by query', async (text) => {
    const query = await open([], `?after=${encodeURIComponent(text)}`);
    const headers = /^[\x20-\x7e]*$/.test(text)
      ? [await open([['last-event-id', text]]), await open([['last-event-id', text]], '?after=1')]
      : [];
    for (const response of [query, ...headers]) {
      expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/problem+json']);
      expect(await response.json()).toMatchObject({ code: 'invalid_request' });
    }
  });

  it('is refused from two headers, and takes the first of two in the query', async () => {
    const twice = await open([
      ['last-event-id', '3'],
      ['last-event-id', '4'],
    ]);
    expect(twice.status).toBe(400);
    await twice.body?.cancel();
    const { body } = await open([], '?after=18&after=3');
    if (body === null) throw new Error('no stream');
    for await (const event of decode(body)) {
      if (event.kind !== 'message') continue;
      expect(event.data.seq).toBe(19);
      break;
    }
  });

  it('is not gone on with by the object itself from an id that is not there', async () => {
    const response = await env.CONVERSATION.getByName(id).fetch(`https://conversation/${id}?after=${n + 10}`);
    expect(response.status).toBe(400);
    await response.body?.cancel();
  });
});

describe('20 subscribers', () => {
  const readers = 20;
  const pieces = ['so far ', 'and so ', 'good'];
  const start = (id: ConversationId) => Array.from({ length: readers }, () => subscribe(id));

  const expectSame = async (id: ConversationId, subscribers: readonly Subscriber[], rows: number) => {
    await all(subscribers, (one) => one.rows.length, rows);
    const leaving = subscribers.map((one) => one.leave());
    await env.CONVERSATION.getByName(id).close();
    await Promise.all(leaving);
    const [first] = subscribers;
    for (const one of subscribers) {
      expect(one.rows.map(({ seq }) => seq)).toEqual(seqs(rows));
      expect(one.rows).toEqual(first?.rows);
      expect(one.view.texts()).toEqual(first?.view.texts());
      expect([one.view.open(), one.view.broken]).toEqual([[], []]);
    }
  };

  const relayOf = (question: Message) =>
    bind(env).stream.relay(question.conversationId, {
      intention_id: question.intentionId,
      step: 1,
      agent: planName,
      call_id: null,
      attempt: 1,
    });

  it('see the same when the object dies between any two events', async () => {
    let question = await ask(null, 'question 1');
    const id = question.conversationId;
    const subscribers = start(id);
    let rows = 1;
    let kills = 0;
    const kill = async () => {
      await all(subscribers, (one) => one.rows.length, rows);
      const before = subscribers.map((one) => one.connections());
      await abortAllDurableObjects();
      kills += 1;
      await expect.poll(() => subscribers.every((one, place) => one.connections() > (before[place] ?? 0)), soon).toBe(true);
    };
    for (let turn = 1; turn <= 4; turn += 1) {
      if (turn > 1) {
        question = await ask(id, `question ${turn}`);
        bind(env).stream.publish(id, [shown(question)]);
        rows += 1;
      }
      await kill();
      const relay = relayOf(question);
      const source = `${question.intentionId}:1`;
      let text = '';
      for (const piece of pieces) {
        relay.append(piece);
        text += piece;
        await all(subscribers, (one) => one.view.texts()[source], text);
        await kill();
      }
      relay.end();
      bind(env).stream.publish(id, [shown(await answer(question, text))]);
      rows += 1;
      await kill();
    }
    await expectSame(id, subscribers, rows);
    expect(kills).toBe(20);
    for (const one of subscribers) {
      expect(one.view.grown()).toBe(4);
      expect(one.connections()).toBeGreaterThan(kills);
    }
  });

  it('see the same when the object dies in the midst of it all, and nobody waits for anybody', async () => {
    let question = await ask(null, 'question 1');
    const id = question.conversationId;
    const subscribers = start(id);
    let rows = 1;
    let over = false;
    const killing = (async () => {
      while (!over) {
        await abortAllDurableObjects();
        await pause(40);
      }
    })();
    for (let turn = 1; turn <= 12; turn += 1) {
      if (turn > 1) {
        question = await ask(id, `question ${turn}`);
        bind(env).stream.publish(id, [shown(question)]);
      }
      const relay = relayOf(question);
      for (const piece of pieces) {
        relay.append(piece);
        await pause(15);
      }
      relay.end();
      bind(env).stream.publish(id, [shown(await answer(question, pieces.join('')))]);
      rows += turn > 1 ? 2 : 1;
    }
    over = true;
    await killing;
    await expectSame(id, subscribers, rows);
  });
});

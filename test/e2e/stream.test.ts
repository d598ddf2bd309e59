// The event stream as a client lives with it: from any place, again and again, and together with others.

import type { EventSourceMessage } from 'eventsource-parser/stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collect, frames, rowSchema } from '../support/client.ts';
import { callsAgents, chunk, done, reports } from '../support/model-server.ts';
import { standIn, useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather', 'people', 'travel', 'flaky'] });

const delta = z.object({ call_id: z.string().nullable(), attempt: z.number(), offset: z.number(), text: z.string() });
const deltasOf = (seen: readonly EventSourceMessage[]) =>
  seen.flatMap(({ event, data }) => (event === 'delta' ? [delta.parse(JSON.parse(data))] : []));
const idsOf = (seen: readonly EventSourceMessage[]) => seen.flatMap(({ id }) => (id === undefined || id === '' ? [] : [Number(id)]));
const isStatus = (status: string) => (frame: EventSourceMessage) => frame.event === 'status' && frame.data.includes(`"${status}"`);
const from = (after: number, to: number) => Array.from({ length: to - after }, (_, index) => after + 1 + index);

/** What a reader shows of a report: text as it comes, replaced by a higher attempt. */
function shown(seen: readonly EventSourceMessage[]): string {
  let text = '';
  let attempt = 0;
  for (const piece of deltasOf(seen).filter(({ call_id }) => call_id === null)) {
    if (piece.attempt > attempt) text = '';
    attempt = Math.max(attempt, piece.attempt);
    if (piece.attempt === attempt) text = text.slice(0, piece.offset) + piece.text;
  }
  return text;
}

/** A silent stream, open from the beginning: what is sent to it is looked at last. */
let silence: Promise<string>;
beforeAll(async () => {
  const { client } = town();
  const { conversation_id } = await client.say(null, 'thanks');
  const response = await client.send(`/v1/conversations/${conversation_id}/events?after=2`);
  silence = (async () => {
    let text = '';
    for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += bytes;
      if (text.includes('\n: ') || text.startsWith(': ')) return text;
    }
    return text;
  })();
});

describe('a reader that comes back', () => {
  it('with any id gets what came after it, then what comes', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, '上海天气如何');
    const last = 4;
    const open = (headers: Readonly<Record<string, string>>, query = '') =>
      client.send(`/v1/conversations/${conversation_id}/events${query}`, { headers });
    const readers = [
      ...(await Promise.all(
        from(-1, last + 2).map(async (after) => ({ after, response: await open({ 'last-event-id': String(after) }) })),
      )),
      { after: 0, response: await open({}) },
      { after: 0, response: await open({ 'last-event-id': '' }) },
      { after: 2, response: await open({}, '?after=2') },
      { after: 3, response: await open({ 'last-event-id': '3' }, '?after=1') },
    ];
    await client.tell(conversation_id, 'thanks');
    for (const { after, response } of readers) {
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      const seen = await collect(
        frames(() => Promise.resolve(response)),
        isStatus('answered'),
      );
      expect([after, idsOf(seen)]).toEqual([after, from(Math.min(after, last), last + 2)]);
    }
  });

  it.each(['x', '-1', '1.5', '01', '1e3', '0x1', ' 1 2', '99999999999999999999', 'null'])('with "%s" for an id is refused', async (id) => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'thanks');
    const path = `/v1/conversations/${conversation_id}/events`;
    for (const response of [
      await client.send(path, { headers: { 'last-event-id': id } }),
      await client.send(`${path}?after=${encodeURIComponent(id)}`),
    ]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'invalid_request' });
    }
  });

  it('in mid-answer gets the text so far, and then the rest', async () => {
    const { client, model } = town();
    const half = Promise.withResolvers<void>();
    const [first, second] = ['前一半已经说了，', '后一半也说了。'];
    model.follow(() => ({
      status: 200,
      writes: [chunk({ role: 'assistant', content: first }), { until: half.promise }, chunk({ content: second }), chunk({}, 'stop'), done],
    }));
    const { conversation_id } = await client.tell(null, 'a long story');
    const before = await collect(client.events(conversation_id), ({ event }) => event === 'delta');
    expect(shown(before)).toBe(first);
    const again = collect(client.events(conversation_id, { 'last-event-id': '1' }), isStatus('answered'));
    const other = await collect(client.events(conversation_id), ({ event }) => event === 'delta');
    expect(shown(other)).toBe(first);
    half.resolve();
    const after = await again;
    expect(deltasOf(after)[0]).toMatchObject({ offset: 0, text: expect.stringContaining(first) });
    expect(shown(after)).toBe(first + second);
    expect(idsOf(after)).toEqual([2]);
    expect((await client.rows(conversation_id)).at(-1)?.content).toBe(first + second);
  });
});

describe('two readers', () => {
  it('see the same events with ids, in the same order, and text that grows into the row', async () => {
    const { client, model } = town();
    const text = '这是一个足够长的回答，分成许多小块发送，好让两个读者都看到它是怎样一点一点长出来的。'.repeat(4);
    model.follow((request) => (request.body.messages.some(({ role }) => role === 'tool') ? reports(text, 7, 2) : standIn(request)));
    const { conversation_id } = await client.say(null, 'thanks');
    const streams = await Promise.all([1, 2].map(() => client.send(`/v1/conversations/${conversation_id}/events?after=2`)));
    const reading = streams.map((response) =>
      collect(
        frames(() => Promise.resolve(response)),
        isStatus('answered'),
      ),
    );
    await client.tell(conversation_id, '推荐北京旅游路线');
    const [one = [], other = []] = await Promise.all(reading);
    const withIds = (seen: readonly EventSourceMessage[]) => seen.filter(({ id }) => id);
    expect(withIds(one)).toEqual(withIds(other));
    expect(idsOf(one)).toEqual([3, 4, 5, 6]);
    const rows = withIds(one).map(({ data }) => rowSchema.parse(JSON.parse(data)));
    expect(rows.map(({ role }) => role)).toEqual(['user', 'agent', 'agent', 'assistant']);
    expect(rows.at(-1)?.content).toBe(text);
    expect(deltasOf(one).length).toBeGreaterThan(1);
    for (const seen of [one, other]) expect(text.startsWith(shown(seen))).toBe(true);
    expect(deltasOf(one).some(({ call_id, text: said }) => call_id !== null && said.includes('先去故宫'))).toBe(true);
  });
});

describe('a post that asks for a stream', () => {
  const ask = (conversation: string | null, content: string) =>
    frames(() => town().client.post(town().client.messagesOf(conversation), { content }, { accept: 'text/event-stream' }));

  it('gets its own intention, and ends with it', async () => {
    const seen = await collect(ask(null, '上海天气如何'), () => false);
    expect(idsOf(seen)).toEqual([1, 2, 3, 4]);
    expect(seen.at(-1)).toMatchObject({ event: 'status', data: expect.stringContaining('answered') });
  });

  it('ends with the question of an agent, and the answer to it with the report', async () => {
    const asked = await collect(ask(null, '天气如何'), () => false);
    expect(asked.at(-1)).toMatchObject({ event: 'status', data: expect.stringContaining('input_required') });
    const { conversation_id } = rowSchema.parse(JSON.parse(asked.find(({ id }) => id)?.data ?? ''));
    const answered = await collect(ask(conversation_id, '上海'), () => false);
    expect(idsOf(answered)).toEqual([4, 5, 6, 7]);
    expect(answered.at(-1)).toMatchObject({ event: 'status', data: expect.stringContaining('answered') });
  });

  it('follows a message that moves to an intention of its own', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, '天气如何');
    const seen = await collect(ask(conversation_id, '曹操是谁'), () => false);
    expect(idsOf(seen)).toEqual([4, 5, 6, 7, 8]);
    expect(seen.at(-1)).toMatchObject({ event: 'status', data: expect.stringContaining('answered') });
  });

  it('hears nothing of what else goes on', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'thanks');
    const busy = await client.tell(conversation_id, 'flaky hang');
    await collect(client.events(conversation_id), isStatus('calling'));
    const parallel = client.post(
      client.messagesOf(conversation_id),
      { content: '上海天气如何', on_busy: 'parallel' },
      { accept: 'text/event-stream' },
    );
    const seen = await collect(
      frames(() => parallel),
      () => false,
    );
    expect(seen.at(-1)).toMatchObject({ event: 'status', data: expect.stringContaining('answered') });
    expect(seen.some(({ data }) => data.includes(busy.intention_id))).toBe(false);
    await client.post(`/v1/conversations/${conversation_id}/intentions/${busy.intention_id}/cancel`, {});
  });

  it('may leave: the work goes on', async () => {
    const { client, model } = town();
    const gate = Promise.withResolvers<void>();
    model.follow(async (request) => {
      await gate.promise;
      return standIn(request);
    });
    const [first] = await collect(ask(null, '上海天气如何'), ({ id }) => id === '1');
    const { conversation_id, intention_id } = rowSchema.parse(JSON.parse(first?.data ?? ''));
    gate.resolve();
    await collect(client.events(conversation_id), isStatus('answered'));
    expect(await client.status(conversation_id, intention_id)).toBe('answered');
    expect((await client.rows(conversation_id)).at(-1)?.content).toBe('上海天气很热');
  });
});

describe('a report that the model breaks off', () => {
  it('is made anew: the text is replaced, and the row is whole', async () => {
    const { client, model } = town();
    const whole = 'This time the report was told to its very end.';
    const script = [
      callsAgents({ agent: 'weather', query: '上海天气如何' }),
      { status: 200, writes: [chunk({ role: 'assistant', content: 'This time the rep' }), { pauseMs: 60 }, 'destroy' as const] },
      reports(whole, 6, 5),
    ];
    model.follow(() => script.shift() ?? reports('again?'));
    const { conversation_id } = await client.tell(null, 'how is the weather in Shanghai?');
    const seen = await collect(client.events(conversation_id), isStatus('answered'));
    const attempts = new Set(deltasOf(seen).flatMap(({ call_id, attempt }) => (call_id === null ? [attempt] : [])));
    expect(attempts.size).toBe(2);
    expect(whole.startsWith(shown(seen))).toBe(true);
    const rows = await client.rows(conversation_id);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'agent', 'agent', 'assistant']);
    expect(rows.at(-1)?.content).toBe(whole);
  });
});

describe('a silent stream', () => {
  it('begins with how soon to come back, and is kept open by a comment', async () => {
    expect(await silence).toMatch(/^retry: \d+\n\n(?:.*\n)*?: .+\n\n$/);
  });
});

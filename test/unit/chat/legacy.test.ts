import { describe, expect, test } from 'vitest';
import { type LegacyStart, legacy } from '../../../src/chat/legacy.ts';
import { Fault } from '../../../src/fault.ts';
import { conversationId, intentionId } from '../../../src/intention/message.ts';
import type { StreamEvent } from '../../../src/stream/event.ts';
import { collect, delta, message, query, reply, report, status } from '../stream/events.ts';

const start: LegacyStart = { conversationId: conversationId('c1'), intentionId: intentionId('i1'), settled: true };

/** The wire as its bytes, without the prefix and the blank lines that every frame has. */
async function wire(events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>, begin: LegacyStart = start): Promise<readonly string[]> {
  const frames = await collect(legacy(toAsync(events), begin));
  for (const frame of frames) expect(frame).toMatch(/^data: \{[^\n]*\}\n\n$/);
  return frames.map((frame) => frame.slice('data: '.length, -2));
}

async function* toAsync(events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>): AsyncGenerator<StreamEvent> {
  yield* events;
}

const started = '{"event": "start", "conversation_id": "c1", "intention_id": "i1"}';
const ended = '{"event": "end"}';
const header = (chunk: string) => `{"event": "header", "name": "plan", "chunk": "${chunk}"}`;
const said = (chunk: string, name = 'weather') => `{"event": "message", "name": "${name}", "chunk": "${chunk}"}`;
const agentEnd = (name = 'weather') => `{"event": "agent_end", "name": "${name}"}`;
const answer = (chunk: string) => `{"event": "answer", "chunk": "${chunk}"}`;
const answerEnd = '{"event": "answer_end"}';

describe('transcripts, byte for byte', () => {
  test('a plain answer', async () => {
    const frames = await collect(
      legacy(
        toAsync([
          message(1, { content: '你好' }),
          status('i1', 'planning'),
          delta(0, '您'),
          report(2, '您好"!"\n', 1),
          status('i1', 'answered'),
        ]),
        start,
      ),
    );
    expect(frames.join('')).toBe(
      'data: {"event": "start", "conversation_id": "c1", "intention_id": "i1"}\n\n' +
        'data: {"event": "answer", "chunk": "您好\\"!\\"\\n"}\n\n' +
        'data: {"event": "answer_end"}\n\n' +
        'data: {"event": "end"}\n\n',
    );
  });

  test('two agents, the first of them streaming', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', '上海天气如何'),
        delta(0, '上海', { call: 'k1' }),
        delta(2, '天气', { call: 'k1' }),
        reply(3, 'k1', '上海天气很热'),
        query(4, 'k2', '去哪里玩', { step: 2, to: 'travel' }),
        reply(5, 'k2', '外滩', { step: 2, from: 'travel' }),
        report(6, '很热，去外滩。', 3),
      ]),
    ).toEqual([
      started,
      header('上海天气如何'),
      said('上海'),
      said('天气'),
      said('很热'),
      agentEnd(),
      header('去哪里玩'),
      said('外滩', 'travel'),
      agentEnd('travel'),
      answer('很热，去外滩。'),
      answerEnd,
      ended,
    ]);
  });

  test('an agent asks back, and is answered', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', '天气如何'),
        reply(3, 'k1', '您问到哪里的天气', { type: 'input_required' }),
        status('i1', 'input_required'),
      ]),
    ).toEqual([
      started,
      header('天气如何'),
      '{"event": "agent_input_required", "name": "weather", "require_input": "您问到哪里的天气"}',
      ended,
    ]);
    expect(
      await wire([
        message(4),
        query(5, 'k2', '上海天气如何', { step: 2 }),
        reply(6, 'k2', '上海天气很热', { step: 2 }),
        report(7, '上海天气很热', 3),
      ]),
    ).toEqual([started, header('上海天气如何'), said('上海天气很热'), agentEnd(), answer('上海天气很热'), answerEnd, ended]);
  });

  test('an agent fails, and the plan goes on', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', 'q'),
        delta(0, 'half', { call: 'k1' }),
        reply(3, 'k1', 'it broke', { type: 'error' }),
        report(4, 'no weather'),
      ]),
    ).toEqual([started, header('q'), said('half'), '{"event": "agent_error", "name": "weather"}', answer('no weather'), answerEnd, ended]);
  });

  test('the model is down', async () => {
    expect(
      await wire([message(1), message(2, { role: 'assistant', type: 'error', step: 1, content: '暂时无法连接语言模型，请稍后再试。' })]),
    ).toEqual([started, '{"event": "error", "error": "暂时无法连接语言模型，请稍后再试。"}', ended]);
  });

  test('the message moves to another intention before it starts', async () => {
    const events = [
      message(4),
      status('i1', 'planning'),
      message(5, { intention_id: 'i2', role: 'agent', type: 'reassigned', agent: 'plan', parts: { seq: 4, from: intentionId('i1') } }),
      query(6, 'k2', '曹操是谁', { to: 'history' }),
      reply(7, 'k2', '魏武帝', { from: 'history' }),
      report(8, '魏武帝'),
    ];
    expect(await wire(events, { ...start, settled: false })).toEqual([
      '{"event": "start", "conversation_id": "c1", "intention_id": "i2"}',
      header('曹操是谁'),
      said('魏武帝', 'history'),
      agentEnd('history'),
      answer('魏武帝'),
      answerEnd,
      ended,
    ]);
  });

  test('an attempt at a call that is made again', async () => {
    const events = (row: string) => [
      message(1),
      query(2, 'k1', 'q'),
      delta(0, 'sunny', { call: 'k1', attempt: 1 }),
      delta(0, 'sunny and', { call: 'k1', attempt: 2 }),
      delta(2, 'late', { call: 'k1', attempt: 1 }),
      reply(3, 'k1', row),
      report(4, 'done'),
    ];
    expect(await wire(events('sunny and hot'))).toEqual([
      started,
      header('q'),
      said('sunny'),
      said(' and hot'),
      agentEnd(),
      answer('done'),
      answerEnd,
      ended,
    ]);
    expect(await wire(events('rain'))).toEqual([
      started,
      header('q'),
      said('sunny'),
      said('\\n\\nrain'),
      agentEnd(),
      answer('done'),
      answerEnd,
      ended,
    ]);
  });

  test('two calls at once are told one after the other', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', '北京天气'),
        query(3, 'k2', '上海天气'),
        delta(0, '上', { call: 'k2' }),
        delta(0, '北', { call: 'k1' }),
        delta(1, '海热', { call: 'k2' }),
        delta(1, '京冷', { call: 'k1' }),
        reply(4, 'k2', '上海热'),
        reply(5, 'k1', '北京冷'),
        report(6, '北冷南热'),
      ]),
    ).toEqual([
      started,
      header('北京天气'),
      said('北'),
      said('京冷'),
      agentEnd(),
      header('上海天气'),
      said('上海热'),
      agentEnd(),
      answer('北冷南热'),
      answerEnd,
      ended,
    ]);
  });
});

describe('the report', () => {
  const long = 'x'.repeat(160);

  test('streams once it is too long for a note', async () => {
    expect(await wire([message(1), delta(0, 'x'.repeat(159)), delta(159, 'x'), delta(160, 'y'), report(2, `${long}yz`, 1)])).toEqual([
      started,
      answer(long),
      answer('y'),
      answer('z'),
      answerEnd,
      ended,
    ]);
  });

  test('a short note beside a call is not told; a long one stays', async () => {
    const after = [query(2, 'k1', 'q'), reply(3, 'k1', 'a'), report(4, 'done')];
    expect(await wire([message(1), delta(0, 'I will ask.'), ...after])).not.toContain(answer('I will ask.'));
    expect(await wire([message(1), delta(0, long), ...after])).toEqual([
      started,
      answer(long),
      header('q'),
      said('a'),
      agentEnd(),
      answer('\\n\\ndone'),
      answerEnd,
      ended,
    ]);
  });

  test('made anew after it was begun, waits for its row', async () => {
    const again = (row: string) =>
      wire([message(1), delta(0, long, { attempt: 1 }), delta(0, `${long}!`, { attempt: 2 }), report(2, row, 1)]);
    expect(await again(`${long}!?`)).toEqual([started, answer(long), answer('!?'), answerEnd, ended]);
    expect(await again('short')).toEqual([started, answer(long), answer('\\n\\nshort'), answerEnd, ended]);
  });

  test('whose pieces came twice or not at all is told once', async () => {
    expect(
      await wire([message(1), delta(0, long), delta(200, 'missed before'), delta(0, long), report(2, `${long}, and so on`, 1)]),
    ).toEqual([started, answer(long), answer(', and so on'), answerEnd, ended]);
  });
});

describe('whatever happens', () => {
  test('start waits for the decision when the message may move, also past an answer to an earlier call', async () => {
    const unsettled = { ...start, settled: false };
    expect(
      await wire([message(4), reply(5, 'k9', 'late'), query(6, 'k2', 'q', { step: 2 }), reply(7, 'k2', 'a', { step: 2 })], unsettled),
    ).toEqual([started, said('late'), agentEnd(), header('q'), said('a'), agentEnd(), ended]);
    expect(await wire([message(4)], unsettled)).toEqual([started, ended]);
  });

  test('a stop ends it, and calls without an answer are dropped', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', 'q'),
        query(3, 'k2', 'r'),
        delta(0, 'half', { call: 'k1' }),
        message(4, { type: 'canceled', role: 'assistant' }),
      ]),
    ).toEqual([started, header('q'), said('half'), '{"event": "stop"}', ended]);
  });

  test('events that break off become an error, and the end is still last', async () => {
    async function* broken(): AsyncGenerator<StreamEvent> {
      yield message(1);
      throw new Fault('database_down', { detail: 'secret host' });
    }
    expect(await wire(broken())).toEqual([started, '{"event": "error", "error": "The database cannot be reached"}', ended]);
    expect(await wire(broken(), { ...start, settled: false })).toEqual([
      started,
      '{"event": "error", "error": "The database cannot be reached"}',
      ended,
    ]);
  });

  test('an answer that repeats the end of what was streamed is not told twice', async () => {
    expect(
      await wire([
        message(1),
        query(2, 'k1', 'q'),
        delta(0, '先去故宫', { call: 'k1' }),
        delta(4, '再去颐和园', { call: 'k1' }),
        reply(3, 'k1', '再去颐和园'),
      ]),
    ).toEqual([started, header('q'), said('先去故宫'), said('再去颐和园'), agentEnd(), ended]);
  });

  test('pieces that come before their query wait for its header', async () => {
    expect(await wire([message(1), delta(0, '很', { call: 'k1' }), query(2, 'k1', 'q'), reply(3, 'k1', '很热')])).toEqual([
      started,
      header('q'),
      said('很'),
      said('热'),
      agentEnd(),
      ended,
    ]);
  });
});

// Conversations row by row, as a caller reads them: one agent, several, one that asks back, and none.

import { describe, expect, it } from 'vitest';
import { type Answered, clientOf, table } from '../support/client.ts';
import { callsAgents, reports } from '../support/model-server.ts';
import { messagesTo, standIn, useTown } from '../support/town.ts';

const town = useTown();

const ask = (content: string, conversation: string | null = null): Promise<Answered> => town().client.say(conversation, content);
const rowsOf = async ({ conversation_id }: Answered) => table(await town().client.rows(conversation_id));

const caoCao = '曹操是东汉末年的政治家、军事家和诗人，三国中曹魏政权的奠基人。';

describe('an agent', () => {
  it('asks back, is answered, and its answer is reported', async () => {
    const asked = await ask('天气如何');
    expect(asked).toMatchObject({ status: 'input_required', question: { agent: 'weather', content: '您问到哪里的天气' } });
    const answered = await ask('上海', asked.conversation_id);
    expect(answered).toMatchObject({ status: 'answered', answer: '上海天气很热', intention_id: asked.intention_id });
    expect(await rowsOf(answered)).toEqual([
      ['i1', 'user', null, '天气如何', null],
      ['i1', 'agent', 'query', '天气如何', 'plan'],
      ['i1', 'agent', 'input_required', '您问到哪里的天气', 'weather'],
      ['i1', 'user', null, '上海', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
      ['i1', 'assistant', null, '上海天气很热', null],
    ]);
  });

  it('answers at once when it has all it needs', async () => {
    expect(await rowsOf(await ask('上海天气如何'))).toEqual([
      ['i1', 'user', null, '上海天气如何', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
      ['i1', 'assistant', null, '上海天气很热', null],
    ]);
  });

  it('costs two decisions and six requests to the database', async () => {
    const { model, database, client } = town();
    // So that the agents are known.
    await ask('hi');
    const before = { model: model.requests.length, database: database.requests() };
    const { conversation_id, intention_id } = await client.tell(null, '上海天气如何');
    for await (const { event, data } of client.events(conversation_id)) if (event === 'status' && data.includes('answered')) break;
    const spent = { model: model.requests.length - before.model, database: database.requests() - before.database };
    expect(await client.status(conversation_id, intention_id)).toBe('answered');
    // Accept 1, the step with its call 3, the final step 2; and 2 for the subscriber, who is no part of the work.
    expect(spent.model).toBe(2);
    expect(spent.database).toBeLessThanOrEqual(8);
  });

  it('that is asked twice for one question goes on in its context', async () => {
    const weather = town().agent('weather');
    const heardBefore = messagesTo(weather).length;
    const script = [
      callsAgents({ agent: 'weather', query: '上海天气如何' }),
      callsAgents({ agent: 'weather', query: '北京天气如何' }),
      reports('两处都问到了'),
    ];
    town().model.follow(() => script.shift() ?? reports('again?'));
    const answered = await ask('上海和北京天气如何');
    expect(await rowsOf(answered)).toEqual([
      ['i1', 'user', null, '上海和北京天气如何', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
      ['i1', 'agent', 'query', '北京天气如何', 'plan'],
      ['i1', 'agent', 'answer', expect.stringContaining('北京天气'), 'weather'],
      ['i1', 'assistant', null, '两处都问到了', null],
    ]);
    const [first, second] = messagesTo(weather).slice(heardBefore);
    expect(first?.contextId || null).toBeNull();
    expect(second?.contextId).toBeTruthy();
    expect(second?.taskId || null).toBeNull();
    expect(second?.messageId).not.toBe(first?.messageId);
  });
});

describe('several agents', () => {
  it('are asked in turn', async () => {
    expect(await rowsOf(await ask('上海天气如何，然后曹操是谁'))).toEqual([
      ['i1', 'user', null, '上海天气如何，然后曹操是谁', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
      ['i1', 'agent', 'query', '曹操是谁', 'plan'],
      ['i1', 'agent', 'answer', caoCao, 'people'],
      ['i1', 'assistant', null, `weather：上海天气很热\n\npeople：${caoCao}`, null],
    ]);
  });

  it('are asked in turn, the second one after the first was answered', async () => {
    const asked = await ask('天气如何，然后曹操是谁');
    expect(asked.status).toBe('input_required');
    expect(await rowsOf(await ask('上海', asked.conversation_id))).toEqual([
      ['i1', 'user', null, '天气如何，然后曹操是谁', null],
      ['i1', 'agent', 'query', '天气如何', 'plan'],
      ['i1', 'agent', 'input_required', '您问到哪里的天气', 'weather'],
      ['i1', 'user', null, '上海', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
      ['i1', 'agent', 'query', '曹操是谁', 'plan'],
      ['i1', 'agent', 'answer', caoCao, 'people'],
      ['i1', 'assistant', null, `weather：上海天气很热\n\npeople：${caoCao}`, null],
    ]);
  });

  it('are asked at once when one decision says so, and reported when the last has answered', async () => {
    const script = [
      callsAgents({ agent: 'weather', query: '上海天气如何' }, { agent: 'people', query: '曹操是谁' }),
      reports('两个智能体都回答了'),
    ];
    const before = town().model.requests.length;
    town().model.follow(() => script.shift() ?? reports('again?'));
    const answered = await ask('上海天气如何？曹操是谁？');
    const rows = await rowsOf(answered);
    expect(rows.slice(0, 3)).toEqual([
      ['i1', 'user', null, '上海天气如何？曹操是谁？', null],
      ['i1', 'agent', 'query', '上海天气如何', 'plan'],
      ['i1', 'agent', 'query', '曹操是谁', 'plan'],
    ]);
    expect(rows.slice(3, 5).toSorted()).toEqual(
      [
        ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
        ['i1', 'agent', 'answer', caoCao, 'people'],
      ].toSorted(),
    );
    expect(rows.slice(5)).toEqual([['i1', 'assistant', null, '两个智能体都回答了', null]]);
    expect(town().model.requests.length - before).toBe(2);
  });

  it('of whom one asks back at once with another that answers leave one question open', async () => {
    const script = [callsAgents({ agent: 'weather', query: '天气如何' }, { agent: 'people', query: '曹操是谁' })];
    town().model.follow((request) => script.shift() ?? standIn(request));
    const asked = await ask('天气如何？曹操是谁？');
    expect(asked).toMatchObject({ status: 'input_required', question: { agent: 'weather' } });
    const answered = await ask('上海', asked.conversation_id);
    expect(answered.answer).toContain('上海天气很热');
    expect(answered.answer).toContain(caoCao);
  });
});

describe('without any agent', () => {
  it.each([
    ['hi', 'Hello!'],
    ['你好', '你好！'],
    ['what can you do', 'weather'],
    ['你能做什么', '上海天气如何'],
    ['thanks', 'You are welcome.'],
  ])('%s is answered', async (content, expected) => {
    const answered = await ask(content);
    expect(answered.answer).toContain(expected);
    expect(await rowsOf(answered)).toEqual([
      ['i1', 'user', null, content, null],
      ['i1', 'assistant', null, answered.answer, null],
    ]);
  });

  it('what was said before is worked on', async () => {
    const first = await ask('上海天气如何');
    const second = await ask('translate that', first.conversation_id);
    expect(second.answer).toContain('上海天气很热');
    expect((await rowsOf(second)).slice(4)).toEqual([
      ['i2', 'user', null, 'translate that', null],
      ['i2', 'assistant', null, second.answer, null],
    ]);
  });

  it.each(['推荐一只股票', 'What is the square root of two?'])(
    'that fits, %s is answered by saying who can help with what',
    async (content) => {
      const answered = await ask(content);
      expect(answered.status).toBe('answered');
      expect(answered.answer).toMatch(/weather/);
      expect((await rowsOf(answered)).map(([, role]) => role)).toEqual(['user', 'assistant']);
    },
  );

  it('that the message allows, nobody is called', async () => {
    const before = town().agent('weather').requests.length;
    const answered = await town().client.say(null, '上海天气如何', { agents: ['people'] });
    expect(answered.status).toBe('answered');
    expect(town().agent('weather').requests).toHaveLength(before);
  });
});

describe('the limit of steps', () => {
  it('ends a planner that never stops calling, with a report of what is known', async () => {
    const { url } = await town().neighbour({ MAX_STEPS: '3' });
    const { client } = town();
    let forced = 0;
    town().model.follow(({ body }) => {
      if (body.tool_choice !== 'none') return callsAgents({ agent: 'weather', query: '上海天气如何' });
      forced += 1;
      return reports('只知道上海天气很热');
    });
    const answered = await clientOf(url).say(null, '上海天气如何');
    expect(answered).toMatchObject({ status: 'answered', answer: '只知道上海天气很热' });
    const rows = await client.rows(answered.conversation_id);
    expect(rows.filter((row) => row.type === 'query')).toHaveLength(2);
    expect(forced).toBe(1);
  });

  it('is eight when nothing else is configured', async () => {
    let decisions = 0;
    town().model.follow(({ body }) => {
      decisions += 1;
      return body.tool_choice === 'none' ? reports('够了') : callsAgents({ agent: 'weather', query: '上海天气如何' });
    });
    const answered = await ask('上海天气如何');
    expect(answered).toMatchObject({ status: 'answered', answer: '够了' });
    expect((await town().client.rows(answered.conversation_id)).filter((row) => row.type === 'query')).toHaveLength(7);
    expect(decisions).toBe(8);
  });
});

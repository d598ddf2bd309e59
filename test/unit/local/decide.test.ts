// What the stand-in decides, from requests in the planner's own form.

import { describe, expect, it } from 'vitest';
import { type Decision, decide } from '../../../src/local/stand-in/decide.ts';
import { plannerRequest, type Turn } from './planner-request.ts';

/** A decision in one line: who is asked what, where the message moves, or the text. */
function brief(decision: Decision): string {
  if (decision.kind === 'text') return decision.text;
  const { agent, query, answers, to } = decision.input;
  if (decision.tool === 'reassign') return `reassign ${to}`;
  return `${agent} < ${query}${answers ? ` (${answers})` : ''}`;
}

const decided = (...args: Parameters<typeof plannerRequest>) => brief(decide(plannerRequest(...args)));

describe('a new question', () => {
  it.each([
    ['天气如何', 'weather'],
    ['上海天气如何', 'weather'],
    ['北京天气如何', 'weather'],
    ['明天伦敦会下雨吗？', 'weather'],
    ["What's the weather in New York?", 'weather'],
    ['how is the weather', 'weather'],
    ['help me write a python program', 'coder'],
    ['你能帮我写一个python程序吗？', 'coder'],
    ['what can I do in Beijing?', 'travel'],
    ['谁是美国总统', 'people'],
    ['用typescript写一个斐波那契函数', 'coder'],
    ['北京今天会下雨吗', 'weather'],
    ['曹操是谁', 'people'],
    ['介绍一下爱因斯坦', 'people'],
    ['Who was Julius Caesar?', 'people'],
    ['who was Einstein?', 'people'],
    ['推荐北京旅游路线', 'travel'],
    ['北京有什么好玩的', 'travel'],
    ['Please plan a trip to Beijing for me', 'travel'],
    ['帮我写一个python程序', 'coder'],
    ['write hello world in python', 'coder'],
    ['a fibonacci function in typescript', 'coder'],
    ['make me an html page', 'coder'],
    ['say hello world', 'helloworld'],
    ['wait 5 seconds', 'slow'],
    ['等10秒', 'slow'],
    ['flaky fail', 'flaky'],
    ['让 flaky 失败', 'flaky'],
  ])('%s goes to the agent whose card fits, in the same words', (question, agent) => {
    expect(decided([question])).toBe(`${agent} < ${question}`);
  });

  it.each([
    'tell me a joke',
    '今天星期几',
    'what day is it today?',
    'how old are you?',
    '你几岁了？',
    'write a poem about love',
    '讲个笑话',
    '天空为什么是蓝色的',
    'recommend a good movie',
  ])('%s fits nobody: it says so, and lists who can help with examples', (question) => {
    const said = decided([question]);
    expect(said).toMatch(/None of the agents fits|没有智能体适合/u);
    expect(said).toContain(/\p{Script=Han}/u.test(question) ? '- weather：“上海天气如何”' : '- weather: "What\'s the weather in Paris?"');
  });

  it.each(['hi', 'Hello!', '你好', '您好！'])('%s is greeted back', (greeting) => {
    expect(decided([greeting])).toMatch(/^(Hello|你好)/u);
  });

  it.each(['what can you do?', '你能做什么？', '你会做什么', 'who are you?', 'help', '你是谁', '你能帮我做什么', 'What can I ask you?'])(
    '%s is answered with a list of the agents',
    (question) => {
      expect(decided([question])).toMatch(/^(These agents can help|这些智能体可以帮忙)[\s\S]*- weather/u);
    },
  );

  it.each([
    ['translate that into French', 'cannot translate'],
    ['Can you shorten it?', 'cannot translate'],
    ['把它翻译成英文', '不会翻译'],
    ['总结一下上面的内容', '不会翻译'],
  ])('%s is declined with the last answer, nothing invented', (question, words) => {
    const said = decided(['上海天气如何', { report: '上海天气很热' }, question]);
    expect(said).toContain(words);
    expect(said).toContain('上海天气很热');
  });

  it('of thousands of senseless characters is answered quickly', () => {
    const start = performance.now();
    expect(decided(['x?!zq '.repeat(1000)])).toMatch(/^None of the agents fits/u);
    expect(decided(['呜，嗡。'.repeat(1250)])).toMatch(/^没有智能体适合/u);
    expect(decided(['嗡'.repeat(5000)])).toMatch(/^没有智能体适合/u);
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('without any agent says that none can be reached', () => {
    expect(decided(['天气如何'], { agents: [] })).toBe('现在没有可用的智能体。');
  });
});

describe('a question in two parts', () => {
  it.each([
    ['上海天气如何，然后介绍一下曹操', 'weather < 上海天气如何', '介绍一下曹操'],
    ["What's the weather in Paris and who was Ada Lovelace?", "weather < What's the weather in Paris", 'who was Ada Lovelace?'],
    ['Tell me the weather in Rome, and then plan a trip to Beijing', 'weather < Tell me the weather in Rome', 'plan a trip to Beijing'],
    ['先等3秒，然后告诉我上海天气', 'slow < 等3秒', '告诉我上海天气'],
    ['曹操是谁？上海天气如何？', 'people < 曹操是谁', '上海天气如何？'],
  ])('%s: first the one, then the other, then both answers', (question, first, second) => {
    expect(decided([question])).toBe(first);
    const [agent = '', query = ''] = first.split(' < ');
    const turns: Turn[] = [question, { agent, query, result: 'A1' }];
    const next = decided(turns);
    expect(next).toMatch(new RegExp(` < ${second.replace('?', '\\?')}$`, 'u'));
    const other = next.split(' < ')[0] ?? '';
    const done = decided([...turns, { agent: other, query: second, result: 'A2' }]);
    expect(done).toMatch(new RegExp(`^${agent}(: |：)A1\n\n${other}(: |：)A2$`, 'u'));
  });

  it.each(["What's the weather in Shanghai and Beijing?", '曹操和李白是谁', '上海和北京天气如何', 'write a page in html and css'])(
    '%s is one part: it goes whole to one agent',
    (question) => {
      expect(decided([question])).toMatch(new RegExp(` < ${question.replace('?', '\\?')}$`, 'u'));
    },
  );

  it('a question back in the first part is answered before the second is asked', () => {
    const question = '天气如何，然后介绍一下曹操';
    const asked = { agent: 'weather', query: '天气如何', result: 'input_required: 您问到哪里的天气' };
    expect(decided([question, asked, '上海'], { own: { q1: 'weather' } })).toBe('weather < 上海天气如何 (q1)');
    const answered = { agent: 'weather', query: '上海天气如何', result: '上海天气很热' };
    expect(decided([question, asked, '上海', answered])).toBe('people < 介绍一下曹操');
  });
});

describe('the report', () => {
  it("is the one agent's words exactly", () => {
    const turns: Turn[] = [
      '天气如何',
      { agent: 'weather', query: '天气如何', result: 'input_required: 您问到哪里的天气' },
      '上海',
      { agent: 'weather', query: '上海天气如何', result: '上海天气很热' },
    ];
    expect(decided(turns)).toBe('上海天气很热');
  });

  it.each([
    ['flaky fail', 'failed: failed, as you asked', 'flaky could not do it: failed, as you asked\nSo there is no answer to "flaky fail".'],
    ['让 flaky 拒绝', 'rejected: 按您的要求拒绝了', 'flaky 没有完成：按您的要求拒绝了\n因此“让 flaky 拒绝”没有得到回答。'],
  ])('of %s names the failure and what is missing', (question, result, said) => {
    expect(decided([question, { agent: 'flaky', query: question, result }])).toBe(said);
  });

  it('comes after one more agent that fits was tried', () => {
    const question = 'write hello world in python';
    const failed = { agent: 'coder', query: question, result: 'failed: no' };
    expect(decided([question, failed])).toBe(`helloworld < ${question}`);
    expect(decided([question, failed, { agent: 'helloworld', query: question, result: 'Hello World' }])).toBe('Hello World');
    const both = decided([question, failed, { agent: 'helloworld', query: question, result: 'failed: too' }]);
    expect(both).toMatch(/^coder could not do it: no\nhelloworld could not do it: too\n/u);
  });

  it('is given with what is known when no tool may be called', () => {
    const question = '上海天气如何，然后介绍一下曹操';
    const turns: Turn[] = [question, { agent: 'weather', query: '上海天气如何', result: '上海天气很热' }];
    expect(decided(turns, { forced: true })).toBe('weather：上海天气很热\n\n因此“介绍一下曹操”没有得到回答。');
    expect(decided(['天气如何'], { forced: true })).toMatch(/^没有智能体适合/u);
  });
});

const waiting: readonly Turn[] = ['天气如何', { agent: 'weather', query: '天气如何', result: 'input_required: 您问到哪里的天气' }];
const waitingInEnglish: readonly Turn[] = [
  "how's the weather?",
  { agent: 'weather', query: "how's the weather?", result: 'input_required: Which city?' },
];

describe('while an agent of this question waits for an answer', () => {
  it.each([
    ['上海', '上海天气如何'],
    ['北京', '北京天气如何'],
    ['在深圳', '深圳天气如何'],
    ['我在杭州', '杭州天气如何'],
    ['广州吧', '广州天气如何'],
    ['上海？', '上海天气如何'],
    ['上海呢', '上海天气如何'],
    ['我想问上海', '上海天气如何'],
    ['Paris', 'Paris天气如何'],
    ['上海的天气怎么样', '上海的天气怎么样'],
    ['是的', '天气如何：是的'],
    ['不用', '天气如何：不用'],
    ['3', '天气如何：3'],
    ['我住在成都', '成都天气如何'],
    ['不知道', '天气如何：不知道'],
    ['明天下午三点', '明天下午三点天气如何'],
    ['随便哪里都行', '随便哪里都行天气如何'],
  ])('%s answers it with one complete sentence', (said, query) => {
    expect(decided([...waiting, said], { own: { q1: 'weather' } })).toBe(`weather < ${query} (q1)`);
  });

  it.each([
    ['Shanghai', "how's the weather: Shanghai"],
    ['New York', "how's the weather: New York"],
    ['in Paris please', "how's the weather: in Paris please"],
    ['I mean London', "how's the weather: I mean London"],
    ['London?', "how's the weather: London"],
    ['yes', "how's the weather: yes"],
    ['no thanks', "how's the weather: no thanks"],
    ['2026-05-01', "how's the weather: 2026-05-01"],
    ['5 seconds', "how's the weather: 5 seconds"],
    ['Will Smith', "how's the weather: Will Smith"],
    ['the small town where my mother was born', "how's the weather: the small town where my mother was born"],
  ])('%s answers it with question and answer', (said, query) => {
    expect(decided([...waitingInEnglish, said], { own: { q1: 'weather' } })).toBe(`weather < ${query} (q1)`);
  });

  it.each([
    '曹操是谁',
    '帮我写一个python程序',
    '推荐北京旅游路线',
    'who was Einstein?',
    'tell me a joke',
    '今天星期几',
    'what can you do?',
    'write hello world in python',
    'hello',
    '你好',
    '谢谢',
    '讲个笑话',
    '李白是什么时候的人？',
    'Can you recommend a restaurant?',
    'how do I get a visa for Japan?',
    'translate that into French',
    'I need a fibonacci function in typescript',
    'flaky fail',
    '等10秒',
    '为什么天空是蓝色的',
  ])('%s is a change of subject', (said) => {
    expect(decided([...waiting, said], { own: { q1: 'weather' } })).toBe('reassign new');
  });

  it('thousands of characters are no answer', () => {
    expect(decided([...waiting, 'x'.repeat(5000)], { own: { q1: 'weather' } })).toBe('reassign new');
  });

  it.each(['算了', '取消', 'never mind'])('%s ends the question', (said) => {
    expect(decided([...waiting, said], { own: { q1: 'weather' } })).toMatch(/^(好的，那就先不问了。|All right, I leave it at that.)$/u);
  });

  it('a message that cannot be moved goes to the agent that asks', () => {
    const request = plannerRequest([...waiting, '曹操是谁']);
    expect(brief(decide(request))).toMatch(/^weather < /u);
  });

  it('an answer that was not enough goes on with the same agent', () => {
    const turns: Turn[] = [
      ...waiting,
      '明天',
      { agent: 'weather', query: '明天天气如何', result: 'input_required: 您问到哪里的天气' },
      '上海',
    ];
    expect(decided(turns, { own: { q2: 'weather' } })).toBe('weather < 上海明天天气如何 (q2)');
  });

  it('an unconfirmed call is asked again or left, as the user says', () => {
    const unsure: Turn[] = ['天气如何', { agent: 'weather', query: '天气如何', result: 'unknown: Shall I ask again, or leave it?' }];
    expect(decided([...unsure, '再问一次'], { own: { q1: 'weather' } })).toBe('weather < 天气如何 (q1)');
    expect(decided([...unsure, 'check again'], { own: { q1: 'weather' } })).toBe('weather < 天气如何 (q1)');
    expect(decided([...unsure, '算了'], { own: { q1: 'weather' } })).toBe('好的，那就先不问了。');
    expect(decided([...unsure, '曹操是谁'], { own: { q1: 'weather' } })).toBe('reassign new');
  });
});

describe('a new message while a question is open elsewhere', () => {
  const before: readonly Turn[] = ['天气如何', '曹操是谁', { report: '曹操是东汉末年的政治家。' }];

  it.each([
    '上海',
    '北京',
    '在深圳',
    '我在杭州',
    'Shanghai',
    'New York',
    'in Paris please',
    '广州吧',
    'I mean London',
    'Springfield',
    '是的',
    '不用',
    '42',
  ])('%s is moved to that question', (said) => {
    expect(decided([...before, said], { others: ['q2'] })).toBe('reassign q2');
  });

  it.each([
    ['李白是谁', 'people < 李白是谁'],
    ['上海天气如何', 'weather < 上海天气如何'],
    ['write hello world in python', 'coder < write hello world in python'],
    ['旅游路线', 'travel < 旅游路线'],
  ])('%s is a question of its own', (said, expected) => {
    expect(decided([...before, said], { others: ['q2'] })).toBe(expected);
  });

  it.each(['hello', 'tell me a joke', 'what can you do?', '今天星期几'])('%s is answered by itself', (said) => {
    expect(decided([...before, said], { others: ['q2'] })).not.toMatch(/^reassign/u);
  });

  it('goes to the newest of several', () => {
    expect(decided([...before, '上海'], { others: ['q2', 'q3'] })).toBe('reassign q3');
  });
});

describe('an agent that is left alone', () => {
  it('is named with the time, and so are those who can help', () => {
    const said = decided(['上海天气如何'], { down: ['weather'], agents: ['weather', 'people'] });
    expect(said).toContain('weather 无法连接，10:00:00 UTC 之前不再调用。');
    expect(said).toContain('- people');
    expect(said).not.toContain('- weather');
  });
});

// An agent waits for an answer: what belongs to its question, what does not, and what it gets to hear.

import { describe, expect, it } from 'vitest';
import { type Answered, table } from '../support/client.ts';
import { messagesTo, useTown } from '../support/town.ts';

const town = useTown();

const say = (content: string, conversation: string | null = null, more: Readonly<Record<string, unknown>> = {}): Promise<Answered> =>
  town().client.say(conversation, content, more);

/** What the weather agent was told since a moment. */
function listen() {
  const { length } = messagesTo(town().agent('weather'));
  return () => messagesTo(town().agent('weather')).slice(length);
}
const textOf = (message: ReturnType<typeof messagesTo>[number]) => message.parts.map((part) => part.text ?? '').join('');

const caoCao = '曹操是东汉末年的政治家、军事家和诗人，三国中曹魏政权的奠基人。';

it('a change of subject leaves the question open, and its answer, said later, finds it', async () => {
  const told = listen();
  const asked = await say('天气如何');
  const aside = await say('曹操是谁', asked.conversation_id);
  expect(aside).toMatchObject({ status: 'answered', answer: caoCao });
  expect(aside.intention_id).not.toBe(asked.intention_id);
  expect(await town().client.status(asked.conversation_id, asked.intention_id)).toBe('input_required');
  const answered = await say('上海', asked.conversation_id);
  expect(answered).toMatchObject({ status: 'answered', answer: '上海天气很热', intention_id: asked.intention_id });

  const rows = await town().client.rows(asked.conversation_id);
  expect(table(rows)).toEqual([
    ['i1', 'user', null, '天气如何', null],
    ['i1', 'agent', 'query', '天气如何', 'plan'],
    ['i1', 'agent', 'input_required', '您问到哪里的天气', 'weather'],
    ['i2', 'user', null, '曹操是谁', null],
    ['i2', 'agent', 'reassigned', '', 'plan'],
    ['i2', 'agent', 'query', '曹操是谁', 'plan'],
    ['i2', 'agent', 'answer', caoCao, 'people'],
    ['i2', 'assistant', null, caoCao, null],
    ['i1', 'user', null, '上海', null],
    ['i1', 'agent', 'reassigned', '', 'plan'],
    ['i1', 'agent', 'query', '上海天气如何', 'plan'],
    ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
    ['i1', 'assistant', null, '上海天气很热', null],
  ]);

  const [first, second, ...others] = told();
  expect(others).toEqual([]);
  expect([first, second].map((message) => message && textOf(message))).toEqual(['天气如何', '上海天气如何']);
  expect(first?.taskId || null).toBeNull();
  expect(second?.taskId).toBeTruthy();
  expect(second?.contextId).toBeTruthy();
});

describe('while the weather agent waits', () => {
  it.each([
    ['天气如何', '李白是谁'],
    ['天气如何', '推荐北京旅游路线'],
    ['天气如何', '写一个网页'],
    ['天气如何', '你好'],
    ['天气如何', '说一声 hello world'],
    ['What is the weather?', 'Who was Ada Lovelace?'],
    ['What is the weather?', 'Plan a trip to Beijing'],
    ['What is the weather?', 'write hello world in python'],
    ['What is the weather?', 'what can you do?'],
    ['What is the weather?', 'How do I bake bread?'],
  ])('after %s, it hears nothing of %s', async (question, aside) => {
    const told = listen();
    const asked = await say(question);
    expect(asked).toMatchObject({ status: 'input_required', question: { agent: 'weather' } });
    const answered = await say(aside, asked.conversation_id);
    expect(answered.status).toBe('answered');
    expect(answered.intention_id).not.toBe(asked.intention_id);
    expect(told().map(textOf)).toEqual([question]);
    expect(await town().client.status(asked.conversation_id, asked.intention_id)).toBe('input_required');
  });

  it.each([
    ['天气如何', '北京', '北京'],
    ['天气如何', '在深圳吧', '深圳'],
    ['天气如何', '我在广州', '广州'],
    ['天气如何', '杭州。', '杭州'],
    ['What is the weather?', 'London', 'London'],
    ['What is the weather?', 'in Paris', 'Paris'],
    ['What is the weather?', 'Tokyo please', 'Tokyo'],
    ['What is the weather?', 'I am in New York', 'New York'],
  ])('after %s, %s answers it', async (question, answer, place) => {
    const told = listen();
    const asked = await say(question);
    const answered = await say(answer, asked.conversation_id);
    expect(answered).toMatchObject({ status: 'answered', intention_id: asked.intention_id });
    expect(answered.answer).toContain(place);
    const [first, second, ...others] = told();
    expect(others).toEqual([]);
    expect(first?.taskId || null).toBeNull();
    expect(second && textOf(second)).toContain(place);
    const row = (await town().client.rows(asked.conversation_id)).find(({ type }) => type === 'input_required');
    expect(row?.call_id).toBe(asked.question?.call_id);
    expect(second?.taskId).toBeTruthy();
    expect(second?.contextId).toBeTruthy();
  });

  it('the answer goes to the task and context that asked', async () => {
    const told = listen();
    const [one, other] = [await say('天气如何'), await say('天气怎么样')];
    await say('上海', other.conversation_id);
    await say('北京', one.conversation_id);
    const [, , toOther, toOne] = told();
    expect(toOther?.taskId).not.toBe(toOne?.taskId);
    expect(toOther?.contextId).not.toBe(toOne?.contextId);
    expect([toOther, toOne].map((message) => message && textOf(message))).toEqual(['上海天气怎么样', '北京天气如何']);
  });

  it('"never mind" ends it', async () => {
    const told = listen();
    const asked = await say('What is the weather?');
    const left = await say('never mind', asked.conversation_id);
    expect(left).toMatchObject({ status: 'answered', intention_id: asked.intention_id });
    expect(told()).toHaveLength(1);
  });
});

describe('answer_to', () => {
  it('names a call: the message answers it, whatever was said in between', async () => {
    const asked = await say('天气如何');
    await say('曹操是谁', asked.conversation_id);
    const answered = await say('上海', asked.conversation_id, { answer_to: asked.question?.call_id });
    expect(answered).toMatchObject({ status: 'answered', answer: '上海天气很热', intention_id: asked.intention_id });
    const rows = await town().client.rows(asked.conversation_id);
    expect(rows.filter(({ type }) => type === 'reassigned')).toHaveLength(1);
  });

  it('names an intention: the same', async () => {
    const asked = await say('天气如何');
    await say('曹操是谁', asked.conversation_id);
    const answered = await say('上海', asked.conversation_id, { answer_to: asked.intention_id });
    expect(answered).toMatchObject({ status: 'answered', answer: '上海天气很热', intention_id: asked.intention_id });
  });

  it('null is something new, even if it would fit the question', async () => {
    const told = listen();
    const asked = await say('天气如何');
    const answered = await say('曹操是谁', asked.conversation_id, { answer_to: null });
    expect(answered).toMatchObject({ status: 'answered', answer: caoCao });
    expect(answered.intention_id).not.toBe(asked.intention_id);
    expect(told()).toHaveLength(1);
    const rows = await town().client.rows(asked.conversation_id);
    expect(rows.some(({ type }) => type === 'reassigned')).toBe(false);
    expect(await town().client.status(asked.conversation_id, asked.intention_id)).toBe('input_required');
  });

  it('names a question that is no longer open: refused, and nothing is said to anybody', async () => {
    const asked = await say('天气如何');
    await say('上海', asked.conversation_id);
    const before = (await town().client.rows(asked.conversation_id)).length;
    for (const answer_to of [asked.question?.call_id, asked.intention_id, '0198a000-0000-7000-8000-000000000000']) {
      const response = await town().client.post(town().client.messagesOf(asked.conversation_id), { content: '北京', answer_to });
      expect(response.status).toBe(409);
      expect(await response.json()).toMatchObject({ code: 'question_closed' });
    }
    expect(await town().client.rows(asked.conversation_id)).toHaveLength(before);
  });
});

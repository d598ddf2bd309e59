// What counts of a model's answer, and what it is told of the rest.

import { expect, test } from 'vitest';
import { agentName, type CallId, callId } from '../../../src/intention/message.ts';
import { parse } from '../../../src/plan/parse.ts';
import type { RawDecision, RawToolCall } from '../../../src/plan/plan.ts';
import type { Offer } from '../../../src/plan/prompt.ts';
import { question } from '../../support/step-context.ts';

const offer: Offer = {
  agents: [agentName('weather'), agentName('ns/people')],
  down: new Map([[agentName('travel'), '09:08:07 UTC']]),
  calls: 2,
  questions: new Map([['q1', question('c1', 'weather', 'Where?', 'Weather?')]]),
  reassign: new Map<string, CallId | 'new'>([
    ['q2', callId('c2')],
    ['new', 'new'],
  ]),
};
const nothing: Offer = { agents: [], down: new Map(), calls: 0, questions: new Map(), reassign: new Map() };

const raw = (given: Partial<RawDecision>): RawDecision => ({ text: '', toolCalls: [], finish: 'stop', usage: { model: 'm' }, ...given });
const tool = (name: string, input: unknown, more: Partial<RawToolCall> = {}): RawToolCall => ({ id: 'call_1', name, input, ...more });
const calls = (...inputs: readonly unknown[]) => raw({ finish: 'tool-calls', toolCalls: inputs.map((input) => tool('call_agent', input)) });
const good = { agent: 'weather', query: '上海天气如何', reason: 'It fits.' };
const planned = { ...good, toolCallId: 'call_1' };

test('text that the model ended itself is the report', () => {
  expect(parse(raw({ text: ' 上海\u0000天气很热\ud800\r\n' }), offer)).toEqual({
    kind: 'plan',
    plan: { kind: 'report', text: '上海天气很热\ufffd' },
  });
});

test.each(['length', 'content-filter', 'error', 'interrupted', 'other'] as const)('finish %s is no decision, whatever came', (finish) => {
  expect(parse(raw({ text: 'Half', finish }), offer)).toEqual({ kind: 'failed', code: 'model_down' });
  expect(parse({ ...calls(good), finish }, offer)).toEqual({ kind: 'failed', code: 'model_down' });
});

test.each(['stop', 'tool-calls'] as const)('a call counts with finish %s, and text beside it is a note', (finish) => {
  expect(parse({ ...calls(good), finish, text: 'Let me look.' }, offer)).toEqual({
    kind: 'plan',
    plan: { kind: 'call', note: 'Let me look.', calls: [planned] },
  });
});

test.each<[string, unknown, unknown[]]>([
  ['encoded twice', JSON.stringify(good), [planned]],
  ['without a reason', { agent: 'weather', query: 'Q' }, [{ agent: 'weather', query: 'Q', reason: '', toolCallId: 'call_1' }]],
  ['with an unknown key', { ...good, extra: 1 }, [planned]],
  ['that answers a question', { ...good, answers: 'q1' }, [{ ...planned, answers: 'c1' }]],
  ['that answers none', { ...good, answers: 'new' }, [{ ...planned, answers: 'new' }]],
  ['with an empty answers', { ...good, answers: '' }, [planned]],
  ['with a null answers', { ...good, answers: null }, [planned]],
  ['of a namespace', { ...good, agent: 'ns/people' }, [{ ...planned, agent: 'ns/people' }]],
])('a call %s is taken', (_, input, expected) => {
  expect(parse(calls(input), offer)).toEqual({ kind: 'plan', plan: { kind: 'call', note: '', calls: expected } });
});

test('equal calls are one, and of more calls than are left the first count', () => {
  const other = { ...good, query: '北京天气如何' };
  const third = { ...good, query: '广州天气如何' };
  expect(parse(calls(good, { ...good, reason: 'Again.' }, other, third), offer)).toMatchObject({
    plan: { calls: [{ query: '上海天气如何' }, { query: '北京天气如何' }] },
  });
});

test('texts are cut: query 4 KiB, reason 500, note 2,000', () => {
  const parsed = parse(
    { ...calls({ agent: 'weather', query: '热'.repeat(5_000), reason: 'r'.repeat(900) }), text: 'n'.repeat(9_000) },
    offer,
  );
  const plan = parsed.kind === 'plan' && parsed.plan.kind === 'call' ? parsed.plan : null;
  expect([plan?.calls[0].query.length, plan?.calls[0].reason.length, plan?.note.length]).toEqual([1_366, 500, 2_000]);
});

test.each([
  ['q2', 'c2'],
  ['new', 'new'],
])('reassign to %s wins over calls beside it', (to, target) => {
  const both = raw({ finish: 'tool-calls', toolCalls: [tool('call_agent', good), tool('reassign', { to }, { id: 'call_2' })] });
  expect(parse(both, offer)).toEqual({ kind: 'plan', plan: { kind: 'reassign', note: '', to: target, toolCallId: 'call_2' } });
});

test.each<[string, RawDecision, Offer, RegExp]>([
  ['an unknown agent', calls({ ...good, agent: 'nobody' }), offer, /weather.*ns\/people/],
  [
    'an agent that is down',
    calls({ ...good, agent: 'travel' }),
    offer,
    /travel is down until 09:08:07 UTC and cannot be called before then\.$/,
  ],
  [
    'an agent that is down, as the validator sees it',
    raw({ finish: 'tool-calls', toolCalls: [tool('call_agent', { ...good, agent: 'travel' }, { invalid: 'not among the choices' })] }),
    offer,
    /travel is down until 09:08:07 UTC/,
  ],
  ['no query', calls({ agent: 'weather', reason: '' }), offer, /query/],
  ['an empty query', calls({ ...good, query: ' \u0000 ' }), offer, /is empty/],
  ['an unknown question', calls({ ...good, answers: 'q7' }), offer, /q1.*new/],
  ["another agent's question", calls({ ...good, agent: 'ns/people', answers: 'q1' }), offer, /q1 was asked by weather/],
  ['arguments that are no JSON', calls('{"agent":"wea'), offer, /expected object/],
  [
    'what the adapter found',
    raw({ finish: 'tool-calls', toolCalls: [tool('call_agent', '{', { invalid: 'JSON parsing failed' })] }),
    offer,
    /JSON parsing failed/,
  ],
  ['an unknown tool', raw({ finish: 'tool-calls', toolCalls: [tool('look up', {})] }), offer, /no tool "look up"/],
  [
    'reassign that is not offered',
    raw({ finish: 'tool-calls', toolCalls: [tool('reassign', { to: 'new' })] }),
    { ...offer, reassign: new Map() },
    /no tool "reassign"/,
  ],
  ['reassign to nowhere', raw({ finish: 'tool-calls', toolCalls: [tool('reassign', { to: 'q1' })] }), offer, /q2.*new/],
  ['a call where none is left', calls(good), nothing, /Write the report/],
])('%s is told in words, as results of the calls', (_, decision, offered, words) => {
  const parsed = parse(decision, offered);
  expect(parsed).toMatchObject({ kind: 'complaint', complaint: expect.stringMatching(words) });
  expect(parsed.kind === 'complaint' ? parsed.turns : []).toMatchObject([
    { role: 'calls', calls: [{ id: 'repair-1', tool: expect.stringMatching(/^\w+$/), input: expect.any(Object) }] },
    { role: 'results', results: [{ id: 'repair-1', text: expect.stringMatching(words) }] },
  ]);
});

test('one bad call of two: both are told, the good one that it was not done', () => {
  expect(parse(calls(good, { ...good, agent: 'nobody' }), offer)).toMatchObject({
    turns: [
      { calls: [{ id: 'repair-1', input: good }, { id: 'repair-2' }] },
      { results: [{ text: 'not done, since another call beside it was wrong' }, { text: expect.stringMatching(/^not done: /) }] },
    ],
  });
});

test.each<[string, RawDecision]>([
  ['nothing', raw({})],
  ['blanks', raw({ text: ' \n ' })],
  ['talk of calls without any', raw({ text: 'I will call weather.', finish: 'tool-calls' })],
])('%s is no report', (_, decision) => {
  expect(parse(decision, offer)).toMatchObject({ kind: 'complaint', turns: [{ role: 'user', text: expect.stringContaining('empty') }] });
});

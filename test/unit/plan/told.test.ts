// What the user decides of a call in doubt becomes a plan without a model, or nothing.

import { expect, test } from 'vitest';
import type { Parts } from '../../../src/intention/message.ts';
import { toldPlan } from '../../../src/plan/told.ts';
import { agent, call, elsewhere, outcome, query, stepContext, user } from '../../support/step-context.ts';

const asked = [
  user(1, 'Book it'),
  query(2, 1, 0, 'c1', 'travel', 'Book the flight.'),
  outcome(3, 'input_required', 'c1', 'plan', 'I do not know.'),
];
const again = (parts: Parts = { answer_to: 'c1', resolve: 'retry' }) => user(4, 'Try again.', { parts });
const doubtful = { ...call('c1', 'travel', 'unknown'), query: 'Book the flight.' };
const context = stepContext({ messages: [...asked, again()], calls: [doubtful], agents: [agent('weather'), agent('travel')] });

test('the same query goes to the same agent, as the answer to the question', () => {
  expect(toldPlan(context)).toEqual({
    kind: 'call',
    note: '',
    calls: [{ agent: 'travel', query: 'Book the flight.', reason: 'The user asked to try again.', answers: 'c1', toolCallId: '' }],
  });
});

test('the reason is in the language of the query', () => {
  const plan = toldPlan({ ...context, calls: [{ ...doubtful, query: '订机票' }] });
  expect(plan).toMatchObject({ calls: [{ query: '订机票', reason: '用户要求重试。' }] });
});

test('of two questions in doubt, the one that is meant', () => {
  const other = { ...call('c2', 'weather', 'unknown'), query: 'Rain?' };
  const messages = [...asked, again({ answer_to: 'c2', resolve: 'retry' })];
  expect(toldPlan({ ...context, messages, calls: [doubtful, other] })).toMatchObject({ calls: [{ agent: 'weather', answers: 'c2' }] });
});

test('no limit and no breaker stands against it', () => {
  const down = { ...agent('travel'), downUntilMs: 10_000 };
  expect(toldPlan({ ...context, step: 50, nowMs: 9_000, deadlineMs: 0, agents: [down] })?.kind).toBe('call');
});

test('said twice it is one call', () => {
  expect(toldPlan({ ...context, messages: [...asked, again(), { ...again(), seq: 5 }] })).toMatchObject({ calls: [{ answers: 'c1' }] });
});

test.each([
  ['an answer in words', { messages: [...asked, again({ answer_to: 'c1' })] }],
  ['a message about nothing known', { messages: [...asked, again({ answer_to: 'c9', resolve: 'retry' })] }],
  ['one with a later word of the user', { messages: [...asked, again(), user(5, 'No, wait')] }],
  ['one that was decided on', { messages: [...asked, again(), query(5, 2, 0, 'c2', 'travel', 'Book the flight.')] }],
  ['one that moved elsewhere', { messages: [...asked, { ...again(), movedTo: elsewhere }] }],
  ['a call that was found meanwhile', { calls: [{ ...doubtful, state: 'completed' as const }] }],
  ['a call whose agent asks something else by now', { calls: [{ ...doubtful, state: 'input_required' as const }] }],
  ['an agent that is gone', { agents: [agent('weather')] }],
])('%s is for the model', (_, given) => {
  expect(toldPlan({ ...context, ...given })).toBeNull();
});

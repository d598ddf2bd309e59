// The conversations of the README, row by row, as a caller reads them.

import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from 'vitest';
import { table } from '../support/client.ts';
import { startTown, type Town } from '../support/town.ts';

let town: Town;
beforeAll(async () => {
  town = await startTown({ bundle: inject('bundle') });
});
afterAll(() => town?.close());

it('an agent asks back, is answered, and the answer is reported', async () => {
  onTestFailed(() => console.log(town.service.log.join('\n')));
  const { client } = town;
  const asked = await client.say(null, '天气如何');
  expect(asked).toMatchObject({ status: 'input_required', question: { agent: 'weather', content: '您问到哪里的天气' } });
  const answered = await client.say(asked.conversation_id, '上海');
  expect(answered).toMatchObject({ status: 'answered', answer: '上海天气很热', intention_id: asked.intention_id });
  expect(table(await client.rows(asked.conversation_id))).toEqual([
    ['i1', 'user', null, '天气如何', null],
    ['i1', 'agent', 'query', '天气如何', 'plan'],
    ['i1', 'agent', 'input_required', '您问到哪里的天气', 'weather'],
    ['i1', 'user', null, '上海', null],
    ['i1', 'agent', 'query', '上海天气如何', 'plan'],
    ['i1', 'agent', 'answer', '上海天气很热', 'weather'],
    ['i1', 'assistant', null, '上海天气很热', null],
  ]);
});

// What a decision costs that was made only at the second try.

import { expect, test } from 'vitest';
import type { RawDecision } from '../../../src/plan/plan.ts';
import { think } from '../../../src/step/think.ts';
import { refusingWorld } from '../../support/refusing-world.ts';
import { agent, stepContext, user } from '../../support/step-context.ts';

test('the tokens of a try that was thrown away count too', async () => {
  const answers: RawDecision[] = [
    { text: '', toolCalls: [], finish: 'stop', usage: { model: 'm', input_tokens: 100 } },
    { text: 'Here you are.', toolCalls: [], finish: 'stop', usage: { model: 'm', input_tokens: 110, output_tokens: 5 } },
  ];
  const world = refusingWorld({
    clock: { nowMs: () => 0 },
    planner: { decide: async () => answers.shift() ?? Promise.reject(new Error('nobody asks a third time')) },
  });
  const input = await think(world, stepContext({ messages: [user(1, 'hello')], agents: [agent('weather')] }), new AbortController().signal);
  expect(input).toMatchObject({ kind: 'plan', plan: { kind: 'report' }, usage: { model: 'm', input_tokens: 210, output_tokens: 5 } });
  expect(input.kind === 'plan' && input.usage).not.toHaveProperty('cached_tokens');
});

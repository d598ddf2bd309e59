// What a call's own Runner makes of a task that it finds at work.

import { expect, test } from 'vitest';
import type { CallState } from '../../../src/intention/call.ts';
import { armLookMs } from '../../../src/intention/limits.ts';
import { runCall } from '../../../src/step/call.ts';
import { refusingWorld } from '../../support/refusing-world.ts';
import { agent, call as callOf } from '../../support/step-context.ts';

async function lookedUp(state: CallState): Promise<readonly string[]> {
  const asked: string[] = [];
  const call = { ...callOf('c1', 'weather', state), taskId: 't1', deadlineMs: 1_000_000, sentAtMs: 0, polls: 9 };
  const world = refusingWorld({
    ledger: {
      claimCall: async () => ({ kind: 'claimed', fresh: false, call, agent: agent('weather'), nowMs: 500_000, inMs: 60_000 }),
      bind: async (_, task, context, keeps) => {
        asked.push(`bind ${task} in ${context}, ${keeps ? 'read on' : 'given away'}`);
        return true;
      },
    },
    agents: {
      get: async () => ({
        taskId: 't1',
        contextId: 'x1',
        state: 'working',
        content: '',
        parts: [],
        schema: null,
        fingerprint: 'at work',
        messageIds: [],
      }),
    },
    runner: { arm: async (name, inMs) => void asked.push(`arm ${name} in ${inMs}`) },
    clock: { nowMs: () => 500_000 },
  });
  const alarm = { name: 'call:c1', signal: new AbortController().signal, endsAtMs: 1_000_000, failures: 0, bugs: 0 } as const;
  asked.push(`again in ${await runCall(world, alarm)}`);
  return asked;
}

test('a task that goes on with what was sent is at work: it is looked up less and less often from there on', async () => {
  expect(await lookedUp('sending')).toEqual([`arm call:c1 in ${armLookMs}`, 'bind t1 in x1, given away', 'again in 60000']);
});

test('a task at work, or one in doubt, is only looked up again', async () => {
  expect(await lookedUp('working')).toEqual(['again in 60000']);
  expect(await lookedUp('unknown')).toEqual(['again in 60000']);
});

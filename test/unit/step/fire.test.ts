// How long a stream is read, and what becomes of a call whose reader leaves it.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Agent } from '../../../src/agent/card.ts';
import type { AgentReply } from '../../../src/agent/reply.ts';
import { Fault } from '../../../src/fault.ts';
import type { Call } from '../../../src/intention/call.ts';
import { againMs, alarmMs, armLookMs, bindAfterMs, leaveStreamAfterMs, readStreamMs, renewEveryMs } from '../../../src/intention/limits.ts';
import type { Observed } from '../../../src/intention/rules.ts';
import { fire } from '../../../src/step/fire.ts';
import { refusingWorld } from '../../support/refusing-world.ts';
import { agent as agentOf, call as callOf } from '../../support/step-context.ts';

const pushing: Agent = { ...agentOf('weather'), card: { ...agentOf('weather').card, pushNotifications: true } };
const plain = agentOf('weather');
const recognising: Agent = { ...plain, deduplicates: true };

interface Reading {
  /** What the ledger and the Runner were asked, with the seconds since the send. */
  readonly asked: string[];
  /** When the stream was left. */
  leftMs: number | null;
  ended: Observed | null | undefined;
}

/** A send to an agent that names its task, or not, and then says nothing more. `held`: whether the lease can be renewed. */
function listen(agent: Agent, taskId: string | null, held: () => boolean = () => true, allowedMs = 3_600_000): Reading {
  const began = Date.now();
  const call: Call = { ...callOf('c1', 'weather', 'sending'), deadlineMs: began + allowedMs, sentAtMs: began };
  const reading: Reading = { asked: [], leftMs: null, ended: undefined };
  const note = (what: string) => void reading.asked.push(`${(Date.now() - began) / 1_000} ${what}`);
  const world = refusingWorld({
    ledger: {
      observe: async (_, closing) => {
        note(`observe ${closing.state}`);
        return { message: null, status: 'calling', wake: [] };
      },
      bind: async (_, task, _context, keeps) => {
        note(`bind ${task}, ${keeps ? 'read on' : 'given away'}`);
        return true;
      },
      again: async () => {
        note('again');
        return true;
      },
      renew: async () => held(),
    },
    archive: { call: async () => call },
    agents: {
      async *send(_agent, _call, _parts, signal) {
        if (taskId !== null) yield { kind: 'bound', taskId, contextId: null };
        await new Promise<void>((left) => signal.addEventListener('abort', () => left()));
        reading.leftMs = Date.now() - began;
        throw new Fault('aborted');
      },
      get: async () => null,
    },
    runner: { arm: async (name, inMs) => note(`arm ${name} in ${inMs}`) },
    clock: { nowMs: () => Date.now() },
  });
  const alarm = { name: 'call:c1' as const, signal: new AbortController().signal, endsAtMs: began + alarmMs, failures: 0, bugs: 0 };
  void fire(world, call, agent, [], alarm).then((observed) => {
    reading.ended = observed;
  });
  return reading;
}

describe('a stream that says nothing more', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is left after a minute when its agent pushes: the call goes to its own Runner', async () => {
    const reading = listen(pushing, 't1');
    await vi.advanceTimersByTimeAsync(leaveStreamAfterMs - 1);
    expect(reading.leftMs).toBeNull();
    await vi.advanceTimersByTimeAsync(1);
    expect(reading).toEqual({
      asked: [`${bindAfterMs / 1_000} bind t1, read on`, `60 arm call:c1 in ${armLookMs}`, '60 bind t1, given away'],
      leftMs: leaveStreamAfterMs,
      ended: null,
    });
  });

  it('is read for twelve minutes when its agent does not push', async () => {
    const reading = listen(plain, 't1');
    await vi.advanceTimersByTimeAsync(readStreamMs - 1);
    expect(reading.leftMs).toBeNull();
    await vi.advanceTimersByTimeAsync(1);
    expect(reading).toMatchObject({ leftMs: readStreamMs, ended: null });
    expect(reading.asked.at(-1)).toBe(`${readStreamMs / 1_000} bind t1, given away`);
  });

  it('is not left for a push while nobody knows its task', async () => {
    const reading = listen(pushing, null);
    await vi.advanceTimersByTimeAsync(readStreamMs - 1);
    expect(reading.leftMs).toBeNull();
    await vi.advanceTimersByTimeAsync(1);
    expect(reading.leftMs).toBe(readStreamMs);
    expect(reading.asked.at(-1)).toBe(`${readStreamMs / 1_000} observe unknown`);
  });

  it('is left at once when somebody else has the call', async () => {
    const reading = listen(plain, 't1', () => Date.now() < 0);
    await vi.advanceTimersByTimeAsync(renewEveryMs);
    expect(reading).toMatchObject({ leftMs: renewEveryMs, ended: null });
    expect(reading.asked.at(-1)).toBe('20 bind t1, given away');
  });

  it('is sent again to an agent that recognises it, but not when its time is up', async () => {
    const again = listen(recognising, null);
    const late = listen(recognising, null, undefined, 5_000);
    await vi.advanceTimersByTimeAsync(readStreamMs);
    expect(again.asked).toEqual([`${readStreamMs / 1_000} arm call:c1 in ${againMs}`, `${readStreamMs / 1_000} again`]);
    expect(late.asked.at(-1)).toBe('5 observe unknown');
    expect(late.asked).not.toContain('5 again');
  });
});

it('a call that was stopped before its reply was read gets the name of its task, so that it can be canceled', async () => {
  const asked: string[] = [];
  const call: Call = { ...callOf('c1', 'weather', 'sending'), deadlineMs: Date.now() + 60_000 };
  const reply: AgentReply = {
    taskId: 't1',
    contextId: null,
    state: 'input_required',
    content: 'Where?',
    parts: [],
    schema: null,
    fingerprint: 'asking',
    messageIds: [],
  };
  const world = refusingWorld({
    ledger: {
      observe: async () => {
        asked.push('observe');
        return { message: null, status: 'canceled', wake: [] };
      },
      bind: async (_, task) => {
        asked.push(`bind ${task}`);
        return false;
      },
    },
    files: { keep: async () => [] },
    agents: {
      async *send() {
        yield { kind: 'reply', reply };
      },
    },
    runner: { arm: async () => {} },
    clock: { nowMs: () => Date.now() },
  });
  const alarm = {
    name: 'intention:i1',
    signal: new AbortController().signal,
    endsAtMs: Date.now() + alarmMs,
    failures: 0,
    bugs: 0,
  } as const;
  await fire(world, call, plain, [], alarm);
  expect(asked).toEqual(['observe', 'bind t1']);
});

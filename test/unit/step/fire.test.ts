// How long a stream is read, and what becomes of a call whose reader leaves it.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Agent } from '../../../src/agent/card.ts';
import { Fault } from '../../../src/fault.ts';
import type { Call } from '../../../src/intention/call.ts';
import { alarmMs, bindAfterMs, firstLookMs, leaveStreamAfterMs, readStreamMs, renewEveryMs } from '../../../src/intention/limits.ts';
import type { Observed } from '../../../src/intention/rules.ts';
import { readSettings } from '../../../src/settings.ts';
import { fire } from '../../../src/step/fire.ts';
import type { World } from '../../../src/world.ts';
import { agent as agentOf, call as callOf } from '../../support/step-context.ts';

const pushing: Agent = { ...agentOf('weather'), card: { ...agentOf('weather').card, pushNotifications: true } };
const plain = agentOf('weather');
const settings = readSettings({
  DATABASE_URL: 'postgres://x',
  OPENAI_API_KEY: 'x',
  PUBLIC_URL: 'https://chat.example',
  PUSH_SECRET: 'sixteen letters!',
});
const refuse = async (): Promise<never> => {
  throw new Error('nobody asks for this');
};

interface Reading {
  /** What the ledger and the Runner were asked, with the seconds since the send. */
  readonly asked: string[];
  /** When the stream was left. */
  leftMs: number | null;
  ended: Observed | null | undefined;
}

/** A send to an agent that names its task, or not, and then says nothing more. `held`: whether the lease can be renewed. */
function listen(agent: Agent, taskId: string | null, held: () => boolean = () => true): Reading {
  const began = Date.now();
  const call: Call = { ...callOf('c1', 'weather', 'sending'), deadlineMs: began + 3_600_000, sentAtMs: began };
  const reading: Reading = { asked: [], leftMs: null, ended: undefined };
  const note = (what: string) => void reading.asked.push(`${(Date.now() - began) / 1_000} ${what}`);
  const world: World = {
    settings,
    ledger: {
      open: refuse,
      accept: refuse,
      claim: refuse,
      claimCall: refuse,
      decide: refuse,
      observe: async (_, closing) => {
        note(`observe ${closing.state}`);
        return { message: null, status: 'calling', wake: [] };
      },
      bind: async (_, task, _context, keeps) => {
        note(`bind ${task}, ${keeps ? 'read on' : 'given away'}`);
        return true;
      },
      again: refuse,
      renew: async () => held(),
      poke: refuse,
      stop: refuse,
      expire: refuse,
      cancelled: refuse,
      probed: refuse,
      keepAgents: refuse,
      agents: refuse,
      sweep: refuse,
    },
    archive: {
      conversation: refuse,
      conversations: refuse,
      messages: refuse,
      replay: refuse,
      intention: refuse,
      calls: refuse,
      call: async () => call,
      remove: refuse,
      ping: refuse,
    },
    files: { keep: refuse, restore: refuse, read: refuse },
    planner: { decide: refuse },
    agents: {
      read: refuse,
      async *send(_agent, _call, _parts, signal) {
        if (taskId !== null) yield { kind: 'bound', taskId, contextId: null };
        await new Promise<void>((left) => signal.addEventListener('abort', () => left()));
        reading.leftMs = Date.now() - began;
        throw new Fault('aborted');
      },
      async *subscribe() {},
      get: async () => null,
      cancel: refuse,
    },
    stream: { publish: () => {}, relay: () => ({ append: () => {}, end: () => {} }), close: () => {}, settled: async () => {} },
    subscriptions: { watch: refuse, async *events() {} },
    runner: { arm: async (name, inMs) => note(`arm ${name} in ${inMs}`), kick: refuse, disarm: refuse, stop: refuse },
    clock: { nowMs: () => Date.now() },
    ids: { next: () => crypto.randomUUID() },
    log: () => {},
  };
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
      asked: [`${bindAfterMs / 1_000} bind t1, read on`, `60 arm call:c1 in ${firstLookMs}`, '60 bind t1, given away'],
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
});

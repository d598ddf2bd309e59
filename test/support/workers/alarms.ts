// Alarm clocks that forget, and workers that take whatever is due, several of them the same at once. Effects: timers.

import { setTimeout as pause } from 'node:timers/promises';
import { alarmMs } from '../../../src/intention/limits.ts';
import type { RunnerName } from '../../../src/intention/rules.ts';
import { wake } from '../../../src/step/wake.ts';
import type { Runner, World } from '../../../src/world.ts';

/** Of all arms, as many are lost. */
const lostShare = 0.1;
/** Of all alarms, as many are left for a second worker when one has taken them. */
const sharedShare = 0.2;

export interface Alarms extends Runner {
  /** A name that is due; null: none is. */
  take(): RunnerName | null;
  /** As if that many milliseconds had passed. */
  shift(ms: number): void;
  readonly counts: { armed: number; lost: number; taken: number; together: number };
  /** Work under way under a name, to be aborted by `stop`. */
  readonly work: Map<RunnerName, Set<AbortController>>;
}

export function lossyAlarms(random: () => number): Alarms {
  const due = new Map<RunnerName, number>();
  const work = new Map<RunnerName, Set<AbortController>>();
  const counts = { armed: 0, lost: 0, taken: 0, together: 0 };
  const arm = async (name: RunnerName, inMs: number) => {
    counts.armed += 1;
    if (random() < lostShare) counts.lost += 1;
    else due.set(name, Math.min(due.get(name) ?? Number.POSITIVE_INFINITY, Date.now() + inMs));
  };
  return {
    counts,
    work,
    arm,
    kick: (name) => arm(name, 0),
    disarm: async (name) => {
      due.delete(name);
    },
    stop: (name) => {
      for (const controller of work.get(name) ?? []) controller.abort();
      return arm(name, 0);
    },
    take() {
      const now = Date.now();
      for (const [name, atMs] of due) {
        if (atMs > now) continue;
        if (random() >= sharedShare) due.delete(name);
        counts.taken += 1;
        if ((work.get(name)?.size ?? 0) > 0) counts.together += 1;
        return name;
      }
      return null;
    },
    shift(ms) {
      for (const [name, atMs] of due) due.set(name, atMs - ms);
    },
  };
}

/** Takes work until `over`. Its faults are the product's own to catch. */
export async function worker(world: World, alarms: Alarms, over: AbortSignal): Promise<void> {
  const troubles = new Map<RunnerName, { readonly failures: number; readonly bugs: number }>();
  while (!over.aborted) {
    const name = alarms.take();
    if (name === null) {
      await pause(3);
      continue;
    }
    const controller = new AbortController();
    const beside = alarms.work.get(name) ?? new Set();
    alarms.work.set(name, beside.add(controller));
    const before = troubles.get(name) ?? { failures: 0, bugs: 0 };
    const { inMs, ...trouble } = await wake(world, { name, signal: controller.signal, endsAtMs: Date.now() + alarmMs, ...before });
    beside.delete(controller);
    troubles.set(name, trouble);
    if (inMs !== null) await alarms.arm(name, inMs);
  }
}

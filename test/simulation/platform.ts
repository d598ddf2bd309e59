// The platform's alarm clocks: one per name, at least once, late, lost with their object, two at a time when it was moved. Effects: on the simulation.

import { alarmMs } from '../../src/intention/limits.ts';
import type { RunnerName } from '../../src/intention/rules.ts';
import { wake } from '../../src/step/wake.ts';
import type { Invocation } from './scheduler.ts';
import { type Simulation, short } from './simulation.ts';

export interface Platform {
  /** Only ever earlier. */
  arm(name: RunnerName, inMs: number): void;
  disarm(name: RunnerName): void;
  /** Aborts what is at work, then kicks. */
  stop(name: RunnerName): void;
  /** Every object forgets what it knew. */
  forget(): void;
}

interface RunnerObject {
  alarmAtMs: number | null;
  readonly work: Map<Invocation, AbortController>;
  failures: number;
  bugs: number;
}

/** An invocation ends then, whatever it does. */
const platformMs = 15 * 60_000;

/** Behaves as the class `Runner` does, around the same `wake`. `twins`: a name may be at work twice at once. */
export function platformOf(simulation: Simulation, twins: boolean): Platform {
  const { scheduler, chance, faults } = simulation;
  let objects = new Map<RunnerName, RunnerObject>();

  const objectOf = (name: RunnerName): RunnerObject => {
    const known = objects.get(name);
    if (known) return known;
    const fresh: RunnerObject = { alarmAtMs: null, work: new Map(), failures: 0, bugs: 0 };
    objects.set(name, fresh);
    return fresh;
  };

  function arm(name: RunnerName, inMs: number): void {
    const object = objectOf(name);
    const atMs = scheduler.nowMs() + inMs;
    if (object.alarmAtMs !== null && object.alarmAtMs <= atMs) return;
    object.alarmAtMs = atMs;
    const drawn = faults.draw(['alarm late', 'alarm lost']);
    if (drawn !== null) simulation.tell(`${drawn}: ${short(name)}`);
    if (drawn === 'alarm lost') object.alarmAtMs = null;
    else scheduler.at(inMs + (drawn === 'alarm late' ? chance.below(90_000) : 0), null, () => ring(name, object));
  }

  function ring(name: RunnerName, object: RunnerObject): void {
    if (objects.get(name) !== object || object.alarmAtMs === null || object.alarmAtMs > scheduler.nowMs()) return;
    // The one at work looks again when it is done.
    if (object.work.size > (twins ? 1 : 0)) return;
    object.alarmAtMs = null;
    start(name, object);
  }

  function start(name: RunnerName, object: RunnerObject): void {
    const control = new AbortController();
    const { bugs, failures } = object;
    const done = () => {
      object.work.delete(own);
      scheduler.cancel(end);
      if (object.alarmAtMs !== null) scheduler.at(object.alarmAtMs - scheduler.nowMs(), null, () => ring(name, object));
    };
    const own = simulation.invoke(
      name,
      async (world) => {
        const woken = await wake(world, { name, signal: control.signal, endsAtMs: Date.now() + alarmMs, failures, bugs });
        object.failures = woken.failures;
        object.bugs = woken.bugs;
        done();
        if (objects.get(name) !== object) return;
        if (woken.inMs !== null) arm(name, woken.inMs);
        if (faults.draw(['alarm twice']) !== null) {
          simulation.tell(`alarm twice: ${short(name)}`);
          arm(name, 0);
        }
        if (object.alarmAtMs === null && object.work.size === 0) objects.delete(name);
      },
      () => {
        // Its alarm was not acknowledged: it rings again.
        object.failures = 0;
        done();
        if (objects.get(name) === object) arm(name, chance.pick([0, 2_000, 8_000]));
      },
    );
    object.work.set(own, control);
    const end = scheduler.at(platformMs, own, () => simulation.kill(own));
  }

  return {
    arm,
    disarm(name) {
      const object = objects.get(name);
      if (!object || object.work.size > 0) return;
      object.alarmAtMs = null;
      objects.delete(name);
    },
    stop(name) {
      for (const [own, control] of objectOf(name).work) scheduler.at(0, own, () => control.abort());
      arm(name, 0);
    },
    forget() {
      objects = new Map();
    },
  };
}

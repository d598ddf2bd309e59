// What a Runner does when its alarm rings, without the clock that rings it. Effects: through the ports.

import { asFault, bugOf, toRetryMs } from '../fault.ts';
import type { World } from '../world.ts';
import type { Alarm } from './alarm.ts';
import { runCall } from './call.ts';
import { runIntention } from './run.ts';

export interface Woken {
  /** When to wake again; null: nothing is left to do. */
  readonly inMs: number | null;
  /** Of this work in a row, this time included; 0 when it went well. */
  readonly failures: number;
  readonly bugs: number;
}

/** One wake-up, whose faults are caught, counted and logged. Never throws: the platform drops an alarm that threw seven times. */
export async function wake(world: World, alarm: Alarm): Promise<Woken> {
  try {
    const inMs = await (alarm.name.startsWith('call:') ? runCall : runIntention)(world, alarm);
    return { inMs, failures: 0, bugs: 0 };
  } catch (thrown) {
    const fault = asFault(thrown);
    const failures = alarm.failures + 1;
    world.log('work failed', { runner: alarm.name, code: fault.code, failures, ...fault.notes, bug: bugOf(fault) });
    return { inMs: toRetryMs(fault, failures), failures, bugs: fault.code === 'internal' ? alarm.bugs + 1 : 0 };
  } finally {
    await world.stream.settled();
  }
}

// A place where an invocation may be killed or paused: right before or after something that others see. Effects: on the simulation.

import type { Invocation } from './scheduler.ts';
import { type Simulation, short } from './simulation.ts';

/** A crash, a pause, or nothing: where an invocation is about to do something, or has just done it. */
export async function point(simulation: Simulation, own: Invocation, where: 'before' | 'after', place: string): Promise<void> {
  const { scheduler, faults, chance } = simulation;
  const drawn = faults.draw([`kill ${where} ${place}`, 'pause past the lease', 'worker killed', 'objects lost']);
  if (drawn === null) return;
  simulation.tell(`${short(own.name)}: ${drawn} (${where} ${place})`);
  if (drawn === 'pause past the lease') {
    own.frozenUntilMs = scheduler.nowMs() + 61_000 + chance.below(120_000);
    await scheduler.pass(own, 0);
    return;
  }
  if (drawn === 'worker killed' || drawn === 'objects lost') simulation.crash(drawn === 'objects lost');
  else simulation.kill(own);
  await new Promise<never>(() => {});
}

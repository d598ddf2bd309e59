// The net behind the alarms: due work that nobody took up is kicked, never run here. Effects: through the ports.

import { maxSwept, sweepGraceMs } from '../intention/limits.ts';
import type { World } from '../world.ts';

/** What it finds is an anomaly, and logged as one. */
export async function sweepDue(world: World): Promise<void> {
  const names = await world.ledger.sweep(sweepGraceMs / 1_000, maxSwept);
  if (names.length === 0) return;
  world.log('swept', { anomaly: true, found: names.length });
  await Promise.allSettled(names.map((name) => world.runner.kick(name)));
}

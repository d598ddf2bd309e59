// One wake-up of a Runner: who wakes, and how long it may work. Types only.

import type { RunnerName } from '../intention/rules.ts';

export interface Alarm {
  readonly name: RunnerName;
  /** Aborts when somebody stops the work. */
  readonly signal: AbortSignal;
  /** When the platform ends it, with room to put things away; ms since the epoch on the Worker's clock. */
  readonly endsAtMs: number;
  /** Faults of this work in a row before this time; those of our own beside. */
  readonly failures: number;
  readonly bugs: number;
}

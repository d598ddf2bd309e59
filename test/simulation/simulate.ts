// Schedules one after another in this process, told of in reports. Effects: globals of this process, the store.

import { z } from 'zod';
import { registered } from './agents.ts';
import type { Counts } from './faults.ts';
import { takeOver } from './globals.ts';
import { type Result, run } from './schedule.ts';
import { createDoubleStore } from './store/double.ts';
import { createSqlStore } from './store/sql-store.ts';

/** What happened since the last one. */
export const reportSchema = z.object({
  done: z.number(),
  steps: z.number(),
  fired: z.record(z.string(), z.number()),
  violated: z.array(z.object({ schedule: z.number(), violations: z.array(z.string()), trail: z.array(z.string()) })),
});
export type Report = z.infer<typeof reportSchema>;

export interface Task {
  readonly seed: number;
  readonly store: 'double' | 'sql';
  /** The first one, and how many. */
  readonly schedule: number;
  readonly schedules: number;
  /** It ends after so many. */
  readonly violations: number;
  readonly trail: boolean;
}

/** So often a schedule is run twice, and has to take the same course: else nothing that is found could be found again. */
const twiceEvery = 50;
const reportEvery = 50;

export async function simulate(task: Task, tell: (report: Report) => Promise<void>): Promise<void> {
  const { seed } = task;
  const token = { value: '' };
  const options = { agents: registered, ids: { next: () => token.value } };
  const store = task.store === 'sql' ? await createSqlStore(options) : createDoubleStore(options);
  takeOver();
  let fired: Counts = new Map();
  let done = 0;
  let steps = 0;
  let left = task.violations;
  let violated: Report['violated'] = [];
  const flush = async () => {
    await tell({ done, steps, fired: Object.fromEntries(fired), violated });
    fired = new Map();
    violated = [];
    done = 0;
    steps = 0;
  };
  for (let schedule = task.schedule; schedule < task.schedule + task.schedules && left > 0; schedule += 1) {
    const result = await run({ store, token, fired }, seed, schedule, task.trail);
    const isTwice = schedule % twiceEvery === 0;
    const again = isTwice ? await run({ store, token, fired: new Map() }, seed, schedule, task.trail) : result;
    const violations = [...result.violations, ...(again.hash === result.hash ? [] : [parting(result, again)])];
    done += 1;
    steps += result.steps;
    if (violations.length > 0 || task.trail) violated.push({ schedule, violations, trail: [...result.trail] });
    if (violations.length > 0) left -= 1;
    if (violated.length > 0 || done >= reportEvery) await flush();
  }
  await flush();
  await store.close();
}

function parting(one: Result, other: Result): string {
  const place = one.trail.findIndex((line, index) => line !== other.trail[index]);
  return `the second run took another course: ${one.trail[place]} / ${other.trail[place]}`;
}

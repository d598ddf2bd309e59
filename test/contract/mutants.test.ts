// The simulator can fail: bugs put into a copy of the shipped source are found by it, each within a few hundred schedules.

import { expect, test } from 'vitest';
import { hunt } from '../simulation/mutants/hunt.ts';
import { mutants } from '../simulation/mutants/list.ts';

test.each(mutants.map((mutant) => ({ ...mutant })))('caught: $name', { timeout: 300_000 }, async (mutant) => {
  const { caught, why } = await hunt(mutant, 1);
  expect(caught, why).toBe(true);
});

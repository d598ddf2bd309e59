// `npm run mutants`: every mutant hunted, two at a time; one that survives fails the run. Effects: processes.

import { parseArgs } from 'node:util';
import { hunt, schedules } from './hunt.ts';
import { mutants } from './list.ts';

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' }, only: { type: 'string', default: '' } } });
const waiting = mutants.filter(({ name }) => name.includes(values.only));
const survivors: string[] = [];

const hunter = async () => {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const startedMs = performance.now();
    const { caught, why } = await hunt(mutant, Number(values.seed));
    if (!caught) survivors.push(mutant.name);
    console.log(
      `${caught ? 'caught' : 'ALIVE '} ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  ${mutant.name}: ${why}`,
    );
  }
};
await Promise.all([hunter(), hunter()]);
console.log(survivors.length === 0 ? `all caught within ${schedules} schedules` : `${survivors.length} survived`);
if (survivors.length > 0) process.exitCode = 1;

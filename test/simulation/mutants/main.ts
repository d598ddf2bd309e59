// `npm run mutants`: every mutant hunted, two at a time; one that survives fails the run. Effects: processes.

import { parseArgs } from 'node:util';
import { hunt, schedules } from './hunt.ts';
import { mutants } from './list.ts';

const help = `npm run mutants -- [--only WORDS] [--seed N]

Puts one bug after the other into a copy of the source and has the simulator find it, within ${schedules} schedules each.

  --only WORDS  only those with these words in their names
  --seed N      of the schedules (standard: 1)
  --help        this text
`;

const { seed, only } = optionsOf(process.argv.slice(2));
const waiting = mutants.filter(({ name }) => name.includes(only));
if (waiting.length === 0) end(`No mutant has "${only}" in its name. There are:\n${mutants.map(({ name }) => `  ${name}`).join('\n')}`);
const all = waiting.length;
const survivors: string[] = [];

const hunter = async () => {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const startedMs = performance.now();
    const { caught, why } = await hunt(mutant, seed);
    if (!caught) survivors.push(mutant.name);
    console.log(
      `${caught ? 'caught' : 'ALIVE '} ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  ${mutant.name}: ${why}`,
    );
  }
};
await Promise.all([hunter(), hunter()]);
console.log(`${all - survivors.length} of ${all} caught within ${schedules} schedules`);
if (survivors.length > 0) process.exitCode = 1;

function optionsOf(args: readonly string[]): { readonly seed: number; readonly only: string } {
  try {
    const options = { seed: { type: 'string', default: '1' }, only: { type: 'string', default: '' }, help: { type: 'boolean' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) end(help, 0);
    if (!/^\d{1,9}$/.test(values.seed)) end('--seed takes a number');
    return { seed: Number(values.seed), only: values.only };
  } catch (thrown) {
    return end(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function end(said: string, code = 2): never {
  process[code === 0 ? 'stdout' : 'stderr'].write(`${said}\n`);
  process.exit(code);
}

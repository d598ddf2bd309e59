// `npm run sim`: the shipped protocol code under seeded schedules of faults. Effects: this process, and others like it.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { crashPoints, faultKinds, turns } from './faults.ts';
import { type Report, reportSchema, simulate } from './simulate.ts';

const number = z.coerce.number().int().nonnegative();
const optionsSchema = z.object({
  schedules: number,
  seed: number,
  store: z.enum(['double', 'sql']),
  /** The number of the first one. */
  schedule: number,
  workers: number.min(1),
  /** Each worker ends after so many. */
  violations: number.min(1),
  /** Tells everything that happened, not only the last of it. */
  trail: z.boolean(),
  /** Tells another process, not the reader. */
  child: z.boolean(),
});

const text = (standard: string) => ({ type: 'string', default: standard }) as const;
const flag = { type: 'boolean', default: false } as const;
const help = `npm run sim -- [--schedules N] [--seed S] [--store double|sql] [--workers W]

Runs the shipped protocol code under seeded schedules of faults and checks what must hold after each.

  --schedules N    how many (standard: 1000)
  --seed S         of all chance; the same seed takes the same course (standard: a new one, which is printed)
  --store NAME     double: a ledger in memory (standard); sql: the statements themselves, on PGlite
  --workers W      processes (standard: 1)
  --schedule K     the number of the first schedule, to repeat one that was found (standard: 0)
  --violations V   each process ends after so many (standard: 1)
  --trail          tells everything that happened in each schedule
  --help           this text
`;

const options = valuesOf();
/** With fewer, chance may leave something out. */
const completeFrom = options.store === 'sql' ? 300 : 10_000;
const reportEveryMs = 5_000;

function valuesOf() {
  const texts = {
    schedules: text('1000'),
    seed: text(String(Date.now() % 1_000_000_000)),
    store: text('double'),
    schedule: text('0'),
    workers: text('1'),
    violations: text('1'),
    trail: flag,
    child: flag,
    help: flag,
  };
  try {
    const { values } = parseArgs({ options: texts });
    if (values.help) end(help, 0);
    const parsed = optionsSchema.safeParse(values);
    if (parsed.success) return parsed.data;
    return end(`--${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; --')}`);
  } catch (thrown) {
    return end(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function end(said: string, code = 2): never {
  process[code === 0 ? 'stdout' : 'stderr'].write(`${said}\n`);
  process.exit(code);
}

const print = (line: string) => process.stdout.write(`${line}\n`);

if (options.child) {
  await simulate(options, (report) => new Promise<void>((resolve) => process.send?.(report, undefined, {}, () => resolve())));
  process.disconnect?.();
} else {
  process.exitCode = await lead();
}

async function lead(): Promise<number> {
  const startedMs = performance.now();
  const fired = new Map<string, number>();
  let done = 0;
  let steps = 0;
  let violated = 0;
  let toldMs = startedMs;
  const seconds = () => (performance.now() - startedMs) / 1_000;
  const hear = (report: Report) => {
    done += report.done;
    steps += report.steps;
    for (const [name, times] of Object.entries(report.fired)) fired.set(name, (fired.get(name) ?? 0) + times);
    for (const { schedule, violations, trail } of report.violated) {
      violated += 1;
      print(`\nschedule ${schedule} of seed ${options.seed} on the ${options.store} store violates:`);
      for (const violation of violations.slice(0, 10)) print(`  ${violation}`);
      print('its last events, in seconds:');
      for (const line of trail) print(`  ${line}`);
      print(`npm run sim -- --seed ${options.seed} --schedule ${schedule} --schedules 1 --store ${options.store}\n`);
    }
    if (performance.now() - toldMs < reportEveryMs) return;
    toldMs = performance.now();
    print(`${done} schedules, ${violated} with violations, ${Math.round(done / seconds())}/s`);
  };
  print(`seed ${options.seed}`);
  const workers = Math.min(options.workers, options.schedules);
  const parts = Array.from({ length: workers }, (_, part) => {
    const from = options.schedule + Math.floor((options.schedules * part) / workers);
    return { from, count: options.schedule + Math.floor((options.schedules * (part + 1)) / workers) - from };
  });
  const ended = await Promise.all(parts.map(({ from, count }) => runWorker(from, count, hear)));
  for (const [name, times] of [...fired].sort(([one], [other]) => (one < other ? -1 : 1))) print(`${String(times).padStart(9)}  ${name}`);
  print(
    `seed ${options.seed}, ${options.store}: ${done} schedules, ${violated} with violations, ${steps} steps, ${Math.round(done / seconds())} schedules/s`,
  );
  const missing = [...crashPoints, ...faultKinds, ...turns].filter((name) => !fired.has(name));
  const incomplete = options.schedules >= completeFrom && missing.length > 0;
  if (incomplete) print(`never happened: ${missing.join(', ')}`);
  if (ended.includes(false)) print('a worker died');
  return violated > 0 || incomplete || ended.includes(false) ? 1 : 0;
}

/** In a process of its own: the clock and chance of that one are taken over. False: it did not end well. */
function runWorker(from: number, count: number, hear: (report: Report) => void): Promise<boolean> {
  const { seed, store, violations, trail } = options;
  const given = { schedules: count, schedule: from, seed, store, violations };
  const child = fork(fileURLToPath(import.meta.url), [
    '--child',
    ...(trail ? ['--trail'] : []),
    ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ]);
  child.on('message', (message) => hear(reportSchema.parse(message)));
  // The last report may arrive after the end of its sender.
  const heard = new Promise<void>((resolve) => child.on('disconnect', () => resolve()));
  return new Promise((resolve) => child.on('exit', (code) => void heard.then(() => resolve(code === 0))));
}

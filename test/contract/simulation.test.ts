// The shipped protocol code under seeded schedules of faults, on the ledger's double and on its SQL. Effects: processes, embedded Postgres.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../simulation/main.ts', import.meta.url));
const seed = 20261121;
/** A seed that nobody has tried; what it finds is found again by the line that it prints. */
const fresh = Date.now() % 1_000_000_000;

/** The last lines: what happened how often, or what was violated and how to see it again. */
async function simulate(options: Readonly<Record<string, string | number>>): Promise<{ readonly code: number; readonly told: string }> {
  const given = Object.entries({ workers: 2, ...options }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const limits = { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 };
  const run = promisify(execFile)(process.execPath, [main, ...given], limits);
  const { code, stdout } = await run.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (failed: { code?: number; stdout?: string }) => ({ code: failed.code ?? 1, stdout: failed.stdout ?? '' }),
  );
  const told = stdout.slice(-8_000);
  console.log(told);
  return { code, told };
}

test('10,000 schedules on the double: every fault and crash point happens, and nothing is violated', { timeout: 600_000 }, async () => {
  expect(await simulate({ schedules: 10_000, seed, store: 'double' })).toMatchObject({ code: 0 });
});

test('300 schedules on the SQL: every fault and crash point happens, and nothing is violated', { timeout: 600_000 }, async () => {
  expect(await simulate({ schedules: 300, seed, store: 'sql' })).toMatchObject({ code: 0 });
});

test(`schedules of a fresh seed, ${fresh}, violate nothing`, { timeout: 600_000 }, async () => {
  expect(await simulate({ schedules: 1_000, seed: fresh, store: 'double' })).toMatchObject({ code: 0 });
  expect(await simulate({ schedules: 50, seed: fresh, store: 'sql' })).toMatchObject({ code: 0 });
});

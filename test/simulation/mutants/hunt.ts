// One mutant: the source in a copy, changed in one place, under the simulator. Effects: files, processes.

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './list.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const copied = ['src', 'test/simulation', 'migrations', 'package.json'];

/** A mutant has this many schedules to be found in. */
export const schedules = 500;

export interface Hunt {
  readonly caught: boolean;
  /** The first thing that was violated, or why there is none. */
  readonly why: string;
}

/** Takes seconds when the mutant is caught early, a minute or so when it survives. Throws when the change does not apply. */
export async function hunt(mutant: Mutant, seed: number): Promise<Hunt> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-a2a-mutant-'));
  try {
    for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, mutant.file);
    const pieces = (await readFile(file, 'utf8')).split(mutant.from);
    if (pieces.length !== 2) throw new Error(`"${mutant.name}" applies ${pieces.length - 1} times`);
    await writeFile(file, pieces.join(mutant.to));
    const { output, code } = await simulate(folder, ['--schedules', String(schedules), '--seed', String(seed), '--store', mutant.store]);
    const why = /violates:\n +(.*)/.exec(output)?.[1];
    // One that breaks the simulator itself proves nothing.
    return why === undefined || why.includes('took another course')
      ? { caught: false, why: `exit ${code}: ${output.slice(-400)}` }
      : { caught: code === 1, why };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function simulate(folder: string, options: readonly string[]): Promise<{ readonly output: string; readonly code: number | null }> {
  const child = spawn(process.execPath, ['test/simulation/main.ts', ...options], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ output, code })));
}

// The Worker as it would be deployed, built once for a test run. Effects: processes, files.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the built Worker. */
    bundle: string;
  }
}

/** `flags` are of `wrangler deploy`. Returns the path of its one file, in a new folder. */
export async function build(...flags: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-a2a-bundle-'));
  await promisify(execFile)(
    process.execPath,
    ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '--outdir', folder, ...flags],
    {
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: '1' },
    },
  );
  return join(folder, 'index.js');
}

/** For `globalSetup`. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundle = await build();
  project.provide('bundle', bundle);
  return () => rm(dirname(bundle), { recursive: true, force: true });
}

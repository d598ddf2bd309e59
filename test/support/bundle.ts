// The Worker as it would be deployed, built once for a test run. Effects: processes, files.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
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

/**
 * The same of an earlier commit, and the commit: the one before the newest change of the code that is deployed, or before what
 * is not committed yet; or the one that `CODE_BEFORE` names. Null where there is no history. Its packages are those of now.
 */
export async function buildBefore(): Promise<{ readonly bundle: string; readonly commit: string } | null> {
  const git = (...words: readonly string[]) =>
    promisify(execFile)('git', [...words], { maxBuffer: 64 * 1024 * 1024 }).then(
      ({ stdout }) => stdout.trim(),
      () => null,
    );
  const code = ['--', 'src', 'migrations', 'wrangler.toml', 'package.json'];
  const dirty = await git('status', '--porcelain', ...code);
  const newest = await git('rev-list', '-1', 'HEAD', ...code);
  const commit = process.env['CODE_BEFORE'] ?? (dirty ? newest : newest && (await git('rev-parse', '--verify', '--quiet', `${newest}^`)));
  if (!commit) return null;
  const folder = await mkdtemp(join(tmpdir(), 'chat-a2a-before-'));
  const packed = `git archive ${commit} | tar -x -C ${folder}`;
  await promisify(execFile)('sh', ['-c', packed]);
  await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  const bundle = await build('--cwd', folder);
  await rm(folder, { recursive: true, force: true });
  return { bundle, commit };
}

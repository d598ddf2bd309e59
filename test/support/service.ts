// The shipped Worker under test, started and killed at will. Effects: processes.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Service {
  /** Origin, without a slash at the end. */
  readonly url: string;
  /** Of the process that started workerd. */
  readonly pid: number;
  /** What it logged so far; printed by whoever finds a test failing. */
  readonly log: readonly string[];
  /** One cron tick; resolves when it is done. */
  tick(): Promise<void>;
  /** SIGKILL for the whole process tree. Its state folder stays. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** A folder for alarms and objects that outlives a kill; `forget` deletes it. */
export async function stateFolder(): Promise<{ readonly path: string; forget(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'chat-a2a-state-'));
  return { path, forget: () => rm(path, { recursive: true, force: true }) };
}

/** Takes about a second. `port` 0 picks a free one; give the old one to come back under the same address. */
export async function startService(given: {
  readonly bundle: string;
  readonly state: string;
  readonly port?: number;
  readonly bindings: Readonly<Record<string, string>>;
}): Promise<Service> {
  const log: string[] = [];
  const child = spawn(
    process.execPath,
    [new URL('./service-process.ts', import.meta.url).pathname, JSON.stringify({ port: 0, ...given })],
    {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const over = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const endTree = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  };
  process.once('exit', endTree);
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout });
  const waiting: ((line: string) => void)[] = [];
  lines.on('line', (line) => {
    if (line.startsWith('listening ') || line === 'ticked') waiting.shift()?.(line);
  });
  const nextLine = () =>
    Promise.race([
      new Promise<string>((resolve) => waiting.push(resolve)),
      over.then((): string => {
        throw new Error(`the service ended:\n${log.join('\n')}`);
      }),
    ]);
  const first = await nextLine();
  const kill = async () => {
    endTree();
    await over;
    process.off('exit', endTree);
  };
  return {
    url: first.slice('listening '.length).replace(/\/$/, ''),
    pid: child.pid ?? 0,
    log,
    tick: async () => {
      child.stdin.write('tick\n');
      await nextLine();
    },
    kill,
    stop: kill,
  };
}

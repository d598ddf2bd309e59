// wrangler dev as a child: the Worker in the runtime of production. Effects: processes, files, HTTP.

import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Variables } from './bindings.ts';
import type { DataFolder } from './data-folder.ts';
import { loopback } from './ports.ts';
import { type Child, startChild } from './processes.ts';

/** Building the Worker takes seconds, on a busy machine many. */
const readyTimeoutMs = 90_000;
const probeTimeoutMs = 2_000;
const probeIntervalMs = 150;
const tickTimeoutMs = 10_000;
const pulseIntervalMs = 3_000;
const maxSilences = 3;

const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = join(dirname(fileURLToPath(import.meta.resolve('wrangler/package.json'))), 'wrangler-dist/cli.js');

/** Nothing is reported home, nothing is asked for, and the environment is not taken for bindings. */
const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  DO_NOT_TRACK: '1',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  CLOUDFLARE_INCLUDE_PROCESS_ENV: 'false',
  CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: 'true',
  WRANGLER_HIDE_BANNER: 'true',
  CI: '1',
};

export interface WorkerOptions {
  readonly port: number;
  readonly folder: DataFolder;
  /** Bindings that anybody on this machine may see in the list of processes. */
  readonly plain: Variables;
  /** Bindings that nobody may. */
  readonly secrets: Variables;
  readonly onLine: (line: string) => void;
}

export async function startWorker({ port, folder, plain, secrets, onLine }: WorkerOptions): Promise<Child> {
  const file = Object.entries(secrets).map(([key, value]) => `${key}=${quote(key, value)}\n`);
  await writeFile(folder.secrets, file.join(''), { mode: 0o600 });
  return startChild({
    name: 'worker',
    args: [
      '--no-warnings',
      cli,
      'dev',
      ...['--cwd', root],
      ...['--ip', loopback, '--port', String(port), '--inspector-port', '0'],
      ...['--persist-to', folder.state],
      // Given a file, wrangler does not read .dev.vars: what it holds has gone through us.
      ...['--env-file', folder.secrets],
      ...['--test-scheduled', '--log-level', 'warn', '--show-interactive-dev-session=false'],
      ...Object.entries(plain).flatMap(([key, value]) => ['--var', `${key}:${value}`]),
    ],
    env: { ...process.env, ...quiet, WRANGLER_LOG_PATH: join(folder.path, 'wrangler.log') },
    onLine,
  });
}

/** For the dotenv that wrangler reads with: it takes any quotes that the value is free of, and replaces `$NAME` unless that is escaped. */
function quote(key: string, value: string): string {
  const mark = ["'", '`', '"'].find((candidate) => !value.includes(candidate));
  if (mark === undefined) throw new Error(`${key} cannot be passed on: it has all of ' " and \``);
  return mark + value.replaceAll('$', '\\$') + mark;
}

/** Whether `GET /healthz` answered 200 in time. False at once when `signal` aborts. */
export async function isReady(port: number, signal: AbortSignal): Promise<boolean> {
  const end = performance.now() + readyTimeoutMs;
  while (performance.now() < end && !signal.aborted) {
    const probe = AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMs)]);
    const response = await fetch(`http://${loopback}:${port}/healthz`, { signal: probe }).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) return true;
    await new Promise((resolve) => setTimeout(resolve, probeIntervalMs));
  }
  return false;
}

/** Calls `onSilence`, and waits for it, whenever the port has not answered three times in a row. Returns how to end it. */
export function startPulse(port: number, onSilence: () => Promise<void>): () => void {
  let silences = 0;
  let busy = false;
  const beat = async () => {
    if (busy) return;
    busy = true;
    const probe = AbortSignal.timeout(pulseIntervalMs);
    const response = await fetch(`http://${loopback}:${port}/healthz`, { signal: probe }).catch(() => null);
    await response?.body?.cancel();
    silences = response ? 0 : silences + 1;
    if (silences === maxSilences) {
      silences = 0;
      await onSilence();
    }
    busy = false;
  };
  const timer = setInterval(beat, pulseIntervalMs);
  return () => clearInterval(timer);
}

/** What Cloudflare's clock does in production. A tick that fails is no loss: there will be another. */
export async function tick(port: number): Promise<void> {
  const url = `http://${loopback}:${port}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent('17 * * * *')}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(tickTimeoutMs) }).catch(() => null);
  await response?.body?.cancel();
}

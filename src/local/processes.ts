// Child processes that end with this one. Effects: processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Told to end, a child that still runs by then is killed. */
const stopTimeoutMs = 5_000;
/** What is shown of a child that died. */
const keptLines = 15;

export interface Child {
  readonly name: string;
  /** The last lines that it wrote, oldest first. */
  lines(): readonly string[];
  /** Resolves when it has ended, whoever wanted that. */
  readonly ended: Promise<void>;
  /** Ends it and everything it started: SIGTERM, in time SIGKILL. Idempotent. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  /** Arguments of the Node that runs this process. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly onLine: (line: string) => void;
}

/** Never throws: a child that can't start has ended. */
export function startChild({ name, args, env, onLine }: ChildOptions): Child {
  // A group of its own: Ctrl-C in the terminal reaches only us, and we end the children in order.
  const child = spawn(process.execPath, [...args], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => {
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      onLine(line);
    });
  }
  const unguard = guard(child);
  child.once('exit', (code, signal) => {
    lines.push(`(${signal ?? `exit code ${code}`})`);
    // What it started has nobody else to end it.
    signalGroup(child, 'SIGKILL');
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      lines.push(error.message);
      resolve();
    });
  }).then(unguard);
  return {
    name,
    lines: () => [...lines],
    ended,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) signalGroup(child, 'SIGTERM');
      const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // There is nobody left in it.
  }
}

/** Should we be killed outright, our end of a pipe closes: then a shell at the other end ends the child's group. */
function guard(child: ChildProcess): () => void {
  if (process.platform === 'win32' || child.pid === undefined) return () => {};
  const watcher = spawn('sh', ['-c', `read _; kill -TERM -${child.pid}; sleep 5; kill -KILL -${child.pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.on('error', () => {});
  watcher.unref();
  return () => watcher.kill('SIGKILL');
}

export interface Server {
  readonly child: Child;
  /** What it wrote after `listening `. Null: it ended, or was no longer wanted, before that. */
  readonly url: Promise<string | null>;
}

/** A child that says where it listens. `signal` ends the waiting, not the child. */
export function startServer(options: ChildOptions, signal: AbortSignal): Server {
  const listening = Promise.withResolvers<string | null>();
  const child = startChild({
    ...options,
    onLine: (line) => {
      const url = /^listening (\S+)/.exec(line)?.[1];
      if (url === undefined) options.onLine(line);
      else listening.resolve(url);
    },
  });
  signal.addEventListener('abort', () => listening.resolve(null));
  return { child, url: Promise.race([listening.promise, child.ended.then(() => null)]) };
}

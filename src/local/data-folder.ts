// The folder of what is kept between starts, held by one runner at a time. Effects: files.

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { parseJson } from './json.ts';
import { loopback } from './ports.ts';

export interface DataFolder {
  readonly path: string;
  /** Of PGlite, which takes no lock of its own: two that open one folder corrupt it. */
  readonly postgres: string;
  /** Of the Durable Objects. */
  readonly state: string;
  /** For wrangler alone; gone when the folder is released. */
  readonly secrets: string;
  release(): Promise<void>;
}

const holderSchema = z.object({ pid: z.number().int().positive(), port: z.number().int().positive() });

/** `port` is one that we are listening on: it proves that a holder lives. Null: another runner holds the folder. */
export async function holdFolder(folder: string, port: number): Promise<DataFolder | null> {
  const path = resolve(folder);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const lock = join(path, 'lock');
  const holder = JSON.stringify({ pid: process.pid, port });
  if (!(await tryWrite(lock, holder))) {
    if (await isHeld(lock)) return null;
    await rm(lock, { force: true });
    if (!(await tryWrite(lock, holder))) return null;
  }
  const secrets = join(path, 'secrets.env');
  return {
    path,
    postgres: join(path, 'postgres'),
    state: join(path, 'state'),
    secrets,
    release: async () => {
      await rm(secrets, { force: true });
      await rm(lock, { force: true });
    },
  };
}

/** The same at every start: agents may still hold what was derived from it. */
export async function pushSecret(folder: DataFolder): Promise<string> {
  const file = join(folder.path, 'push-secret');
  await tryWrite(file, randomBytes(32).toString('base64url'));
  return readFile(file, 'utf8');
}

/** False: the file was there before. */
async function tryWrite(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') return false;
    throw thrown;
  }
}

/** A process id alone may have been given to somebody else since, and so may a port: a holder has both. */
async function isHeld(lock: string): Promise<boolean> {
  const parsed = holderSchema.safeParse(parseJson(await readFile(lock, 'utf8').catch(() => '')));
  return parsed.success && isRunning(parsed.data.pid) && (await isListening(parsed.data.port));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, loopback);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

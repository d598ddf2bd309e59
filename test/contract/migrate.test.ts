// The migration runner, over HTTP, against a real Postgres.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { neon } from '@neondatabase/serverless';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import type { Backend } from '../../src/local/backend.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { listen, loopback } from '../../src/local/ports.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

let server: PostgresServer;
let bridge: http.Server;
let endpoint: string;
let folder: string;
let url: string;
const backends = new Map<string, Backend>();

beforeAll(async () => {
  server = await startPostgres();
  bridge = createBridge((name) => {
    const backend = backends.get(name) ?? postgresBackend(new URL(`/${name}`, server.url).href);
    backends.set(name, backend);
    return backend;
  });
  endpoint = `http://${loopback}:${await listen(bridge, 0)}/sql`;
});
afterAll(async () => {
  bridge?.closeAllConnections();
  bridge?.close();
  for (const backend of backends.values()) await backend.close();
  await server?.stop();
});

beforeEach(async ({ onTestFinished }) => {
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const name = `m${backends.size}`;
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(`create database ${name}`).finally(() => client.end());
  url = `postgres://user:password@database.invalid/${name}`;
});

/** Writes a folder as drizzle-kit does. */
async function write(...migrations: readonly string[]): Promise<void> {
  await mkdir(join(folder, 'meta'), { recursive: true });
  const entries = migrations.map((_, idx) => ({ idx, version: '7', when: 1000 + idx, tag: `000${idx}`, breakpoints: true }));
  await writeFile(join(folder, 'meta/_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries }));
  for (const [idx, text] of migrations.entries()) await writeFile(join(folder, `000${idx}.sql`), text);
}

const first = 'create table a (id int primary key);\n--> statement-breakpoint\ncreate index a_index on a (id);';

test('an empty database gets everything, and a second run changes nothing', async () => {
  expect(await migrate(url, endpoint)).toBeGreaterThan(0);
  expect(await migrate(url, endpoint)).toBe(0);
  expect(await neon(url)`select count(*)::int as n from message`).toEqual([{ n: 0 }]);
});

test('only what is new is applied', async () => {
  await write(first);
  expect(await migrate(url, endpoint, folder)).toBe(1);
  await write(first, 'alter table a add column name text');
  expect(await migrate(url, endpoint, folder)).toBe(1);
  expect(await neon(url)`select name from a`).toEqual([]);
});

test('a migration that fails leaves nothing of itself, and goes through once it is mended', async () => {
  await write(first, 'create table b (id int);\n--> statement-breakpoint\nselect 1 / 0');
  await expect(migrate(url, endpoint, folder)).rejects.toMatchObject({ code: '22012' });
  expect(await neon(url)`select to_regclass('a') as a, to_regclass('b') as b`).toEqual([{ a: 'a', b: null }]);
  await write(first, 'create table b (id int)');
  expect(await migrate(url, endpoint, folder)).toBe(1);
});

test('runners that start at once share the work', async () => {
  await write(first, 'create table b (id int)', 'create table c (id int)');
  const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(url, endpoint, folder)));
  expect(applied.reduce((sum, count) => sum + count)).toBe(3);
});

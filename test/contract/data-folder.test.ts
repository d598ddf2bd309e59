// Who may use a data folder, and what is kept in it.

import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdFolder, pushSecret } from '../../src/local/data-folder.ts';
import { freePort, listen } from '../../src/local/ports.ts';

let folder: string;
let server: net.Server;
let port: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-'));
  server = net.createServer();
  port = (await listen(server, 0)) ?? 0;
});
afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const lock = (holder: unknown) => writeFile(join(folder, 'lock'), typeof holder === 'string' ? holder : JSON.stringify(holder));

test('a folder has one holder at a time', async () => {
  const held = await holdFolder(folder, port);
  expect(held).not.toBeNull();
  expect(await holdFolder(folder, port)).toBeNull();
  await held?.release();
  expect(await holdFolder(folder, port)).not.toBeNull();
});

test('what a dead holder left is no obstacle', async () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  await lock({ pid, port });
  expect(await holdFolder(folder, port)).not.toBeNull();
});

test('nor is a process that got its number, but does not listen', async () => {
  await lock({ pid: process.pid, port: await freePort() });
  expect(await holdFolder(folder, port)).not.toBeNull();
});

test('nor is a lock that was cut short', async () => {
  await lock('{"pid":');
  expect(await holdFolder(folder, port)).not.toBeNull();
});

test('the push secret is the same at every start, and nobody else may read it', async () => {
  const held = await holdFolder(join(folder, 'new/data'), port);
  if (held === null) throw new Error('the folder is new');
  const secret = await pushSecret(held);
  expect(secret.length).toBeGreaterThan(32);
  expect(await pushSecret(held)).toBe(secret);
  expect((await stat(join(held.path, 'push-secret'))).mode & 0o777).toBe(0o600);
});

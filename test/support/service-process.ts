// The service in a process tree of its own, so that a test can kill it whole: workerd with the built Worker. Effects: processes, HTTP.

import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { z } from 'zod';

const given = z
  .object({ bundle: z.string(), state: z.string(), port: z.number(), bindings: z.record(z.string(), z.string()) })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const service = new Miniflare(
  convertV4MiniflareOptions({
    name: 'chat-a2a',
    modules: [{ type: 'ESModule', path: 'index.js', contents: await readFile(given.bundle, 'utf8') }],
    compatibilityDate: '2026-11-01',
    compatibilityFlags: ['global_fetch_strictly_public'],
    bindings: given.bindings,
    durableObjects: {
      RUNNER: { className: 'Runner', useSQLite: true },
      CONVERSATION: { className: 'Conversation', useSQLite: true },
    },
    resourcePersistencePath: given.state,
    host: '127.0.0.1',
    port: given.port,
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      stdout.pipe(process.stderr);
      stderr.pipe(process.stderr);
    },
  }),
);

process.stdout.write(`listening ${(await service.ready).href}\n`);

/** Its declared type names what exists in the Worker's own types only; it is a proxy that has every method. */
const isScheduled = (worker: unknown): worker is { scheduled(event: { cron: string }): Promise<unknown> } => typeof worker === 'object';

/** `tick` is what the cron trigger does. */
createInterface({ input: process.stdin }).on('line', async (line) => {
  if (line !== 'tick') return;
  const worker: unknown = await service.getWorker();
  if (isScheduled(worker)) await worker.scheduled({ cron: '17 * * * *' });
  process.stdout.write('ticked\n');
});

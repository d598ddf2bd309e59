// Everything that a measurement needs, started once: Postgres, what the Workers reach, and the Workers. Effects: processes, files.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { build } from '../support/bundle.ts';
import { createDatabase, startPostgres } from '../support/postgres.ts';
import { startService } from '../support/service.ts';
import { workerdOf } from './measure.ts';

/** Where Durable Objects keep their files: how fast a disk makes new ones is not what is measured. */
const memory = '/dev/shm';

const addressesSchema = z.object({ database: z.string(), model: z.string(), agents: z.array(z.string()) });
const countsSchema = z.object({
  databaseRequests: z.number(),
  modelRequests: z.number(),
  modelRequestBytes: z.number(),
  /** Agents that make somebody wait now. */
  waiting: z.number(),
});
export type Counts = z.infer<typeof countsSchema>;

export interface Worker {
  readonly url: string;
  /** Of workerd. */
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Stage {
  /** What all Workers together have asked for so far. */
  counts(): Promise<Counts>;
  startService(): Promise<Worker>;
  /** `databaseRequests`: per question. */
  startFloor(databaseRequests: number): Promise<Worker>;
}

/** Takes about ten seconds. What it starts, `stack` stops. */
export async function setStage(stack: AsyncDisposableStack): Promise<Stage> {
  const postgres = await startPostgres();
  stack.defer(() => postgres.stop());
  const databaseUrl = await createDatabase(postgres, new URL('../../migrations', import.meta.url).pathname);

  const world = fork(new URL('./world.ts', import.meta.url), [databaseUrl], { stdio: 'inherit' });
  stack.defer(async () => {
    if (world.exitCode !== null || world.signalCode !== null) return;
    world.kill();
    await once(world, 'exit');
  });
  const ended = once(world, 'exit').then((): never => {
    throw new Error('the process of database, model and agents ended');
  });
  ended.catch(() => {});
  const next = async <T>(schema: z.ZodType<T>): Promise<T> => {
    const [message] = await Promise.race([once(world, 'message'), ended]);
    return schema.parse(message);
  };
  const addresses = await next(addressesSchema);

  const bundle = await build('--minify');
  stack.defer(() => rm(dirname(bundle), { recursive: true, force: true }));
  const floorFolder = dirname(await build('--minify', 'test/bench/floor.ts'));
  stack.defer(() => rm(floorFolder, { recursive: true, force: true }));

  const bindings = {
    DATABASE_URL: 'postgres://bench:none@database.invalid/main',
    NEON_FETCH_ENDPOINT: addresses.database,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: addresses.model,
    OPENAI_MODEL: 'scripted',
    A2A_AGENTS: JSON.stringify(addresses.agents),
    ALLOW_ANONYMOUS: '1',
  };
  const startWorker = async (bundled: string, more: Readonly<Record<string, string>> = {}): Promise<Worker> => {
    const state = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), 'chat-a2a-bench-'));
    stack.defer(() => rm(state, { recursive: true, force: true }));
    const service = await startService({ bundle: bundled, state, bindings: { ...bindings, ...more } });
    stack.defer(() => service.stop());
    return { url: service.url, pid: await workerdOf(service.pid), stop: () => service.stop() };
  };
  return {
    counts: async () => {
      const answer = next(countsSchema);
      world.send('counts');
      return answer;
    },
    startService: () => startWorker(bundle),
    startFloor: (databaseRequests) => startWorker(join(floorFolder, 'floor.js'), { DATABASE_REQUESTS: String(databaseRequests) }),
  };
}

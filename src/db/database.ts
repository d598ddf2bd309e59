// The connection: Neon's SQL over HTTP, one request each call. Effects: Postgres.

import { neon, neonConfig } from '@neondatabase/serverless';
import { type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/neon-http';
import { Fault } from '../fault.ts';
import { databaseMs, databaseRetryMs } from '../intention/limits.ts';
import { within } from '../time-limit.ts';

type Row = Record<string, unknown>;

export interface Database {
  /** One statement, one request. */
  one<T extends Row>(statement: SQL): Promise<readonly T[]>;
  /** One transaction (READ COMMITTED: each statement sees what is committed when it starts), one request. Rows of the last statement. */
  batch<T extends Row>(statements: readonly [SQL, ...SQL[]]): Promise<readonly T[]>;
}

/** Throws Fault `database_down` when the database can't be reached, after retries with backoff; `internal` when it refuses the statement. */
export function connect(url: string, endpoint: string | null, sleep: (ms: number) => Promise<void>): Database {
  if (endpoint !== null) neonConfig.fetchEndpoint = endpoint;
  // The answer is read whole under the limit: the driver would do the same next.
  neonConfig.fetchFunction = (input: string | URL | Request, init?: RequestInit) =>
    within(databaseMs, null, async (signal) => {
      const response = await fetch(input, { ...init, signal });
      return new Response(await response.arrayBuffer(), response);
    });
  const db = drizzle({ client: neon(url) });

  async function attempt<T>(run: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await run();
      } catch (thrown) {
        const code = postgresCode(thrown);
        // Two who wrote the same at once: the second finds it when it looks again.
        const overtaken = code === '23505' && tries === 1;
        const transient = code === null || overtaken || transientCodes.test(code);
        if (!transient) throw new Fault('internal', { cause: thrown, notes: { postgres: code, constraint: constraintOf(thrown) } });
        if (tries > databaseRetryMs.length) throw new Fault('database_down', { cause: thrown, notes: { postgres: code } });
        // Deadlocks and serialization failures are rolled back for certain; a fault of transport may hide a commit, and every rule recognises itself.
        await sleep((databaseRetryMs[tries - 1] ?? 0) * (overtaken || code === '40P01' || code === '40001' ? 0 : 0.5 + Math.random() / 2));
      }
    }
  }

  return {
    one: async <T extends Row>(statement: SQL) => (await attempt(() => db.execute<T>(statement))).rows,
    batch: async <T extends Row>([first, ...rest]: readonly [SQL, ...SQL[]]) => {
      const results = await attempt(() => db.batch([db.execute<T>(first), ...rest.map((statement) => db.execute<T>(statement))]));
      return results.at(-1)?.rows ?? [];
    },
  };
}

/** Deadlock, serialization failure, too many connections, shutting down, connection exceptions. */
const transientCodes = /^(40P01|40001|53300|57P01|57P02|57P03|08...)$/;

/** The Postgres error code, or null when Postgres did not say one: transport, proxy, time. */
function postgresCode(thrown: unknown): string | null {
  const error = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

function constraintOf(thrown: unknown): string | null {
  const error = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return error instanceof Error && 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : null;
}

/** Lists for `in (...)`: fixed words of our own, never input. */
export const words = (values: readonly string[]): SQL => sql.raw(values.map((value) => `'${value}'`).join(', '));

export const json = (value: unknown): SQL => sql`${JSON.stringify(value)}::jsonb`;

// Brings a database up to the schema in `migrations`, over the same HTTP as everything else. Effects: Postgres, files.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { neon, neonConfig } from '@neondatabase/serverless';
import { readMigrationFiles } from 'drizzle-orm/migrator';

const ownMigrations = fileURLToPath(new URL('../../migrations', import.meta.url));

/** An index on a large table takes minutes. */
const migrationTimeoutMs = 5 * 60_000;

/** Any number that nobody else locks: runners take turns. */
const turn = 727_274;

/**
 * Applies what is missing, oldest first, each migration in one transaction, and returns how many it applied.
 * Safe to repeat and to run twice at once. The record is the one that drizzle-kit keeps.
 * `endpoint` is a stand-in for Neon's SQL endpoint. Throws NeonDbError; then everything before the failed migration stays applied.
 */
export async function migrate(databaseUrl: string, endpoint?: string, folder = ownMigrations): Promise<number> {
  if (endpoint !== undefined) neonConfig.fetchEndpoint = endpoint;
  const sql = neon(databaseUrl);
  const transact = (statements: readonly ReturnType<typeof sql>[]) =>
    sql.transaction([sql`select pg_advisory_xact_lock(${turn})`, ...statements], {
      fetchOptions: { signal: AbortSignal.timeout(migrationTimeoutMs) },
    });

  await transact([
    sql`create schema if not exists drizzle`,
    sql`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`,
  ]);
  const isApplied = async (at: number) => {
    const results = await transact([sql`select 1 from drizzle.__drizzle_migrations where created_at = ${at}`]);
    return (results[1]?.length ?? 0) > 0;
  };

  let applied = 0;
  for (const migration of readMigrationFiles({ migrationsFolder: folder })) {
    if (await isApplied(migration.folderMillis)) continue;
    try {
      await transact([
        ...migration.sql.map((statement) => sql.query(statement)),
        sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`,
      ]);
      applied++;
    } catch (refused) {
      // Another runner had the turn between our look and our lock: its migration made ours fail, and is the one we wanted.
      if (!(await isApplied(migration.folderMillis))) throw refused;
    }
  }
  return applied;
}

async function main(): Promise<void> {
  if (existsSync('.dev.vars')) process.loadEnvFile('.dev.vars');
  const { DATABASE_URL: url, NEON_FETCH_ENDPOINT: endpoint } = process.env;
  if (!url || !/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    console.error('DATABASE_URL must be a postgres:// URL. Set it in the environment or in .dev.vars.');
    process.exitCode = 1;
    return;
  }
  try {
    const applied = await migrate(url, endpoint);
    console.log(applied === 0 ? 'The database is up to date.' : `Applied ${applied} migration${applied === 1 ? '' : 's'}.`);
  } catch (error) {
    console.error(`The migration failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();

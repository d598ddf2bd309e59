// The database of the embedded world behind its bridge, migrated. Effects: an embedded or a real Postgres, HTTP.

import type http from 'node:http';
import { PGlite } from '@electric-sql/pglite';
import { migrate } from '../db/migrate.ts';
import type { Backend } from './backend.ts';
import { createBridge } from './bridge.ts';
import { pgliteBackend } from './pglite-backend.ts';
import { loopback } from './ports.ts';
import { postgresBackend } from './postgres-backend.ts';

/** What the Worker gets for DATABASE_URL: no host of that name exists, so a request past the bridge fails. */
export const bridgedUrl = 'postgres://local:local@database.invalid/main';

export const endpointOf = (port: number): string => `http://${loopback}:${port}/sql`;

/** A bridge may listen, as a lock, before there is a database: its requests wait. */
export function bridgeTo(backend: Promise<Backend>): http.Server {
  return createBridge(() => backend);
}

/** `url`: any Postgres; null: PGlite in `folder`. Rejects in Postgres' words when it can't be reached. */
export async function openBackend(url: string | null, folder: string): Promise<Backend> {
  if (url === null) return pgliteBackend(await PGlite.create(folder));
  const backend = postgresBackend(url);
  try {
    await backend.session((ask) => ask('select 1'), new AbortController().signal);
    return backend;
  } catch (refused) {
    await backend.close();
    throw refused;
  }
}

/** How many migrations were applied. */
export function migrateThrough(port: number): Promise<number> {
  return migrate(bridgedUrl, endpointOf(port));
}

// The service in the test's own process: the shipped ledger through the shipped driver on a real Postgres, everything else at hand. Effects: HTTP, Postgres.

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { v7 } from 'uuid';
import { createArchive } from '../../../src/db/archive.ts';
import { connect } from '../../../src/db/database.ts';
import { createFiles } from '../../../src/db/files.ts';
import { createLedger } from '../../../src/db/ledger.ts';
import { asFault, type FaultNotes } from '../../../src/fault.ts';
import { createBridge } from '../../../src/local/bridge.ts';
import { listen } from '../../../src/local/ports.ts';
import { postgresBackend } from '../../../src/local/postgres-backend.ts';
import { readSettings } from '../../../src/settings.ts';
import type { World } from '../../../src/world.ts';
import { counting, migrations, type Query } from '../ledger.ts';
import { createDatabase, type PostgresServer } from '../postgres.ts';
import { type Alarms, lossyAlarms } from './alarms.ts';
import { agentNames, scriptedPlanner, startTown, type Town } from './outside.ts';

export interface House {
  readonly world: World;
  readonly alarms: Alarms;
  readonly town: Town;
  readonly logged: readonly { readonly event: string; readonly notes: FaultNotes }[];
  /** How often Postgres refused something, or was not there, by error code. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly query: Query;
  /** As if that many seconds had passed, for all work: leases, looks, deadlines, alarms. */
  shift(seconds: number): Promise<void>;
  close(): Promise<void>;
}

export async function startHouse(postgres: PostgresServer, random: () => number): Promise<House> {
  const url = await createDatabase(postgres, migrations);
  const refusals = new Map<string, number>();
  const backend = counting(postgresBackend(url), refusals);
  const bridge = createBridge(() => backend);
  const port = (await listen(bridge, 0)) ?? 0;
  const sources = agentNames.map((name) => ({ name, url: `http://127.0.0.1:1/${name}`, deduplicates: name === 'knowing' }));
  const settings = readSettings({
    DATABASE_URL: 'postgres://tester:secret@db.local.invalid/main',
    NEON_FETCH_ENDPOINT: `http://127.0.0.1:${port}/sql`,
    OPENAI_API_KEY: 'any',
    A2A_AGENTS: JSON.stringify(sources),
  });
  const own = new pg.Pool({ connectionString: url, max: 4 });
  own.on('error', () => {});
  own.on('connect', (client) => client.on('error', () => {}));
  const query: Query = async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
    patiently(async () => (await own.query<Row>(text, [...values])).rows);

  const db = connect(settings.databaseUrl, settings.databaseEndpoint, (ms) => pause(ms));
  const ids = { next: () => v7() };
  const alarms = lossyAlarms(random);
  const town = startTown();
  const logged: { event: string; notes: FaultNotes }[] = [];
  const world: World = {
    settings,
    ledger: createLedger(db, settings, ids),
    archive: createArchive(db),
    files: createFiles(db, ids),
    planner: scriptedPlanner,
    agents: town,
    // Nobody watches.
    stream: { publish: () => {}, relay: () => ({ append: () => {}, end: () => {} }), close: () => {}, settled: async () => {} },
    subscriptions: { watch: async () => new Response(null, { status: 503 }), events: async function* () {} },
    runner: alarms,
    clock: { nowMs: () => Date.now() },
    ids,
    log: (event, notes) => logged.push({ event, notes }),
  };

  return {
    world,
    alarms,
    town,
    logged,
    refusals,
    query,
    async shift(seconds) {
      const back = (names: readonly string[]) => names.map((name) => `${name} = ${name} - interval '${seconds} seconds'`).join(', ');
      const client = await own.connect();
      try {
        await client.query('begin');
        // Behind the same lock as every writing rule.
        await client.query('select id from conversation order by id for update');
        await client.query(`update intention set ${back(['wake_at', 'lease_until', 'deadline', 'created_at', 'updated_at'])}`);
        const times = ['wake_at', 'lease_until', 'deadline', 'sent_at', 'last_look_at', 'last_poke_at', 'created_at', 'updated_at'];
        await client.query(`update call set ${back(times)}`);
        await client.query(`update agent set ${back(['down_until'])} where down_until is not null`);
        await client.query('commit');
        alarms.shift(seconds * 1_000);
      } finally {
        client.release(true);
      }
    },
    async close() {
      bridge.closeAllConnections();
      bridge.close();
      await own.end();
      await backend.close();
    },
  };
}

/** A caller repeats what a database that is away did not take. What it did take must bear that. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (thrown) {
      const away = asFault(thrown).code === 'database_down' || isAway(thrown);
      if (tries === 100 || !away) throw thrown;
      await pause(100);
    }
  }
}

/** What `pg` says of a server that ends, is not there, or comes back. */
function isAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = 'code' in thrown ? String(thrown.code) : '';
  return /^(57P0[123]|ECONN.*|EPIPE)$/.test(code) || /terminated|not queryable/.test(thrown.message);
}

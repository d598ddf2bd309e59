// The rules' statements on an embedded Postgres: no HTTP, and a clock that stands until it is set. Effects: an embedded Postgres.

import { messages, PGlite } from '@electric-sql/pglite';
import type { SQL } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { PgDialect } from 'drizzle-orm/pg-core';
import { serialize } from 'pg-protocol';
import type { Database } from '../../../src/db/database.ts';
import { Fault } from '../../../src/fault.ts';

const migrations = new URL('../../../migrations', import.meta.url).pathname;

/** Found before Postgres' own functions of these names, by the rules and by the columns' defaults. */
const standIns = `create schema sim;
  create function sim.now() returns timestamptz language sql stable as $$ select to_timestamp(current_setting('sim.now')::float8 / 1000) $$;
  create function sim.random() returns float8 language sql immutable as $$ select 0.5::float8 $$;
  create sequence sim.ids;
  create function sim.gen_random_uuid() returns uuid language sql volatile
    as $$ select ('00000000-0000-4000-8000-' || lpad(nextval('sim.ids')::text, 12, '0'))::uuid $$;
  set search_path = public, sim, pg_catalog;
  set sim.now = '0';`;

/** A plan is made once, while the tables are empty: without these it would read them whole ever after. */
const planning =
  'set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;';

export interface PgliteDatabase extends Database {
  setNow(ms: number): void;
  /** Plain text, for the tests' own reads and for clearing tables. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface Prepared {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly read: (text: string) => unknown }[];
}

/** One session; requests run one after another. A statement is prepared once, by its text. What Postgres refuses is Fault `internal`, as in the shipped connection. */
export async function openPglite(): Promise<PgliteDatabase> {
  const lite = await PGlite.create();
  await lite.exec(standIns);
  for (const migration of readMigrationFiles({ migrationsFolder: migrations }))
    for (const statement of migration.sql) await lite.exec(statement);
  await lite.exec(planning);

  const dialect = new PgDialect();
  const known = new Map<string, Prepared>();
  let nowMs = 0;
  let toldMs: number | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function ask(request: readonly Buffer[]): Promise<readonly messages.BackendMessage[]> {
    const options = { throwOnError: false, syncToFs: false };
    const replies = (await lite.execProtocol(Buffer.concat([...request, serialize.sync()]), options)).messages;
    for (const reply of replies)
      if (reply instanceof messages.DatabaseError)
        throw new Fault('internal', { cause: reply, notes: { postgres: reply.code ?? null, constraint: reply.constraint ?? null } });
    return replies;
  }

  async function prepare(text: string): Promise<Prepared> {
    const found = known.get(text);
    if (found) return found;
    const name = `p${known.size}`;
    const replies = await ask([serialize.parse({ name, text }), serialize.describe({ type: 'S', name })]);
    const described = replies.find((reply) => reply instanceof messages.RowDescriptionMessage);
    const columns = (described?.fields ?? []).map((field) => ({ name: field.name, read: readerOf(field.dataTypeID) }));
    const made = { name, columns };
    known.set(text, made);
    return made;
  }

  /** One transaction: it begins with the first statement, and the sync at the end commits it. */
  async function transact(queries: readonly Query[]): Promise<readonly Record<string, unknown>[]> {
    const clock = { text: `select set_config('sim.now', $1, false)`, values: [String(nowMs)] };
    const all = toldMs === nowMs ? queries : [clock, ...queries];
    toldMs = null;
    const pieces: Buffer[] = [];
    let columns: Prepared['columns'] = [];
    for (const { text, values } of all) {
      const statement = await prepare(text);
      columns = statement.columns;
      pieces.push(serialize.bind({ statement: statement.name, values: values.map(parameterText) }), serialize.execute());
    }
    const replies = await ask(pieces);
    toldMs = Number(clock.values[0]);
    let running = 0;
    const rows: Record<string, unknown>[] = [];
    for (const reply of replies) {
      if (reply instanceof messages.CommandCompleteMessage) running++;
      else if (reply instanceof messages.DataRowMessage && running === all.length - 1)
        rows.push(Object.fromEntries(columns.map(({ name, read }, place) => [name, readField(reply.fields[place], read)])));
    }
    return rows;
  }

  /** PGlite has one session: the next transaction waits for the one before. */
  function inTurn<T extends Record<string, unknown>>(queries: readonly Query[]): Promise<readonly T[]> {
    // The rules say what their rows look like, as they do to the shipped connection.
    const done = turn.then(async () => (await transact(queries)).filter((row): row is T => row !== null));
    turn = done.catch(() => {});
    return done;
  }

  const queryOf = (statement: SQL): Query => {
    const { sql, params } = dialect.sqlToQuery(statement);
    return { text: sql, values: params };
  };

  return {
    one: (statement) => inTurn([queryOf(statement)]),
    batch: (statements) => inTurn(statements.map(queryOf)),
    setNow: (ms) => {
      nowMs = ms;
    },
    query: (text, values = []) => inTurn([{ text, values }]),
    close: () => lite.close(),
  };
}

const parameterText = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));

const readField = (text: string | null | undefined, read: (text: string) => unknown): unknown =>
  text === null || text === undefined ? null : read(text);

/** As the driver reads them for drizzle: times, and integers of 8 bytes, stay text. */
function readerOf(type: number): (text: string) => unknown {
  switch (type) {
    case 16:
      return (text) => text === 't';
    case 21:
    case 23:
    case 700:
    case 701:
      return Number;
    case 114:
    case 3802:
      return (text) => JSON.parse(text);
    default:
      return (text) => text;
  }
}

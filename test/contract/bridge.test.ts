// What Neon's driver and drizzle may rely on, held against the bridge in front of PGlite and of a real Postgres.

import { once } from 'node:events';
import http from 'node:http';
import { PGlite } from '@electric-sql/pglite';
import { NeonDbError, neon, neonConfig } from '@neondatabase/serverless';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/neon-http';
import {
  bigint,
  boolean,
  customType,
  date,
  doublePrecision,
  integer,
  jsonb,
  numeric,
  pgEnum,
  pgTable,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../src/local/backend.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { pgliteBackend } from '../../src/local/pglite-backend.ts';
import { listen, loopback } from '../../src/local/ports.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import { startPostgres } from '../support/postgres.ts';

const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });
const mood = pgEnum('mood', ['glad', 'sad']);
const everything = pgTable('everything', {
  id: integer().primaryKey(),
  big: bigint({ mode: 'bigint' }),
  exact: numeric(),
  instant: timestamp({ withTimezone: true }),
  instantText: timestamp({ withTimezone: true, mode: 'string' }),
  day: date(),
  yes: boolean(),
  float: doublePrecision(),
  numbers: integer().array(),
  texts: text().array(),
  mood: mood(),
  moods: mood().array(),
  bytes: bytea(),
  json: jsonb(),
  text: text(),
});

const tricky = `it's "quoted" \\ back\\slash\nnew line\ttab 😀 中文 $1 ; --`;

interface World {
  readonly backend: Backend;
  close(): Promise<void>;
}

const worlds: readonly { readonly name: string; readonly open: () => Promise<World> }[] = [
  {
    name: 'PGlite',
    open: async () => {
      const backend = pgliteBackend(await PGlite.create());
      return { backend, close: () => backend.close() };
    },
  },
  {
    name: 'Postgres',
    open: async () => {
      const server = await startPostgres();
      const backend = postgresBackend(server.url);
      return { backend, close: () => backend.close().then(() => server.stop()) };
    },
  },
];

const url = 'postgres://user:password@database.invalid/main';

describe.each(worlds)('the bridge in front of $name', ({ open, name }) => {
  let world: World;
  let server: http.Server;
  let endpoint: string;
  const requests: (readonly string[])[] = [];
  const query = neon(url);
  const db = drizzle({ client: query });

  beforeAll(async () => {
    world = await open();
    server = createBridge(
      (database) => {
        if (database !== 'main') throw new Error(`there is no database ${database}`);
        return world.backend;
      },
      { onRequest: (statements) => requests.push(statements) },
    );
    endpoint = `http://${loopback}:${await listen(server, 0)}/sql`;
    neonConfig.fetchEndpoint = endpoint;
    await query`create type mood as enum ('glad', 'sad')`;
    await query`create table everything (id int primary key, big bigint, exact numeric, instant timestamptz, "instantText" timestamptz,
      day date, yes boolean, float double precision, numbers int[], texts text[], mood mood, moods mood[], bytes bytea, json jsonb, text text)`;
    await query`create table item (id int primary key, name text constraint named check (name <> ''), parent int references item deferrable initially deferred)`;
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await world?.close();
  });
  beforeEach(async () => {
    await query`truncate everything, item`;
    requests.length = 0;
  });

  const rows = neon(url, { arrayMode: true });
  const items = () => rows`select id, name from item order by id`;
  const openTransactions = () =>
    query`select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%' and pid <> pg_backend_pid()`;

  test('a value of every type comes back as it went in', async () => {
    const row = {
      id: 1,
      big: 9007199254740993n,
      exact: '12345678901234567890.123',
      instant: new Date('2026-11-21T04:05:06.789Z'),
      day: '2026-11-21',
      yes: true,
      float: 1.5e-7,
      numbers: [1, -2, 3],
      texts: ['a,b', '中 文', 'q"uo\\te', 'NULL', ''],
      mood: 'sad' as const,
      moods: ['glad' as const, 'sad' as const],
      bytes: new Uint8Array([0, 255, 92]),
      json: { text: tricky, list: [1, null, { deep: true }] },
      text: tricky,
    };
    await db.insert(everything).values({ ...row, instantText: '2026-11-21 04:05:06.789012+00' });
    const [back] = await db.select().from(everything);
    expect({ ...back, bytes: [...(back?.bytes ?? [])], instantText: null }).toEqual({ ...row, bytes: [0, 255, 92], instantText: null });
    expect(Date.parse(back?.instantText ?? '')).toBe(Date.parse('2026-11-21T04:05:06.789Z'));
    expect(back?.instantText).toContain('.789012');
  });

  test('nulls, and JSON that is a string or null, stay what they are', async () => {
    await db.insert(everything).values([{ id: 1 }, { id: 2, json: 'words' }]);
    await db.execute(sql`insert into everything (id, json) values (3, ${'null'}::jsonb)`);
    const [empty, words] = await db.select().from(everything).orderBy(everything.id);
    expect(Object.values(empty ?? {}).filter((value) => value !== null)).toEqual([1]);
    expect(words?.json).toBe('words');
    expect(await rows`select jsonb_typeof(json) from everything order by id`).toEqual([[null], ['string'], ['null']]);
  });

  test('a megabyte of text comes back whole', async () => {
    const long = '天气'.repeat(200_000);
    const [row] = await rows`select ${long}::text`;
    expect(row?.[0] === long).toBe(true);
  });

  test('the command and the number of rows are told', async () => {
    const full = neon(url, { fullResults: true });
    expect(await full`insert into item (id, name) values (1, 'a'), (2, 'b')`).toMatchObject({ command: 'INSERT', rowCount: 2, rows: [] });
    expect(await full`update item set name = 'c' where id > 1`).toMatchObject({ command: 'UPDATE', rowCount: 1 });
    expect(await full`select id from item`).toMatchObject({ command: 'SELECT', rowCount: 2, fields: [{ name: 'id', dataTypeID: 23 }] });
    expect(await full`create table if not exists item (id int)`).toMatchObject({ command: 'CREATE', rowCount: null });
  });

  test.each([
    [
      'a double key',
      `insert into item values (1, 'a'), (1, 'a')`,
      { code: '23505', constraint: 'item_pkey', table: 'item', schema: 'public' },
    ],
    ['a failed check', `insert into item values (1, '')`, { code: '23514', constraint: 'named' }],
    ['a syntax error', 'select from where', { code: '42601', position: '13', severity: 'ERROR' }],
    ['a value that does not parse', `select 'x'::int`, { code: '22P02' }],
    ['a division by zero', 'select 1 / 0', { code: '22012', routine: 'int4div' }],
    ['two statements at once', 'select 1; select 2', { code: '42601' }],
  ])('Postgres is quoted on %s', async (_, statement, fields) => {
    await expect(query.query(statement)).rejects.toMatchObject(fields);
    await expect(query.query(statement)).rejects.toBeInstanceOf(NeonDbError);
  });

  test('drizzle keeps the Postgres error as the cause of a single query, and throws it bare from a batch', async () => {
    await expect(db.execute(sql`select 1 / 0`)).rejects.toMatchObject({ cause: { code: '22012' } });
    await expect(db.batch([db.execute(sql`select 1 / 0`)])).rejects.toMatchObject({ code: '22012' });
  });

  test('a batch is one request and gives every result in order; later statements see earlier ones', async () => {
    const results = await db.batch([
      db.execute(sql`insert into item values (1, ${tricky})`),
      db.execute(sql`select name from item`),
      db.execute(sql`select count(*)::int as n from item`),
    ]);
    expect(results.map((result) => result.rows)).toEqual([[], [{ name: tricky }], [{ n: 1 }]]);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toHaveLength(3);
  });

  test('a batch that fails in the middle leaves nothing', async () => {
    const batch = query.transaction([
      query`insert into item values (1, 'a')`,
      query`select 1 / 0`,
      query`insert into item values (2, 'b')`,
    ]);
    await expect(batch).rejects.toMatchObject({ code: '22012' });
    expect(await items()).toEqual([]);
  });

  test('a constraint checked at the commit fails the batch as a whole', async () => {
    const batch = query.transaction([query`insert into item values (1, 'a', 99)`, query`insert into item values (2, 'b')`]);
    await expect(batch).rejects.toMatchObject({ code: '23503', constraint: 'item_parent_fkey' });
    expect(await items()).toEqual([]);
  });

  test.each([
    ['ReadUncommitted', 'read uncommitted'],
    ['ReadCommitted', 'read committed'],
    ['RepeatableRead', 'repeatable read'],
    ['Serializable', 'serializable'],
  ] as const)('a batch may ask for %s, and hears so', async (isolationLevel, spelled) => {
    const [rows] = await query.transaction([query`show transaction_isolation`], { isolationLevel });
    expect(rows).toEqual([{ transaction_isolation: spelled }]);
    const answer = await post({ queries: [] }, { 'neon-batch-isolation-level': isolationLevel, 'neon-batch-deferrable': 'false' });
    expect(answer.headers.get('neon-batch-isolation-level')).toBe(isolationLevel);
    expect(answer.headers.get('neon-batch-deferrable')).toBe('false');
    expect(await answer.json()).toEqual({ results: [] });
  });

  test('a batch that may only read does not write', async () => {
    const batch = query.transaction([query`insert into item values (1, 'a')`], {
      readOnly: true,
      isolationLevel: 'Serializable',
      deferrable: true,
    });
    await expect(batch).rejects.toMatchObject({ code: '25006' });
  });

  test('a stray BEGIN, a setting or a temporary table is gone with its request', async () => {
    await query`begin`;
    await query`insert into item values (1, 'a')`;
    await query`set application_name = 'stray'`;
    await query`create temporary table stray (id int)`;
    await Promise.all([1, 2, 3].map(() => query`rollback`));
    expect(await items()).toEqual([[1, 'a']]);
    expect(await query`select to_regclass('stray') as stray`).toEqual([{ stray: null }]);
    expect(await query`select current_setting('application_name') as name`).not.toEqual([{ name: 'stray' }]);
    expect(await openTransactions()).toEqual([{ n: 0 }]);
  });

  test('a setting inside a batch holds for the batch', async () => {
    const results = await query.transaction([query`set local statement_timeout = '7s'`, query`show statement_timeout`]);
    expect(results[1]).toEqual([{ statement_timeout: '7s' }]);
    expect(await query`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
  });

  test('requests at the same time do not mix', async () => {
    const batches = Array.from({ length: 20 }, (_, id) =>
      query.transaction([
        query`insert into item values (${id}, 'x')`,
        query`select id from item where id = ${id}`,
        ...(id % 2 ? [query`select 1 / 0`] : []),
      ]),
    );
    const settled = await Promise.allSettled(batches);
    expect(settled.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, (_, id) => (id % 2 ? 'rejected' : 'fulfilled')));
    expect((await items()).map(([id]) => id)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  });

  test('parameters that are not text in JSON are read as Neon reads them', async () => {
    const params = [7, true, null, ['a"b', null], { a: [1] }];
    const answer = await post({ query: 'select $1::int, $2::bool, $3::text, $4::text[], $5::jsonb', params });
    expect(await answer.json()).toMatchObject({ rowAsArray: true, rows: [['7', 't', null, '{"a\\"b",NULL}', '{"a": [1]}']] });
  });

  test('what is no request to the database is refused in words', async () => {
    const malformed = await fetch(endpoint, { method: 'POST', headers: { 'neon-connection-string': url }, body: '{"query":' });
    expect(malformed.status).toBe(400);
    expect(await malformed.json()).toMatchObject({ message: expect.stringContaining('JSON'), code: null });
    expect((await post({ statement: 'select 1' })).status).toBe(400);
    expect((await post({ queries: [] }, { 'neon-batch-isolation-level': 'Loose' })).status).toBe(400);
    expect((await fetch(endpoint, { method: 'POST', body: '{}' })).status).toBe(400);
    expect((await fetch(endpoint)).status).toBe(404);
    expect((await fetch(new URL('/v2', endpoint), { method: 'POST' })).status).toBe(404);
    expect(requests).toEqual([]);
  });

  test('a database that cannot be had is an error of the server, without a Postgres code', async () => {
    const error = await neon('postgres://user:password@database.invalid/other')`select 1`.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('HTTP status 500'), code: undefined });
  });

  test('a body over the limit is refused before it is read', async () => {
    const request = http.request(endpoint, {
      method: 'POST',
      headers: { 'neon-connection-string': url, 'content-length': 65 * 1024 * 1024 },
    });
    request.on('error', () => {});
    request.flushHeaders();
    const [response]: http.IncomingMessage[] = await once(request, 'response');
    expect(response?.statusCode).toBe(413);
    request.destroy();
  });

  if (name === 'Postgres') {
    test('a batch that locks a row makes the next one wait, which then sees the commit', async () => {
      await query`insert into item values (1, '')`.catch(() => {});
      await query`insert into item values (1, 'first')`;
      const slow = query.transaction([
        query`select 1 from item where id = 1 for update`,
        query`select pg_sleep(0.3)`,
        query`update item set name = 'second' where id = 1`,
      ]);
      await until(async () => (await query`select 1 from pg_stat_activity where wait_event = 'PgSleep'`).length === 1);
      const [, seen] = await query.transaction([query`select 1 from item where id = 1 for update`, query`select name from item`]);
      expect(seen).toEqual([{ name: 'second' }]);
      await slow;
    });

    test('a client that goes away while it waits leaves neither a lock nor an open transaction', async () => {
      await query`insert into item values (1, 'a')`;
      const gone = new AbortController();
      const batch = query.transaction([query`update item set name = 'lost' where id = 1`, query`select pg_sleep(60)`], {
        fetchOptions: { signal: gone.signal },
      });
      await until(async () => (await query`select 1 from pg_stat_activity where wait_event = 'PgSleep'`).length === 1);
      gone.abort();
      await expect(batch).rejects.toThrow();
      await query.transaction([query`set local lock_timeout = '5s'`, query`update item set name = name || '!' where id = 1`]);
      expect(await items()).toEqual([[1, 'a!']]);
      expect(await openTransactions()).toEqual([{ n: 0 }]);
    });
  }

  function post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(endpoint, { method: 'POST', headers: { 'neon-connection-string': url, ...headers }, body: JSON.stringify(body) });
  }
});

/** Another connection's doings can only be polled for. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) if (await condition()) return;
  throw new Error('it did not come about');
}

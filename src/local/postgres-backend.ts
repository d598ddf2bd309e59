// Any real Postgres behind the bridge, through a pool of connections. Effects: Postgres.

import pg from 'pg';
import type { Ask, Backend } from './backend.ts';

/** Enough for every invocation of one machine to wait on a lock at once, well below the server's usual 100. */
const maxConnections = 20;
/** A server that does not take a connection by then is reported, not waited for. */
const connectTimeoutMs = 10_000;

const textOnly = { getTypeParser: () => (text: string) => text };

/** Opens connections when they are needed: a wrong `url` shows in the first session. */
export function postgresBackend(url: string): Backend {
  const config = { connectionString: url, connectionTimeoutMillis: connectTimeoutMs };
  const pool = new pg.Pool({ ...config, max: maxConnections });
  // A connection that the server closes is replaced by the pool, and whoever uses it is told by the statement under way;
  // without a listener it would end the process, be it idle or in use.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  /** A connection of its own: the pool may be full of sessions that wait for the very lock held by this one. */
  async function cancel(waiting: pg.PoolClient): Promise<void> {
    if (!('processID' in waiting)) return;
    const messenger = new pg.Client(config);
    messenger.on('error', () => {});
    await messenger.connect();
    await messenger.query('select pg_cancel_backend($1)', [waiting.processID]).finally(() => messenger.end());
  }

  return {
    session: async (use, signal) => {
      const client = await pool.connect();
      const ask = asking(client);
      let canceling: Promise<void> | null = null;
      const onAbort = () => {
        // Best effort, as at Neon: a statement that can't be cancelled ends by itself.
        canceling = cancel(client).catch(() => {});
      };
      signal.addEventListener('abort', onAbort);
      let broken = false;
      try {
        signal.throwIfAborted();
        return await use(ask);
      } finally {
        signal.removeEventListener('abort', onAbort);
        try {
          await canceling;
          if (client.getTransactionStatus() !== 'I') await ask('rollback');
          await ask('discard all');
        } catch {
          broken = true;
        }
        client.release(broken);
      }
    },
    close: () => pool.end(),
  };
}

function asking(client: pg.PoolClient): Ask {
  return async (query, params = []) => {
    const statement = { text: query, values: [...params], rowMode: 'array' as const, queryMode: 'extended', types: textOnly };
    const result = await client.query<(string | null)[]>(statement);
    return { command: result.command ?? '', rowCount: result.rowCount, columns: result.fields, rows: result.rows };
  };
}

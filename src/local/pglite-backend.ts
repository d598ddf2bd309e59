// PGlite behind the bridge, spoken to by wire protocol so that values stay Postgres text. Effects: an embedded Postgres.

import { messages, type PGlite } from '@electric-sql/pglite';
import { serialize } from 'pg-protocol';
import type { Ask, Backend, Column } from './backend.ts';

/** Takes over `db`, its only session included; sessions run one after another and can't be cancelled in the middle of a statement. */
export function pgliteBackend(db: PGlite): Backend {
  let openTransaction = false;

  const ask: Ask = async (query, params = []) => {
    const request = Buffer.concat([
      serialize.parse({ text: query }),
      serialize.bind({ values: [...params] }),
      serialize.describe({ type: 'P' }),
      serialize.execute({}),
      serialize.sync(),
    ]);
    const replies = (await db.execProtocol(request, { throwOnError: false })).messages;
    let command = '';
    let columns: readonly Column[] = [];
    const rows: (readonly (string | null)[])[] = [];
    let refusal: messages.DatabaseError | null = null;
    for (const reply of replies) {
      if (reply instanceof messages.DatabaseError) refusal ??= reply;
      else if (reply instanceof messages.RowDescriptionMessage) columns = reply.fields;
      else if (reply instanceof messages.DataRowMessage) rows.push(reply.fields);
      else if (reply instanceof messages.CommandCompleteMessage) command = reply.text;
      else if (reply instanceof messages.ReadyForQueryMessage) openTransaction = reply.status !== 'I';
    }
    if (refusal !== null) throw refusal;
    return { ...parseTag(command), columns, rows };
  };

  return {
    session: (use, signal) =>
      db.runExclusive(async () => {
        signal.throwIfAborted();
        try {
          return await use(ask);
        } finally {
          if (openTransaction) await ask('rollback');
          await ask('discard all');
        }
      }),
    close: () => db.close(),
  };
}

/** `INSERT 0 3`, `SELECT 2`, `CREATE TABLE`. Source: PostgreSQL, Message Formats, CommandComplete. */
function parseTag(tag: string): { readonly command: string; readonly rowCount: number | null } {
  const counted = /^(\S+)(?: \d+)? (\d+)$/.exec(tag);
  return { command: counted?.[1] ?? tag.split(' ')[0] ?? '', rowCount: counted === null ? null : Number(counted[2]) };
}

// The shipped ledger and archive on an embedded Postgres, with a clock that is set. Effects: an embedded Postgres.

import { sql } from 'drizzle-orm';
import type { AgentSource } from '../../../src/agent/card.ts';
import { createArchive } from '../../../src/db/archive.ts';
import { type Database, json } from '../../../src/db/database.ts';
import { createLedger } from '../../../src/db/ledger.ts';
import { type CallRow, callFrom, callJson, type MessageRow, messageFrom } from '../../../src/db/rows.ts';
import type { IntentionStatus } from '../../../src/intention/intention.ts';
import { type ConversationId, conversationId, intentionId, ownerId } from '../../../src/intention/message.ts';
import { openPglite } from './pglite-database.ts';
import type { AttemptSnapshot, Snapshot, Store, StoreOptions } from './store.ts';

/** Later than any test's clock. */
const forever = '9999-01-01';

/** Starts in two or three seconds. `shape` stands between the rules and the database, to make it fail. */
export async function createSqlStore({ agents, ids }: StoreOptions, shape: (db: Database) => Database = (db) => db): Promise<Store> {
  const db = await openPglite();
  const sources = new Map(
    agents.map(({ source, allowedMs }): [string, AgentSource] => [
      source,
      { kind: 'list', url: source, ...(allowedMs === null ? {} : { deadlineMs: allowedMs }) },
    ]),
  );
  const rows = agents.map(({ id, name, source, cardUrl, card, deduplicates, downUntilMs }) => {
    const [namespace = '', own] = name.includes('/') ? name.split('/') : ['default', name];
    const downUntil = downUntilMs === null ? null : new Date(downUntilMs).toISOString();
    return { id, namespace, name: own, source, card_url: cardUrl, card, deduplicates, down_until: downUntil };
  });
  let cleared = 0;
  const clear = async () => {
    // Deleting is quicker, but leaves its rows behind.
    const conversations = cleared++ % 200 === 0 ? sql`truncate conversation cascade` : sql`delete from conversation`;
    await db.batch([
      conversations,
      sql`delete from agent`,
      sql`insert into agent (id, namespace, name, source, card_url, card, deduplicates, down_until)
        select x.* from jsonb_to_recordset(${json(rows)})
          as x(id uuid, namespace text, name text, source text, card_url text, card jsonb, deduplicates boolean, down_until timestamptz)`,
    ]);
  };
  for (const { url } of sources.values()) await db.query('insert into agent_source (url, fresh_until) values ($1, $2)', [url, forever]);
  await clear();
  const shaped = shape(db);
  return {
    ledger: createLedger(shaped, { agentSources: [...sources.values()] }, ids),
    archive: createArchive(shaped),
    snapshot: (conversation) => snapshotOf(db, conversation),
    setNow: db.setNow,
    clear,
    close: db.close,
  };
}

interface IntentionRow {
  readonly id: string;
  readonly status: IntentionStatus;
  readonly parallel: boolean;
  readonly step: number;
  readonly fence: number;
  readonly lease_by: string | null;
  readonly lease_until: string | null;
  readonly wake_at: string | null;
  readonly deadline: string;
  readonly failures: number;
  readonly created_at: string;
  readonly updated_at: string;
}

interface WholeCallRow extends CallRow {
  readonly wake_at: string | null;
  readonly lease_by: string | null;
  readonly lease_until: string | null;
  readonly last_look_at: string | null;
  readonly last_poke_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

interface AttemptRow {
  readonly call_id: string;
  readonly attempt: number;
  readonly token: string | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly outcome: AttemptSnapshot['outcome'];
  readonly error: string | null;
}

interface Result extends Record<string, unknown> {
  readonly conversation: {
    readonly id: string;
    readonly owner_id: string;
    readonly title: string;
    readonly next_seq: number;
    readonly created_at: string;
    readonly updated_at: string;
  } | null;
  readonly messages: readonly MessageRow[] | null;
  readonly intentions: readonly IntentionRow[] | null;
  readonly calls: readonly WholeCallRow[] | null;
  readonly attempts: readonly AttemptRow[] | null;
  readonly keys: readonly { readonly scope: string; readonly key: string; readonly message_id: string }[] | null;
  readonly breakers: readonly { readonly id: string; readonly failures: number; readonly down_until: string | null }[] | null;
}

async function snapshotOf(db: Database, conversation: ConversationId): Promise<Snapshot> {
  const id = sql`${conversation}::uuid`;
  const [row] = await db.one<Result>(sql`select
    (select to_jsonb(c) from conversation c where c.id = ${id}) as conversation,
    (select jsonb_agg(to_jsonb(m) order by m.seq) from message m where m.conversation_id = ${id}) as messages,
    (select jsonb_agg(to_jsonb(i) order by i.id) from intention i where i.conversation_id = ${id}) as intentions,
    (select jsonb_agg(${callJson(sql`q`)} order by q.intention_id, q.step, q.ord) from call q where q.conversation_id = ${id}) as calls,
    (select jsonb_agg(to_jsonb(t) order by t.call_id, t.attempt) from call q join call_attempt t on t.call_id = q.id
      where q.conversation_id = ${id}) as attempts,
    (select jsonb_agg(to_jsonb(k) order by k.scope collate "C", k.key collate "C") from accept_key k where k.conversation_id = ${id}) as keys,
    (select jsonb_agg(jsonb_build_object('id', a.id, 'failures', a.failures, 'down_until', a.down_until) order by a.namespace, a.name) from agent a) as breakers`);
  const found = row?.conversation;
  return {
    conversation: found
      ? {
          id: conversationId(found.id),
          ownerId: ownerId(found.owner_id),
          title: found.title,
          nextSeq: found.next_seq,
          createdAtMs: Date.parse(found.created_at),
          updatedAtMs: Date.parse(found.updated_at),
        }
      : null,
    messages: (row?.messages ?? []).map(messageFrom),
    intentions: (row?.intentions ?? []).map((each) => ({
      id: intentionId(each.id),
      status: each.status,
      parallel: each.parallel,
      step: each.step,
      fence: each.fence,
      leaseBy: each.lease_by,
      leaseUntilMs: at(each.lease_until),
      wakeAtMs: at(each.wake_at),
      deadlineMs: Date.parse(each.deadline),
      failures: each.failures,
      createdAtMs: Date.parse(each.created_at),
      updatedAtMs: Date.parse(each.updated_at),
    })),
    calls: (row?.calls ?? []).map((each) => ({
      ...callFrom(each),
      wakeAtMs: at(each.wake_at),
      leaseBy: each.lease_by,
      leaseUntilMs: at(each.lease_until),
      lastLookAtMs: at(each.last_look_at),
      lastPokeAtMs: at(each.last_poke_at),
      createdAtMs: Date.parse(each.created_at),
      updatedAtMs: Date.parse(each.updated_at),
    })),
    attempts: (row?.attempts ?? []).map((each) => ({
      callId: each.call_id,
      attempt: each.attempt,
      token: each.token,
      startedAtMs: Date.parse(each.started_at),
      endedAtMs: at(each.ended_at),
      outcome: each.outcome,
      error: each.error,
    })),
    keys: (row?.keys ?? []).map((each) => ({ scope: each.scope, key: each.key, messageId: each.message_id })),
    breakers: (row?.breakers ?? []).map((each) => ({ agentId: each.id, failures: each.failures, downUntilMs: at(each.down_until) })),
  };
}

const at = (time: string | null): number | null => (time === null ? null : Date.parse(time));

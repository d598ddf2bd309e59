// Plain reads on behalf of a caller or the stream, and deletion. Effects: Postgres.

import { type SQL, sql } from 'drizzle-orm';
import type { IntentionStatus } from '../intention/intention.ts';
import { conversationId, intentionId } from '../intention/message.ts';
import type { RunnerName } from '../intention/rules.ts';
import type { Archive, ConversationSummary } from '../world.ts';
import type { Database } from './database.ts';
import { belongs, lock, question, terminal } from './fragments.ts';
import { type CallRow, callFrom, callJson, type MessageRow, messageFrom } from './rows.ts';

interface SummaryRow extends Record<string, unknown> {
  readonly id: string;
  readonly title: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly last_seq: number;
}

const summaryColumns = sql`c.id, c.title, (extract(epoch from c.created_at) * 1000)::float8 as created_ms,
  (extract(epoch from c.updated_at) * 1000)::float8 as updated_ms, (c.next_seq - 1)::int as last_seq`;

const summaryFrom = (row: SummaryRow): ConversationSummary => ({
  id: conversationId(row.id),
  title: row.title,
  createdAtMs: row.created_ms,
  updatedAtMs: row.updated_ms,
  lastSeq: row.last_seq,
});

/** `to_jsonb` rows of a conversation after a place, ascending. */
const rowsAfter = (conversation: SQL, after: number, limit: number): SQL => sql`(select jsonb_agg(to_jsonb(p) order by p.seq) from (
  select m.* from message m where m.conversation_id = ${conversation} and m.seq > ${after} order by m.seq limit ${limit}) p)`;

export function createArchive(db: Database): Archive {
  return {
    conversation: async (owner, id) => {
      const [row] = await db.one<SummaryRow>(
        sql`select ${summaryColumns} from conversation c where c.id = ${id}::uuid and c.owner_id = ${owner}`,
      );
      return row ? summaryFrom(row) : null;
    },

    conversations: async (owner, page) => {
      const before =
        page.before === null
          ? sql`true`
          : sql`((extract(epoch from c.updated_at) * 1000)::float8, c.id) < (${page.before.atMs}::float8, ${page.before.id}::uuid)`;
      const rows = await db.one<SummaryRow>(sql`select ${summaryColumns} from conversation c
        where c.owner_id = ${owner} and c.archived_at is null and ${before} order by 4 desc, c.id desc limit ${page.limit}`);
      return rows.map(summaryFrom);
    },

    messages: async (owner, id, page) => {
      const [row] = await db.one<{
        messages: readonly MessageRow[] | null;
      }>(sql`select ${rowsAfter(sql`c.id`, page.after, page.limit)} as messages
        from conversation c where c.id = ${id}::uuid and c.owner_id = ${owner}`);
      return row ? (row.messages ?? []).map(messageFrom) : null;
    },

    replay: async (id, after, limit) => {
      const [row] = await db.one<{
        messages: readonly MessageRow[] | null;
        last_seq: number | null;
        open: readonly { readonly id: string; readonly status: IntentionStatus }[] | null;
      }>(sql`select ${rowsAfter(sql`${id}::uuid`, after, limit)} as messages,
        (select (c.next_seq - 1)::int from conversation c where c.id = ${id}::uuid) as last_seq,
        (select jsonb_agg(jsonb_build_object('id', i.id, 'status', i.status) order by i.created_at, i.id) from intention i
          where i.conversation_id = ${id}::uuid and i.status not in (${terminal})) as open`);
      return {
        messages: (row?.messages ?? []).map(messageFrom),
        lastSeq: row?.last_seq ?? 0,
        open: (row?.open ?? []).map((intention) => ({ intentionId: intentionId(intention.id), status: intention.status })),
      };
    },

    intention: async (owner, conversation, id) => {
      const [row] = await db.one<{ status: IntentionStatus; step: number; last: MessageRow | null }>(sql`select i.status, i.step,
          (select to_jsonb(m) from message m where m.conversation_id = i.conversation_id and ${belongs(sql`m`, sql`i.id`)}
            and (m.role = 'assistant' or (m.type in ('input_required', 'auth_required')
              and exists (select 1 from call q where q.id = m.call_id and q.state in (${question})))) order by m.seq desc limit 1) as last
        from intention i join conversation c on c.id = i.conversation_id
        where i.id = ${id}::uuid and c.id = ${conversation}::uuid and c.owner_id = ${owner}`);
      return row ? { id, status: row.status, step: row.step, last: row.last ? messageFrom(row.last) : null } : null;
    },

    calls: async (owner, conversation, intention) => {
      const rows = await db.one<{
        call: CallRow;
      }>(sql`select ${callJson(sql`q`)} as call from call q join conversation c on c.id = q.conversation_id
        where q.intention_id = ${intention}::uuid and c.id = ${conversation}::uuid and c.owner_id = ${owner} order by q.step, q.ord`);
      return rows.map((row) => callFrom(row.call));
    },

    call: async (owner, conversation, id) => {
      const [row] = await db.one<{
        call: CallRow;
      }>(sql`select ${callJson(sql`q`)} as call from call q join conversation c on c.id = q.conversation_id
        where q.id = ${id}::uuid and c.id = ${conversation}::uuid and c.owner_id = ${owner}`);
      return row ? callFrom(row.call) : null;
    },

    remove: async (owner, id) => {
      const mine = sql`(select c.id from conversation c where c.id = ${id}::uuid and c.owner_id = ${owner})`;
      const [row] = await db.batch<{ id: string | null; names: readonly RunnerName[] | null }>([
        lock(mine),
        sql`with work as (select 'intention:' || i.id as name from intention i where i.conversation_id = ${mine} and i.status not in (${terminal})
            union all select 'call:' || q.id from call q where q.conversation_id = ${mine} and q.wake_at is not null),
          files as (delete from file f where f.conversation_id = ${mine}),
          gone as (delete from conversation c where c.id = ${mine} returning c.id)
          select (select id from gone) as id, (select jsonb_agg(name) from work) as names`,
      ]);
      return row?.id ? (row.names ?? []) : null;
    },

    ping: async () => {
      await db.one(sql`select 1`);
    },
  };
}

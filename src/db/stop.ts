// Rules Stop and Expire: an intention ends without an answer, and all that it had open with it. Effects: Postgres.

import { type SQL, sql } from 'drizzle-orm';
import type { IntentionStatus } from '../intention/intention.ts';
import type { ConversationId, IntentionId, OwnerId } from '../intention/message.ts';
import type { RunnerName, Stopped } from '../intention/rules.ts';
import type { Database } from './database.ts';
import { lock, nameTask, open, promote, question, terminal } from './fragments.ts';
import { type MessageRow, messageFrom } from './rows.ts';

/**
 * Ends every intention of `selection` (columns `id`, `conversation_id`; all of one conversation, none terminal): its
 * open calls and questions are canceled, CancelTask wanted of those that may have reached their agent (where the task is
 * not known, whoever reads the reply is given a moment to name it); the fence moves.
 */
export function stopping(selection: SQL, type: 'canceled' | 'expired', conversation: SQL, leaving: SQL): SQL {
  return sql`with gone as (${selection}),
    calls as (update call q set state = 'canceled', cancel = case when q.attempts = 0 and q.task_id is null then null else 'wanted' end,
        wake_at = case when q.task_id is not null then now() when q.attempts > 0 then now() + ${nameTask} end, lease_by = null, lease_until = null, updated_at = now()
      from gone where q.intention_id = gone.id and q.state in (${open}, ${question}) returning q.id),
    ended as (update intention i set status = ${type}, fence = i.fence + 1, wake_at = null, lease_by = null, lease_until = null, updated_at = now()
      from gone where i.id = gone.id returning i.id),
    numbered as (select id, row_number() over (order by id) as n from ended),
    seq as (update conversation c set next_seq = c.next_seq + (select count(*) from numbered), updated_at = now()
      where c.id = ${conversation} and exists (select 1 from numbered) returning c.next_seq - (select count(*) from numbered) as first),
    -- Where nothing ends, nobody leaves.
    promoted as (${promote(sql`(select conversation_id from gone limit 1)`, leaving)})
    insert into message (conversation_id, seq, id, intention_id, role, type, content)
    select ${conversation}, seq.first + n - 1, gen_random_uuid(), numbered.id, 'assistant', ${type}, '' from numbered, seq`;
}

/** The Runners of what this transaction stopped: their work is to be aborted, and CancelTask carried out. */
export const stoppedNow = (conversation: SQL): SQL => sql`(select jsonb_agg(name) from (
    select 'intention:' || i.id as name from intention i where i.conversation_id = ${conversation} and i.status in ('canceled', 'expired') and i.updated_at = now()
    union all
    select 'call:' || q.id from call q where q.conversation_id = ${conversation} and q.state = 'canceled' and q.updated_at = now()) names)`;

/** The Runners of what this transaction promoted. */
export const promotedNow = (conversation: SQL, but: SQL): SQL => sql`(select jsonb_agg('intention:' || i.id) from intention i
  where i.conversation_id = ${conversation} and i.status = 'planning' and i.updated_at = now() and i.id is distinct from ${but})`;

interface Result extends Record<string, unknown> {
  readonly message: MessageRow | null;
  readonly status: IntentionStatus | null;
  readonly stop: readonly RunnerName[] | null;
  readonly wake: readonly RunnerName[] | null;
}

async function end(db: Database, id: IntentionId, type: 'canceled' | 'expired', where: SQL): Promise<Stopped> {
  const conversation = sql`(select conversation_id from intention where id = ${id}::uuid)`;
  const [result] = await db.batch<Result>([
    lock(conversation),
    stopping(
      sql`select i.id, i.conversation_id from intention i where i.id = ${id}::uuid and i.status not in (${terminal}) and ${where}`,
      type,
      conversation,
      sql`${id}::uuid`,
    ),
    sql`select (select to_jsonb(m) from message m where m.intention_id = i.id and m.role = 'assistant') as message, i.status,
      ${stoppedNow(conversation)} as stop, ${promotedNow(conversation, sql`${id}::uuid`)} as wake
      from intention i where i.id = ${id}::uuid and ${where}`,
  ]);
  return {
    message: result?.message ? messageFrom(result.message) : null,
    status: result?.status ?? null,
    stop: result?.stop ?? [],
    wake: result?.wake ?? [],
  };
}

/** One request. `status` null: the caller has no such intention. A repeat changes nothing and tells how it ended. */
export function stop(db: Database, owner: OwnerId, conversation: ConversationId, id: IntentionId): Promise<Stopped> {
  return end(
    db,
    id,
    'canceled',
    sql`i.conversation_id = ${conversation}::uuid and exists (select 1 from conversation c where c.id = i.conversation_id and c.owner_id = ${owner})`,
  );
}

/** One request. Only a parked intention whose questions are past their time expires. */
export function expire(db: Database, id: IntentionId): Promise<Stopped> {
  return end(db, id, 'expired', sql`(i.status = 'expired' or (i.status in ('input_required', 'auth_required') and i.wake_at <= now()))`);
}

// Rule 4, Observe: whatever tells of a call's outcome goes through one compare-and-set, and the step joins. Effects: Postgres.

import { type SQL, sql } from 'drizzle-orm';
import type { Call, Closing } from '../intention/call.ts';
import type { IntentionStatus } from '../intention/intention.ts';
import { breakerFailures, maxTransmissions } from '../intention/limits.ts';
import type { Observed, RunnerName } from '../intention/rules.ts';
import type { Database } from './database.ts';
import { insertRows } from './decide.ts';
import {
  againTime,
  belongs,
  breakerTime,
  busy,
  firstLook,
  lease,
  lock,
  open,
  promote,
  question,
  questionTime,
  signInLook,
  taken,
} from './fragments.ts';
import { type MessageRow, messageFrom } from './rows.ts';
import { promotedNow } from './stop.ts';

interface Result extends Record<string, unknown> {
  readonly message: MessageRow | null;
  readonly status: IntentionStatus;
  readonly wake: readonly RunnerName[] | null;
}

/**
 * Closing form, one request. An open call takes any closing state; a question that stays observed (`auth_required`,
 * `unknown`) may still end, or become another question. When the last open call of a step closes, the intention goes
 * on (no question is open, or the user has spoken since the last decision) or is parked, without a model call.
 * A repeat finds the call closed, and its own row if it was the first.
 */
export async function observe(db: Database, call: Call, closing: Closing): Promise<Observed> {
  const conversation = sql`${call.conversationId}::uuid`;
  const asks = closing.state === 'input_required' || closing.state === 'auth_required' || closing.state === 'unknown';
  const [result] = await db.batch<Result>([
    lock(conversation),
    sql`with closed as (
        update call q set state = ${closing.state}, task_id = coalesce(case when not ${taken(sql`q`, closing.taskId)} then ${closing.taskId} end, q.task_id), context_id = coalesce(${closing.contextId}, q.context_id),
          fingerprint = ${closing.fingerprint}, error = ${closing.error}, lease_by = null, lease_until = null,
          -- A sign-in may happen by itself; a push may have named the task that nobody could tell of.
          wake_at = ${closing.state === 'auth_required' ? sql`now() + ${signInLook}` : closing.state === 'unknown' ? sql`case when q.task_id is not null then now() + ${signInLook} end` : sql`null`},
          deadline = case when ${asks} then now() + ${questionTime} else q.deadline end, updated_at = now()
        where q.id = ${call.id}::uuid and (q.state in (${open}) or (q.state in ('auth_required', 'unknown') and q.state <> ${closing.state} and ${closing.state} <> 'unknown'))
        returning q.id, q.intention_id, q.agent_id),
      -- What comes after the call is over is kept here and nowhere else.
      attempt as (update call_attempt a set ended_at = now(), outcome = ${closing.outcome},
          error = case when exists (select 1 from closed) then ${closing.error} else 'late' end
        from call q where q.id = ${call.id}::uuid and a.call_id = q.id and a.attempt = q.attempts and (a.ended_at is null or exists (select 1 from closed))),
      ${closing.reached === null ? sql`` : breaker(closing.reached)}
      go as (select i.* from intention i, closed where i.id = closed.intention_id and i.status in ('queued', 'planning', 'calling', 'input_required', 'auth_required')),
      seq as (update conversation c set next_seq = c.next_seq + 1, updated_at = now() from go where c.id = go.conversation_id returning c.next_seq - 1 as first),
      still as (select q.state from call q, go where q.intention_id = go.id and q.id <> ${call.id}::uuid),
      asking as (select state from still where state in (${question}) union all select ${closing.state} from go where ${asks}),
      spoken as (select 1 from message m, go where m.conversation_id = go.conversation_id and ${belongs(sql`m`, sql`go.id`)} and (m.role = 'user' or m.type = 'reassigned')
        and m.seq > (select max(d.seq) from message d where d.intention_id = go.id and d.type = 'query')),
      joined as (select case
          when go.status in ('queued', 'planning') then go.status
          when exists (select 1 from still where state in (${open})) then 'calling'
          when not exists (select 1 from asking) or (go.status = 'calling' and exists (select 1 from spoken)) then
            case when not go.parallel and go.status <> 'calling' and ${busy(sql`go.conversation_id`, sql`go.id`)} then 'queued' else 'planning' end
          when exists (select 1 from asking where state <> 'auth_required') then 'input_required' else 'auth_required' end as status from go),
      i as (update intention i set status = joined.status, updated_at = case when i.status = joined.status then i.updated_at else now() end,
          deadline = case when joined.status in ('planning', 'queued') and go.status not in ('planning', 'queued') then i.deadline + (now() - i.updated_at) else i.deadline end,
          wake_at = case when joined.status = 'planning' and go.status <> 'planning' then now()
            when joined.status in ('input_required', 'auth_required') then greatest((select max(q.deadline) from call q where q.intention_id = i.id
              and q.state in (${question}) and q.id <> ${call.id}::uuid), case when ${asks} then now() + ${questionTime} end)
            when joined.status = go.status then i.wake_at end
        from go, joined where i.id = go.id returning i.id),
      promoted as (${promote(sql`(select go.conversation_id from go, joined where go.status = 'calling' and joined.status in ('input_required', 'auth_required'))`, sql`(select go.id from go)`)})
      ${insertRows([closing.row], sql`go, seq`)}`,
    sql`select (select to_jsonb(m) from message m where m.id = ${closing.row.id}::uuid) as message, i.status,
      ${promotedNow(conversation, sql`null::uuid`)} as wake from intention i where i.id = ${call.intentionId}::uuid`,
  ]);
  return {
    message: result?.message ? messageFrom(result.message) : null,
    status: result?.status ?? 'canceled',
    wake: result?.wake ?? [],
  };
}

/** CTE: so many calls in a row that did not reach their agent, and it is left alone for a while; one that did closes the breaker. */
const breaker = (reached: boolean): SQL =>
  reached
    ? sql`breaker as (update agent a set failures = 0, down_until = null from closed where a.id = closed.agent_id and a.failures > 0),`
    : sql`breaker as (update agent a set failures = a.failures + 1,
          down_until = case when a.failures + 1 >= ${breakerFailures} then now() + ${breakerTime} else a.down_until end
        from closed where a.id = closed.agent_id),`;

/**
 * Binding form, one request: the task is known and at work. The reader keeps its lease, or gives the call away to be
 * polled. Not bound: a call that is over, or a task that another open call has. One in doubt stays a question and is
 * looked up; a canceled one is bound so that CancelTask can be sent.
 */
export async function bind(db: Database, call: Call, taskId: string, contextId: string | null, keeps: boolean): Promise<boolean> {
  const rows = await db.batch<{ state: string }>([
    lock(sql`${call.conversationId}::uuid`),
    sql`update call q set task_id = ${taskId}, context_id = coalesce(${contextId}, q.context_id), updated_at = now(),
        state = case when q.state = 'sending' then 'working' else q.state end,
        lease_by = case when ${keeps} then q.lease_by end, lease_until = case when ${keeps} then q.lease_until end,
        wake_at = case when q.state = 'canceled' then now() when ${keeps} then q.wake_at else least(q.wake_at, now() + ${firstLook}) end
      where q.id = ${call.id}::uuid and not ${taken(sql`q`, taskId)}
        and (q.state in ('sending', 'working') or (q.task_id is null and (q.state = 'unknown' or (q.state = 'canceled' and q.cancel = 'wanted'))))`,
    sql`select q.state from call q where q.id = ${call.id}::uuid and q.task_id = ${taskId}`,
  ]);
  return rows[0]?.state === 'working' || rows[0]?.state === 'unknown';
}

/**
 * The same message is to go out again: the call is planned once more, behind its attempt. A repeat finds it so. False:
 * somebody else has the call, or a push has named its task, and nothing follows from what the caller heard. One
 * statement, one row and its audit.
 */
export async function again(db: Database, call: Call): Promise<boolean> {
  const rows = await db.one(sql`with back as (
      update call q set state = 'planned', wake_at = now() + ${againTime}, lease_by = null, lease_until = null, updated_at = now()
      where q.id = ${call.id}::uuid and q.attempts = ${call.attempts} and q.attempts < ${maxTransmissions}
        and q.state = 'sending' and q.task_id is not distinct from ${call.taskId} returning q.id),
    attempt as (update call_attempt a set ended_at = now(), outcome = 'unknown' from back where a.call_id = back.id and a.attempt = ${call.attempts})
    select id from back union select q.id from call q where q.id = ${call.id}::uuid and q.attempts = ${call.attempts} and q.state = 'planned'`);
  return rows.length === 1;
}

/** A fenced look at the lease: false when it is no longer ours, and the work is to be aborted. Single statements, one row each. */
export async function renew(
  db: Database,
  holder: { readonly intention: string; readonly fence: number } | { readonly call: string },
  by: RunnerName,
): Promise<boolean> {
  const rows = await db.one(
    'call' in holder
      ? sql`update call set lease_until = now() + ${lease}, wake_at = now() + ${lease}
          where id = ${holder.call}::uuid and lease_by = ${by} and state in (${open}) returning id`
      : sql`update intention set lease_until = now() + ${lease}, wake_at = now() + ${lease}
          where id = ${holder.intention}::uuid and lease_by = ${by} and fence = ${holder.fence} and status = 'planning' returning id`,
  );
  return rows.length === 1;
}

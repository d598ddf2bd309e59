// The claim of one call, and what its Runner writes of it beside its outcome. Effects: Postgres.

import { sql } from 'drizzle-orm';
import type { AgentSource } from '../agent/card.ts';
import type { Call, CancelOutcome } from '../intention/call.ts';
import { firstLookMs, longestLookMs, maxCancels } from '../intention/limits.ts';
import type { CallId } from '../intention/message.ts';
import type { CallClaim, RunnerName } from '../intention/rules.ts';
import type { Database } from './database.ts';
import { cancelAgain, lease, lock, lookPause, open, taken } from './fragments.ts';
import { type AgentRow, agentFrom, type CallRow, callFrom, callJson } from './rows.ts';

interface Result extends Record<string, unknown> {
  readonly mine: boolean;
  readonly fresh: boolean;
  readonly call: CallRow;
  readonly agent: AgentRow | null;
  readonly now: string;
  readonly in_ms: number | null;
}

/**
 * One request. A planned call becomes `sending`, its attempt begun. One at work, or asking for something that may go
 * on by itself, is due for a look: the next one is set here already, twice as far off each time up to a minute, so
 * that a look that finds nothing new writes nothing. At most one look a second. Whoever reads a reply is to be looked
 * for when its lease ends; if that is the caller itself, which runs once at a time, its last run died: taken over at once.
 * `token` is new with each claim, so that a batch repeated after a lost response is still the one that is to send.
 */
export async function claimCall(
  db: Database,
  id: CallId,
  by: RunnerName,
  token: string,
  sources: readonly AgentSource[],
): Promise<CallClaim> {
  const q = sql`${id}::uuid`;
  const orphaned = sql`(c.lease_by = ${by} and c.wake_at = c.lease_until)`;
  const [result] = await db.batch<Result>([
    lock(sql`(select conversation_id from call where id = ${q})`),
    sql`with was as (select id, state, attempts from call where id = ${q}),
      mine as (update call c set lease_by = ${by}, lease_until = now() + ${lease}, updated_at = now(),
          state = case when c.state = 'planned' then 'sending' else c.state end,
          attempts = c.attempts + case when c.state = 'planned' then 1 else 0 end,
          sent_at = case when c.state = 'planned' then now() else c.sent_at end,
          polls = c.polls + case when c.state in ('planned', 'sending') then 0 else 1 end,
          cancel_attempts = c.cancel_attempts + case when c.cancel = 'wanted' then 1 else 0 end,
          last_look_at = now(),
          wake_at = case when c.state = 'planned' then now() + ${lease}
            when c.state = 'canceled' then now() + ${cancelAgain} * power(2, least(c.cancel_attempts, ${maxCancels}))
            when c.state = 'unknown' and c.task_id is null then null
            else now() + least(${longestLookMs / 1_000}, ${firstLookMs / 1_000} * power(2, least(c.polls, 10))) * (0.8 + 0.4 * random()) * interval '1 second' end
        where c.id = ${q} and (c.wake_at <= now() or ${orphaned}) and (c.lease_until is null or c.lease_until <= now() or c.lease_by = ${by})
          and (c.last_look_at is null or c.last_look_at <= now() - ${lookPause} or c.state = 'planned' or ${orphaned})
          and (c.state in (${open}, 'auth_required', 'unknown') or (c.state = 'canceled' and c.cancel = 'wanted'))
        returning c.id, c.state, c.attempts)
      insert into call_attempt (call_id, attempt, token) select mine.id, mine.attempts, ${token}::uuid from mine, was where was.state = 'planned' on conflict do nothing`,
    sql`select c.lease_by = ${by} and c.last_look_at = now() as mine,
        c.state = 'sending' and exists (select 1 from call_attempt t where t.call_id = c.id and t.attempt = c.attempts and t.token = ${token}::uuid) as fresh, ${callJson(sql`c`)} as call, now() as now,
        (select to_jsonb(a) from agent a where a.id = c.agent_id) as agent,
        case when c.wake_at is not null then greatest(0, extract(epoch from
          greatest(c.wake_at, case when c.lease_by <> ${by} then c.lease_until end, case when c.state <> 'planned' then c.last_look_at + ${lookPause} end)
          - now()) * 1000)::float8 end as in_ms
      from call c where c.id = ${q}`,
  ]);
  if (!result) return { kind: 'wait', inMs: null };
  if (!result.mine || result.agent === null) return { kind: 'wait', inMs: result.in_ms };
  const call = callFrom(result.call);
  return {
    kind: 'claimed',
    fresh: result.fresh,
    call,
    agent: agentFrom(result.agent, sources),
    nowMs: Date.parse(result.now),
    inMs: result.in_ms,
  };
}

/** What CancelTask came to, in the end. A task that had no name yet may still be named, and canceled then; it may just have been. */
export async function cancelled(db: Database, call: Call, outcome: CancelOutcome): Promise<void> {
  const nameless = outcome === 'unsettled' && call.taskId === null;
  await db.one(sql`update call c set cancel = case when ${outcome} = 'unsettled' and (c.task_id is null or ${nameless}) then c.cancel else 'done' end,
      cancel_outcome = ${outcome}, wake_at = case when ${nameless} and c.task_id is not null then c.wake_at end, lease_by = null, lease_until = null
    where c.id = ${call.id}::uuid and c.cancel = 'wanted'`);
}

/**
 * A push came. One that finds the call due already writes nothing; one that comes while the task is looked up makes it
 * due again. When the send's reply was lost, the push is the first to name the task: it is bound once, and never one
 * that another open call of the agent has; one that was to be sent again has arrived, then. A canceled call only waits for its task's name.
 */
export async function poke(db: Database, id: CallId, taskId: string | null): Promise<'poked' | 'due' | null> {
  const soon = sql`greatest(now(), c.last_look_at + ${lookPause})`;
  const nameless = sql`(c.state = 'canceled' and c.cancel = 'wanted' and c.task_id is null and ${taskId}::text is not null)`;
  const listening = sql`(c.state in (${open}, 'auth_required', 'unknown') or ${nameless})`;
  const binds = sql`(${taskId}::text is not null and c.task_id is null and c.attempts > 0 and not ${taken(sql`c`, taskId)})`;
  const rows = await db.one<{ poked: boolean }>(sql`with p as (
      update call c set last_poke_at = now(), wake_at = ${soon}, state = case when ${binds} and c.state = 'planned' then 'working' else c.state end, task_id = case when ${binds} then ${taskId} else c.task_id end
      where c.id = ${id}::uuid and ${listening} and (c.wake_at is null or c.wake_at > ${soon} or ${binds})
      returning c.id)
    select exists (select 1 from p) as poked from call c where c.id = ${id}::uuid and ${listening}`);
  const row = rows[0];
  return row === undefined ? null : row.poked ? 'poked' : 'due';
}

// Rule 3, Decide: a planner's decision becomes rows and calls, once, if nothing newer has come. Effects: Postgres.

import { type SQL, sql } from 'drizzle-orm';
import type { IntentionStatus } from '../intention/intention.ts';
import { type NewMessage, planName } from '../intention/message.ts';
import type { Decided, RunnerName } from '../intention/rules.ts';
import type { Outcome } from '../intention/transition.ts';
import type { StepContext } from '../step/context.ts';
import { type Database, json } from './database.ts';
import { asking, belongs, lease, lock, planningTime, promote, question, runnable } from './fragments.ts';
import { type CallRow, callFrom, callJson, type MessageRow, messageFrom } from './rows.ts';
import { promotedNow } from './stop.ts';

interface Result extends Record<string, unknown> {
  readonly held: boolean;
  readonly messages: readonly MessageRow[] | null;
  readonly status: IntentionStatus;
  readonly calls: readonly CallRow[] | null;
  readonly wake: readonly RunnerName[] | null;
  readonly cancels: readonly RunnerName[] | null;
}

/**
 * One request. Guarded by fence, step, status `planning` and the newest seq being the one loaded; only if the last
 * fails the answer is `overtaken`. A batch repeated after a lost response finds its own rows and answers `applied`.
 */
export async function decide(db: Database, context: StepContext, by: RunnerName, outcome: Outcome): Promise<Decided> {
  const conversation = sql`${context.conversationId}::uuid`;
  const ids = outcome.kind === 'call' ? outcome.rows.map((row) => row.id) : [outcome.row.id];
  const write =
    outcome.kind === 'call'
      ? call(context, by, outcome)
      : outcome.kind === 'finish'
        ? finish(context, outcome)
        : reassign(context, outcome);
  const [result] = await db.batch<Result>([
    lock(conversation),
    write,
    sql`with m as (select m.* from message m where m.id = any (array(select value::uuid from jsonb_array_elements_text(${json(ids)}))))
      select coalesce(i.fence = ${context.fence} and i.step = ${context.step} and i.status = 'planning', false) as held,
        (select jsonb_agg(to_jsonb(m) order by m.seq) from m) as messages, coalesce(i.status, 'answered') as status,
        (select jsonb_agg(${callJson(sql`q`)} order by q.ord) from call q where q.intention_id = i.id and q.step = ${context.step + 1}) as calls,
        ${promotedNow(conversation, sql`null::uuid`)} as wake,
        (select jsonb_agg('call:' || q.id) from call q where q.conversation_id = ${conversation} and q.cancel = 'wanted' and q.updated_at = now()) as cancels
      from (select 1) one left join intention i on i.id = ${context.intentionId}::uuid`,
  ]);
  if (!result?.messages) return result?.held ? { kind: 'overtaken' } : { kind: 'lost' };
  return {
    kind: 'applied',
    messages: result.messages.map(messageFrom),
    status: result.status,
    calls: outcome.kind === 'call' ? (result.calls ?? []).map(callFrom) : [],
    wake: [...(result.wake ?? []), ...(result.cancels ?? [])],
  };
}

/** CTE `go`: the intention, if this decision still holds. */
const go = (context: StepContext): SQL => sql`go as (select i.* from intention i where i.id = ${context.intentionId}::uuid
  and i.fence = ${context.fence} and i.step = ${context.step} and i.status = 'planning'
  and ${context.messages.at(-1)?.seq ?? 0} = (select max(m.seq) from message m where m.conversation_id = i.conversation_id and ${belongs(sql`m`, sql`i.id`)}))`;

/** CTE `seq`: the first place of `count` new rows. */
const seq = (count: number): SQL => sql`seq as (update conversation c set next_seq = c.next_seq + ${count}, updated_at = now()
  from go where c.id = go.conversation_id returning c.next_seq - ${count} as first)`;

const rowsOf = (rows: readonly NewMessage[]): SQL =>
  sql`jsonb_to_recordset(${json(
    rows.map((row, place) => ({
      place,
      id: row.id,
      step: row.step,
      ord: row.ord,
      role: row.role,
      type: row.type,
      agent: row.agent,
      to_agent: row.toAgent,
      reason: row.reason,
      call_id: row.callId,
      content: row.content,
      parts: row.parts,
      usage: row.usage ?? undefined,
    })),
  )}) as x(place int, id uuid, step int, ord int, role text, type text, agent text, to_agent text, reason text, call_id uuid, content text, parts jsonb, usage jsonb)`;

/** `insert` of rows from place `seq.first` on, for the intention `go`: both name CTEs in `from`. */
export const insertRows = (rows: readonly NewMessage[], from: SQL): SQL => sql`insert into message
  (conversation_id, seq, id, intention_id, step, ord, role, type, agent, to_agent, reason, call_id, content, parts, usage)
  select go.conversation_id, seq.first + x.place, x.id, go.id, x.step, x.ord, x.role, x.type, x.agent, x.to_agent, x.reason, x.call_id, x.content, x.parts, x.usage
  from ${rowsOf(rows)}, ${from}`;

/**
 * Rows, calls, and the questions that they answer. A single call is born `sending` with its attempt begun: this
 * invocation sends it next. The old question leaves its task before the new call takes it (hence the join with `resumed`).
 */
function call(context: StepContext, by: RunnerName, outcome: Extract<Outcome, { kind: 'call' }>): SQL {
  const single = outcome.calls.length === 1;
  return sql`with ${go(context)}, ${seq(outcome.rows.length)},
    x as (select * from jsonb_to_recordset(${json(
      outcome.calls.map((made) => ({
        id: made.id,
        ord: made.ord,
        agent_id: made.agentId,
        agent: made.agent,
        message_id: made.messageId,
        task_id: made.taskId,
        context_id: made.contextId,
        reference_task_ids: made.referenceTaskIds,
        answers: made.answers,
        stale_fingerprint: made.staleFingerprint,
        allowed_ms: made.allowedMs,
      })),
    )}) as x(id uuid, ord int, agent_id uuid, agent text, message_id uuid, task_id text, context_id text, reference_task_ids jsonb, answers uuid, stale_fingerprint text, allowed_ms bigint)),
    resumed as (update call q set state = 'resumed', wake_at = null, updated_at = now() from go, x
      where q.id = x.answers and q.intention_id = go.id and q.state in (${question}) returning q.id),
    made as (insert into call (id, conversation_id, intention_id, step, ord, agent_id, agent, message_id, task_id, context_id, reference_task_ids,
        state, answers, attempts, wake_at, lease_by, lease_until, deadline, sent_at, stale_fingerprint)
      select x.id, go.conversation_id, go.id, go.step + 1, x.ord, x.agent_id, x.agent, x.message_id, x.task_id, x.context_id, x.reference_task_ids,
        ${single ? 'sending' : 'planned'}, x.answers, ${single ? 1 : 0}, ${single ? sql`now() + ${lease}` : sql`now()`}, ${single ? by : null},
        ${single ? sql`now() + ${lease}` : sql`null`}, now() + x.allowed_ms * interval '1 millisecond', ${single ? sql`now()` : sql`null`}, x.stale_fingerprint
      from go, x left join resumed on resumed.id = x.answers, seq returning id),
    attempt as (insert into call_attempt (call_id, attempt) select id, 1 from made where ${single}),
    i as (update intention i set status = 'calling', step = i.step + 1, failures = 0, lease_by = null, lease_until = null, wake_at = null, updated_at = now()
      from go where i.id = go.id returning i.id)
    ${insertRows(outcome.rows, sql`go, seq`)}`;
}

/** The final row; the intention's questions close with it, and the next in the queue has its turn. */
function finish(context: StepContext, outcome: Extract<Outcome, { kind: 'finish' }>): SQL {
  return sql`with ${go(context)}, ${seq(1)},
    closed as (update call q set state = 'canceled', cancel = 'wanted', wake_at = now(), updated_at = now()
      from go where q.intention_id = go.id and q.state in (${question}) returning q.id),
    i as (update intention i set status = ${outcome.status}, step = i.step + 1, fence = i.fence + 1, failures = 0, lease_by = null, lease_until = null,
        wake_at = null, updated_at = now() from go where i.id = go.id returning i.id),
    promoted as (${promote(sql`(select conversation_id from go)`, sql`(select id from go)`)})
    ${insertRows([outcome.row], sql`go, seq`)}`;
}

/**
 * The newest user row moves. Its old intention is parked again with its old expiry; one that held nothing else never
 * was; one whose question closed meanwhile goes on. The message goes to the intention of the named question, if that is still parked, or starts its own.
 */
function reassign(context: StepContext, outcome: Extract<Outcome, { kind: 'reassign' }>): SQL {
  const id = sql`${context.intentionId}::uuid`;
  const target =
    outcome.to === 'new'
      ? sql`select m.id, go.parallel, true as fresh from moving m, go`
      : sql`select t.id, t.parallel, false as fresh from intention t join call q on q.intention_id = t.id, go
          where q.id = ${outcome.to}::uuid and q.state in (${question}) and t.status in ('input_required', 'auth_required')
            and t.conversation_id = go.conversation_id and t.id <> go.id`;
  return sql`with ${go(context)},
    moving as (select m.id, m.seq, m.intention_id from message m, go
      where m.conversation_id = go.conversation_id and ${belongs(sql`m`, sql`go.id`)} and m.role = 'user' and m.moved_to is null order by m.seq desc limit 1),
    target as (${target}),
    asked as (select q.state, q.deadline from call q, go, target where q.intention_id = go.id and q.state in (${question})),
    seq as (update conversation c set next_seq = c.next_seq + 1, updated_at = now() from go, target where c.id = go.conversation_id returning c.next_seq - 1 as first),
    moved as (update message m set moved_to = target.id from moving, target, go where m.conversation_id = go.conversation_id and m.seq = moving.seq returning m.seq),
    parked as (update intention i set status = ${asking(sql`asked`)}, wake_at = (select max(deadline) from asked), fence = i.fence + 1, failures = 0,
        lease_by = null, lease_until = null, updated_at = now() from target where i.id = ${id} and i.id in (select go.id from go) and exists (select 1 from asked) returning i.id),
    others as (select 1 from message m, go, moving where m.conversation_id = go.conversation_id and ${belongs(sql`m`, sql`go.id`)} and m.seq <> moving.seq limit 1),
    emptied as (delete from intention i using go, target where i.id = go.id and not exists (select 1 from asked) and not exists (select 1 from others)),
    goes_on as (update intention i set fence = i.fence + 1, failures = 0, lease_by = null, lease_until = null, wake_at = now(), updated_at = now()
      from target where i.id in (select go.id from go) and not exists (select 1 from asked) and exists (select 1 from others) returning i.id),
    -- Whoever gives a message away gives its turn with it, to an intention that takes turns.
    turn as (select case when target.parallel or (not go.parallel and not exists (select 1 from goes_on)) then 'planning'
        else ${runnable(sql`false`, sql`go.conversation_id`, sql`null::uuid`)} end as status from target, go),
    promoted as (${promote(sql`(select go.conversation_id from target, go where target.parallel and not go.parallel and not exists (select 1 from goes_on))`, id)}),
    started as (insert into intention (id, conversation_id, status, parallel, wake_at, deadline)
      select target.id, go.conversation_id, turn.status, target.parallel, case when turn.status = 'planning' then now() end, now() + ${planningTime}
      from target, go, turn where target.fresh returning id),
    woken as (update intention i set status = turn.status, wake_at = case when turn.status = 'planning' then now() end, failures = 0,
        deadline = i.deadline + (now() - i.updated_at), updated_at = now() from target, turn where i.id = target.id and not target.fresh returning i.id)
    insert into message (conversation_id, seq, id, intention_id, role, type, agent, content, parts)
    select go.conversation_id, seq.first, ${outcome.row.id}::uuid, target.id, 'agent', 'reassigned', ${planName}, '',
      jsonb_build_object('seq', moving.seq, 'from', moving.intention_id, 'decision', ${json(outcome.row.decision ?? null)})
    from go, seq, target, moving`;
}

// Rule 2, Claim and load: one Runner takes the work of an intention, with all that the step needs. Effects: Postgres.

import { sql } from 'drizzle-orm';
import type { AgentSource } from '../agent/card.ts';
import type { IntentionStatus } from '../intention/intention.ts';
import { agentName, callId, conversationId, type IntentionId, intentionId, ownerId } from '../intention/message.ts';
import type { Claim, RunnerName } from '../intention/rules.ts';
import { type Database, json } from './database.ts';
import { belongs, lease, lock, open, question } from './fragments.ts';
import { type AgentRow, agentFrom, type CallRow, callFrom, callJson, type MessageRow, messageFrom } from './rows.ts';

/** Turns of the conversation that the prompt may look back on. */
const historyRows = 30;

interface Result extends Record<string, unknown> {
  readonly mine: boolean;
  readonly conversation_id: string;
  readonly owner_id: string;
  readonly now: string;
  readonly status: IntentionStatus;
  readonly fence: number;
  readonly step: number;
  readonly failures: number;
  readonly deadline: string;
  readonly wake_at: string | null;
  readonly lease_until: string | null;
  readonly due: readonly RunnerName[] | null;
  readonly load: {
    readonly messages: readonly MessageRow[] | null;
    readonly history: readonly MessageRow[] | null;
    readonly calls: readonly CallRow[] | null;
    readonly questions:
      | readonly {
          readonly call_id: string;
          readonly intention_id: string;
          readonly agent: string;
          readonly kind: 'input_required' | 'auth_required' | 'unknown';
          readonly content: string;
          readonly query: string;
        }[]
      | null;
    readonly contexts: readonly { readonly agent_id: string; readonly context_id: string; readonly task_id: string | null }[] | null;
    readonly agents: readonly AgentRow[] | null;
    readonly stale: readonly string[] | null;
  } | null;
}

/**
 * One request. A free lease, one's own and an expired one are taken; another's live one is waited for. An intention
 * that is not there may live on in the message of its id: then its Runner is woken instead. While its calls are out,
 * those that this Runner held itself (it died) are handed to their own Runners. Whoever has its turn and was not woken yet
 * (its waker died in between) is named too.
 */
export async function claim(db: Database, id: IntentionId, by: RunnerName, sources: readonly AgentSource[]): Promise<Claim> {
  const i = sql`${id}::uuid`;
  const urls = json(sources.map((source) => source.url));
  const [result] = await db.batch<Result>([
    lock(sql`(select conversation_id from intention where id = ${i})`),
    sql`with mine as (update intention set lease_by = ${by}, lease_until = now() + ${lease}, wake_at = now() + ${lease}, fence = fence + 1, failures = failures + 1
        where id = ${i} and status = 'planning' and (lease_until is null or lease_until <= now() or lease_by = ${by}))
      update call q set lease_by = null, lease_until = null, wake_at = now()
        where q.intention_id = ${i} and q.lease_by = ${by} and q.state in (${open})`,
    sql`select i.status = 'planning' and i.lease_by = ${by} as mine, i.conversation_id, c.owner_id, now() as now, i.status, i.fence, i.step, i.failures,
        i.deadline, i.wake_at, i.lease_until,
        (select jsonb_agg(name) from (
          select 'call:' || q.id as name from call q where q.intention_id = i.id and q.wake_at <= now()
          union all
          select 'intention:' || p.id from intention p where p.conversation_id = i.conversation_id and p.id <> i.id
            and p.status = 'planning' and p.wake_at <= now() and p.lease_until is null) names) as due,
        case when i.status = 'planning' and i.lease_by = ${by} then jsonb_build_object(
          'messages', (select jsonb_agg(to_jsonb(m) order by m.seq) from message m where m.conversation_id = i.conversation_id and ${belongs(sql`m`, sql`i.id`)}),
          'history', (select jsonb_agg(to_jsonb(h) order by h.seq) from (select m.* from message m
            where m.conversation_id = i.conversation_id and m.role in ('user', 'assistant') and coalesce(m.moved_to, m.intention_id) <> i.id
              and (m.role = 'assistant'
                or m.seq < (select max(u.seq) from message u where u.conversation_id = i.conversation_id and ${belongs(sql`u`, sql`i.id`)}))
            order by m.seq desc limit ${historyRows}) h),
          'calls', (select jsonb_agg(${callJson(sql`q`)} order by q.step, q.ord) from call q where q.intention_id = i.id),
          'questions', (select jsonb_agg(jsonb_build_object('call_id', q.id, 'intention_id', q.intention_id, 'agent', q.agent, 'kind', q.state,
              'content', (select m.content from message m where m.call_id = q.id and m.type in ('input_required', 'auth_required') order by m.seq desc limit 1),
              'query', (select m.content from message m where m.intention_id = q.intention_id and m.call_id = q.id and m.type = 'query')) order by q.created_at, q.ord)
            from call q join intention a on a.id = q.intention_id
            where q.conversation_id = i.conversation_id and q.state in (${question}) and (a.id = i.id or a.status in ('input_required', 'auth_required'))),
          'contexts', (select jsonb_agg(jsonb_build_object('agent_id', f.agent_id, 'context_id', f.context_id, 'task_id', f.task_id)) from (
            select distinct on (q.agent_id) q.agent_id, q.context_id, q.task_id from call q
            where q.conversation_id = i.conversation_id and q.context_id is not null and q.state in ('completed', 'failed', 'canceled', 'rejected')
              and not exists (select 1 from call o where o.conversation_id = i.conversation_id and o.agent_id = q.agent_id and o.context_id = q.context_id
                and o.state in (${open}, ${question}))
            order by q.agent_id, q.created_at desc, q.ord desc) f),
          'agents', (select jsonb_agg(to_jsonb(a) order by a.namespace, a.name) from agent a
            where a.enabled and a.missing_since is null and a.source in (select value from jsonb_array_elements_text(${urls}))),
          'stale', (select jsonb_agg(u.value) from jsonb_array_elements_text(${urls}) u
            where not exists (select 1 from agent_source s where s.url = u.value and s.fresh_until > now()))) end as load
      from intention i join conversation c on c.id = i.conversation_id where i.id = ${i}`,
  ]);
  if (!result) return elsewhere(db, id);
  const at = (time: string | null) => (time === null ? null : Date.parse(time));
  if (result.load) {
    const { load } = result;
    return {
      kind: 'step',
      context: {
        intentionId: id,
        conversationId: conversationId(result.conversation_id),
        ownerId: ownerId(result.owner_id),
        nowMs: Date.parse(result.now),
        fence: result.fence,
        step: result.step,
        failures: result.failures,
        deadlineMs: Date.parse(result.deadline),
        messages: (load.messages ?? []).map(messageFrom),
        history: (load.history ?? []).map(messageFrom),
        calls: (load.calls ?? []).map(callFrom),
        questions: (load.questions ?? []).map((row) => ({
          callId: callId(row.call_id),
          intentionId: intentionId(row.intention_id),
          agent: agentName(row.agent),
          kind: row.kind,
          content: row.content,
          query: row.query,
        })),
        freeContexts: (load.contexts ?? []).map((row) => ({ agentId: row.agent_id, contextId: row.context_id, taskId: row.task_id })),
        agents: (load.agents ?? []).map((row) => agentFrom(row, sources)),
        staleSources: sources.filter((source) => load.stale?.includes(source.url)),
      },
    };
  }
  const parked = result.status === 'input_required' || result.status === 'auth_required';
  const wakeAt = at(result.wake_at);
  if (parked && wakeAt !== null && wakeAt <= Date.parse(result.now))
    return { kind: 'expired', conversationId: conversationId(result.conversation_id) };
  const inMs = (time: number | null) => (time === null ? null : Math.max(0, time - Date.parse(result.now)));
  return {
    kind: 'wait',
    inMs: inMs(result.status === 'planning' ? at(result.lease_until) : parked ? wakeAt : null),
    wake: result.due ?? [],
  };
}

/** The message that would have started the intention joined another one, or moved there. */
async function elsewhere(db: Database, id: IntentionId): Promise<Claim> {
  const rows = await db.one<{ name: RunnerName }>(
    sql`select 'intention:' || coalesce(moved_to, intention_id) as name from message where id = ${id}::uuid and coalesce(moved_to, intention_id) <> ${id}::uuid`,
  );
  return { kind: 'wait', inMs: null, wake: rows.map((row) => row.name) };
}

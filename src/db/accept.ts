// Rule 1, Accept: a posted message becomes a row, once, and joins an intention or starts one. Effects: Postgres.

import { type SQL, sql } from 'drizzle-orm';
import type { IntentionStatus } from '../intention/intention.ts';
import { type ConversationId, conversationId, intentionId, type OwnerId } from '../intention/message.ts';
import type { Accepted, Accepting, RunnerName, Stopped } from '../intention/rules.ts';
import { type Database, json } from './database.ts';
import { belongs, busy, lock, planningTime, question, runnable } from './fragments.ts';
import { type MessageRow, messageFrom } from './rows.ts';
import { stoppedNow, stopping } from './stop.ts';

interface Result extends Record<string, unknown> {
  readonly owned: boolean;
  readonly key_hash: string | null;
  readonly message: MessageRow | null;
  readonly intention: string | null;
  readonly status: IntentionStatus | null;
  readonly busy: boolean;
  readonly stop: readonly RunnerName[] | null;
}

/**
 * One request. The same idempotency key with the same body answers with the first message; so does a repeat of the
 * batch itself. Adds to an intention only while one of its questions is open, else starts one under the message's id.
 */
export async function accept(db: Database, message: Accepting): Promise<Accepted> {
  const target = message.conversation;
  if (target === null && typeof message.answerTo === 'string') return { kind: 'question_closed' };
  const statements = target === null ? openConversation(message) : joinConversation(message, target);
  const [result] = await db.batch<Result>([...statements, outcome(message)]);
  if (!result?.owned) return { kind: 'no_conversation' };
  if (result.key_hash !== null && result.key_hash !== message.idempotency?.bodyHash) return { kind: 'key_reused' };
  if (result.message === null || result.status === null || result.intention === null) {
    return { kind: message.onBusy === 'reject' && result.busy && typeof message.answerTo !== 'string' ? 'busy' : 'question_closed' };
  }
  const stopped: Stopped | null = result.stop?.length ? { message: null, status: null, stop: result.stop, wake: [] } : null;
  return {
    kind: 'accepted',
    message: messageFrom(result.message),
    intentionId: intentionId(result.intention),
    status: result.status,
    repeated: result.message.id !== message.messageId,
    stopped,
  };
}

/** An empty conversation, once. */
export async function open(db: Database, owner: OwnerId, id: ConversationId, title: string): Promise<void> {
  await db.one(sql`insert into conversation (id, owner_id, title) values (${id}::uuid, ${owner}, ${title}) on conflict do nothing`);
}

/** One row when the message is the first under its key; `when` names a CTE with one row when there is something to accept. */
const keyRow = (message: Accepting, conversation: SQL, when: SQL): SQL =>
  message.idempotency === null
    ? sql`select 1 as ok from ${when}`
    : sql`insert into accept_key (owner_id, scope, key, body_hash, conversation_id, message_id)
        select ${message.owner}, ${message.idempotency.scope}, ${message.idempotency.key}, ${message.idempotency.bodyHash}, ${conversation},
          ${message.messageId}::uuid from ${when}
        on conflict do nothing returning 1 as ok`;

/** Nobody else knows the new id: no lock is needed, and the key decides between two who post at once. */
function openConversation(message: Accepting): [SQL] {
  const id = sql`${message.newConversationId}::uuid`;
  return [
    sql`with fresh as (select 1 where not exists (select 1 from conversation where id = ${id})),
      k as (${keyRow(message, id, sql`fresh`)}),
      c as (insert into conversation (id, owner_id, title, next_seq) select ${id}, ${message.owner}, ${message.title}, 2 from k
        on conflict do nothing returning id),
      i as (insert into intention (id, conversation_id, status, parallel, wake_at, deadline)
        select ${message.messageId}::uuid, c.id, 'planning', ${message.onBusy === 'parallel'}, now(), now() + ${planningTime} from c returning id)
      insert into message (conversation_id, seq, id, intention_id, role, content, parts)
      select c.id, 1, i.id, i.id, 'user', ${message.content}, ${json(message.parts)} from c, i`,
  ];
}

function joinConversation(message: Accepting, id: string): [SQL, ...SQL[]] {
  const conversation = sql`${id}::uuid`;
  const statements: [SQL, ...SQL[]] = [lock(conversation)];
  if (message.onBusy === 'interrupt') statements.push(interrupt(message, conversation));
  statements.push(
    sql`with given as (select c.id from conversation c where c.id = ${conversation} and c.owner_id = ${message.owner}
        and not exists (select 1 from message where id = ${message.messageId}::uuid)),
      target as (${targetOf(message, conversation)}),
      ready as (select given.id, target.id as joined, coalesce(target.parallel, ${message.onBusy === 'parallel'}) as parallel, target.status
        from given left join target on true
        where (target.id is not null or ${typeof message.answerTo !== 'string'})
          and (coalesce(target.status, '') = 'calling' or ${message.onBusy !== 'reject'} or not ${busy(conversation, sql`target.id`)})),
      k as (${keyRow(message, conversation, sql`ready`)}),
      seq as (update conversation c set next_seq = next_seq + 1, updated_at = now(), title = case when c.title = '' then ${message.title} else c.title end from ready, k where c.id = ready.id returning c.next_seq - 1 as seq),
      started as (insert into intention (id, conversation_id, status, parallel, wake_at, deadline)
        select ${message.messageId}::uuid, ready.id, s.status, ready.parallel, case when s.status = 'planning' then now() end, now() + ${planningTime}
        from ready, seq, lateral (select ${runnable(sql`ready.parallel`, conversation, sql`null::uuid`)} as status) s
        where ready.joined is null returning id),
      joined as (update intention i set status = s.status, wake_at = case when s.status = 'planning' then now() end,
          deadline = i.deadline + (now() - i.updated_at), updated_at = now(), failures = 0
        from ready, seq, lateral (select ${runnable(sql`ready.parallel`, conversation, sql`ready.joined`)} as status) s
        where i.id = ready.joined and ready.status <> 'calling' returning i.id)
      insert into message (conversation_id, seq, id, intention_id, role, content, parts)
      select ready.id, seq.seq, ${message.messageId}::uuid, coalesce(ready.joined, ${message.messageId}::uuid), 'user', ${message.content}, ${json(message.parts)}
      from ready, seq`,
  );
  return statements;
}

/** The intention whose open question the message is for: the named one; unnamed, the one whose question was the last thing said. */
function targetOf(message: Accepting, conversation: SQL): SQL {
  const asked = sql`select i.id, i.status, i.parallel from intention i join call q on q.intention_id = i.id
    where i.conversation_id = ${conversation} and i.status in ('input_required', 'auth_required', 'calling') and q.state in (${question})`;
  if (message.answerTo === null) return sql`${asked} and false`;
  if (message.answerTo !== undefined)
    return sql`${asked} and (q.id = ${message.answerTo}::uuid or i.id = ${message.answerTo}::uuid) limit 1`;
  return sql`${asked} and q.id = (select case when m.type in ('input_required', 'auth_required') then m.call_id end
    from message m where m.conversation_id = ${conversation} order by m.seq desc limit 1) limit 1`;
}

/** Stops what is at work or queued, but for the intention that the message joins. A repeated message stops nothing. */
function interrupt(message: Accepting, conversation: SQL): SQL {
  const known =
    message.idempotency === null
      ? sql`false`
      : sql`exists (select 1 from accept_key k where k.owner_id = ${message.owner} and k.scope = ${message.idempotency.scope} and k.key = ${message.idempotency.key})`;
  return stopping(
    sql`select i.id, i.conversation_id from intention i join conversation c on c.id = i.conversation_id
      where c.id = ${conversation} and c.owner_id = ${message.owner} and not i.parallel and i.status in ('queued', 'planning', 'calling')
        and i.id not in (select t.id from (${targetOf(message, conversation)}) t)
        and (${typeof message.answerTo !== 'string'} or exists (${targetOf(message, conversation)}))
        and not ${known} and not exists (select 1 from message where id = ${message.messageId}::uuid)`,
    'canceled',
    conversation,
    sql`null::uuid`,
  );
}

function outcome(message: Accepting): SQL {
  const key =
    message.idempotency === null
      ? sql`select null::text as body_hash, null::uuid as message_id, null::uuid as conversation_id where false`
      : sql`select k.body_hash, k.message_id, k.conversation_id from accept_key k
          where k.owner_id = ${message.owner} and k.scope = ${message.idempotency.scope} and k.key = ${message.idempotency.key}`;
  const own = message.conversation ?? message.newConversationId;
  return sql`with k as (${key}), m as (select m.* from message m where m.id = coalesce((select message_id from k), ${message.messageId}::uuid))
    select exists (select 1 from conversation c where c.id = coalesce((select conversation_id from k), ${conversationId(own)}::uuid) and c.owner_id = ${message.owner}) as owned,
      (select body_hash from k) as key_hash, (select to_jsonb(m) from m) as message, i.id as intention, i.status,
      ${busy(sql`${own}::uuid`, sql`null::uuid`)} as busy,
      ${message.onBusy === 'interrupt' ? stoppedNow(sql`${own}::uuid`) : sql`null`} as stop
    from (select 1) one left join m on true left join intention i on ${belongs(sql`m`, sql`i.id`)}`;
}

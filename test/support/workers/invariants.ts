// What is true of the ledger at any moment between two rules, whoever ran them and in whatever order. Effects: Postgres.

import { type MessageRow, messageFrom } from '../../../src/db/rows.ts';
import { fold } from '../../../src/intention/fold.ts';
import type { Query } from '../ledger.ts';

const terminal = `('answered', 'failed', 'canceled', 'expired')`;
const open = `('planned', 'sending', 'working')`;
const question = `('input_required', 'auth_required', 'unknown')`;
const decided = `(m.type = 'query' or (m.role = 'assistant' and m.step is not null))`;

/** Each selects the conversations that break it. */
const laws: Readonly<Record<string, string>> = {
  'a gap in seq': `select c.id as conversation_id from conversation c left join message m on m.conversation_id = c.id
    group by c.id having coalesce(max(m.seq), 0) <> count(m.seq) or coalesce(max(m.seq), 0) <> c.next_seq - 1`,
  'asleep: calling without an open call': `select i.conversation_id from intention i where i.status = 'calling'
    and not exists (select 1 from call q where q.intention_id = i.id and q.state in ${open})`,
  'asleep: queued behind nobody': `select i.conversation_id from intention i where i.status = 'queued' and not exists (select 1 from intention b
    where b.conversation_id = i.conversation_id and not b.parallel and b.status in ('planning', 'calling'))`,
  'asleep: planning, never due': `select i.conversation_id from intention i where i.status = 'planning' and i.wake_at is null`,
  'asleep: parked without a question or an end': `select i.conversation_id from intention i where i.status in ('input_required', 'auth_required')
    and (i.wake_at is null or not exists (select 1 from call q where q.intention_id = i.id and q.state in ${question}))`,
  'asleep: an open call, never due': `select q.conversation_id from call q where q.state in ${open} and q.wake_at is null`,
  'asleep: a cancel that nobody carries out': `select q.conversation_id from call q
    where q.cancel = 'wanted' and q.wake_at is null and q.cancel_attempts < 5 and q.cancel_outcome is null`,
  'parked with an open call': `select i.conversation_id from intention i join call q on q.intention_id = i.id
    where i.status in ('input_required', 'auth_required') and q.state in ${open}`,
  'an open call or question of an ended intention': `select i.conversation_id from intention i join call q on q.intention_id = i.id
    where i.status in ${terminal} and q.state in ('planned', 'sending', 'working', 'input_required', 'auth_required', 'unknown')`,
  'two at their turn': `select i.conversation_id from intention i where not i.parallel and i.status in ('planning', 'calling')
    group by i.conversation_id having count(*) > 1`,
  'a lease on what nobody can work on': `select i.conversation_id from intention i where i.status <> 'planning' and i.lease_by is not null`,
  'doubled: a step decided twice': `select m.conversation_id from message m where ${decided}
    group by m.conversation_id, m.intention_id, m.step having count(distinct m.created_at) > 1 or count(*) <> max(m.ord) + 1`,
  'doubled or lost: steps that the rows do not tell': `select i.conversation_id from intention i
    where i.step <> (select count(distinct m.step) from message m where m.intention_id = i.id and ${decided})`,
  'doubled or lost: results of a call': `select q.conversation_id from call q,
      lateral (select count(*) as n from message m where m.call_id = q.id and m.type in ('answer', 'error')) results
    where case q.state when 'canceled' then results.n > 1 when 'completed' then results.n <> 1 when 'failed' then results.n <> 1
      when 'rejected' then results.n <> 1 else results.n <> 0 end`,
  'doubled or lost: final rows': `select i.conversation_id from intention i,
      lateral (select count(*) as n from message m where m.intention_id = i.id and m.role = 'assistant') finals
    where finals.n <> case when i.status in ${terminal} then 1 else 0 end`,
  'doubled or lost: calls of queries': `select m.conversation_id from message m where m.type = 'query'
    and (select count(*) from call q where q.id = m.call_id and q.intention_id = m.intention_id and q.step = m.step and q.ord = m.ord) <> 1`,
  'doubled or lost: queries of calls': `select q.conversation_id from call q
    where (select count(*) from message m where m.call_id = q.id and m.type = 'query') <> 1`,
  'attempts without a record': `select q.conversation_id from call q where q.attempts <> (select count(*) from call_attempt a where a.call_id = q.id)`,
  'a row of no intention': `select m.conversation_id from message m
    where not exists (select 1 from intention i where i.id = coalesce(m.moved_to, m.intention_id))`,
};

/** Broken laws with the titles of some conversations that break them and how many do; empty when all hold. */
export async function broken(query: Query): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const found: Record<string, readonly unknown[]> = {};
  for (const [law, breakers] of Object.entries(laws)) {
    const rows = await query(
      `select c.title, count(*)::int as times from (${breakers}) b join conversation c on c.id = b.conversation_id group by 1 order by 2 desc, 1 limit 10`,
    );
    if (rows.length > 0) found[law] = rows;
  }
  const unlike = await unlikeTheirRows(query);
  if (unlike.length > 0) found['a status that the rows do not tell'] = unlike.slice(0, 10);
  return found;
}

/** Intentions whose columns differ from the fold of their rows. */
async function unlikeTheirRows(query: Query): Promise<readonly unknown[]> {
  const rows = await query<{ readonly message: MessageRow }>(
    'select to_jsonb(m) as message from message m order by m.conversation_id, m.seq',
  );
  const messages = Map.groupBy(
    rows.map(({ message }) => messageFrom(message)),
    (message) => message.movedTo ?? message.intentionId,
  );
  const stored = await query<{ readonly id: string; readonly status: string; readonly title: string }>(
    'select i.id, i.status, c.title from intention i join conversation c on c.id = i.conversation_id',
  );
  const told = new Map([...messages].map(([id, own]): [string, string] => [id, fold(own).status]));
  return stored.flatMap(({ id, status, title }) => {
    const expected = told.get(id);
    return expected === (status === 'planning' || status === 'queued' ? 'runnable' : status) ? [] : [{ title, status, folded: expected }];
  });
}

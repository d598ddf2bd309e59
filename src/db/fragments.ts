// Pieces of SQL that several rules share. Pure.

import { type SQL, sql } from 'drizzle-orm';
import { openStates, questionStates } from '../intention/call.ts';
import { terminalStatuses } from '../intention/intention.ts';
import {
  againMs,
  breakerMs,
  cancelAgainMs,
  firstLookMs,
  leaseMs,
  lookPauseMs,
  nameTaskMs,
  planningMs,
  questionMs,
  signInLookMs,
} from '../intention/limits.ts';
import { words } from './database.ts';

export const open = words(openStates);
export const question = words(questionStates);
export const terminal = words(terminalStatuses);

const interval = (ms: number): SQL => sql.raw(`interval '${ms} milliseconds'`);
export const planningTime = interval(planningMs);
export const lease = interval(leaseMs);
export const questionTime = interval(questionMs);
export const signInLook = interval(signInLookMs);
export const breakerTime = interval(breakerMs);
export const firstLook = interval(firstLookMs);
export const lookPause = interval(lookPauseMs);
export const againTime = interval(againMs);
export const cancelAgain = interval(cancelAgainMs);
export const nameTask = interval(nameTaskMs);

/**
 * First statement of every writing rule. All writes of a conversation are serial behind this lock, and the snapshot of
 * the next statement is taken after it. Without it two calls that close at once each see the other still open, and
 * nobody wakes the intention.
 */
export const lock = (conversation: SQL): SQL => sql`select id from conversation where id = ${conversation} for update`;

/** Whether `message` row `m` belongs to the intention now. */
export const belongs = (m: SQL, intention: SQL): SQL => sql`coalesce(${m}.moved_to, ${m}.intention_id) = ${intention}`;

/** Another call of the agent has this task, open, asking, or planned as an answer: an agent that says so again confuses them, and is not followed. */
export const taken = (call: SQL, taskId: string | null): SQL => sql`exists (select 1 from call o where o.agent_id = ${call}.agent_id
  and o.task_id = ${taskId} and o.id <> ${call}.id and o.state in (${open}, ${question}))`;

/** An intention of the conversation, not accepted as parallel, is at work or waits for its turn; `but` is left out. */
export const busy = (conversation: SQL, but: SQL): SQL => sql`exists (select 1 from intention b where b.conversation_id = ${conversation}
  and not b.parallel and b.status in ('queued', 'planning', 'calling') and b.id is distinct from ${but})`;

/** The status of an intention that may go on: its turn, or the queue. */
export const runnable = (parallel: SQL, conversation: SQL, but: SQL): SQL =>
  sql`case when not ${parallel} and ${busy(conversation, but)} then 'queued' else 'planning' end`;

/**
 * `update` of the queued intention whose user row is oldest, if nobody that counts is at work when `leaving` has left.
 * Use as a CTE of the statement that makes `leaving` leave; returns its id.
 */
export const promote = (conversation: SQL, leaving: SQL): SQL => sql`update intention p
  set status = 'planning', wake_at = now(), deadline = p.deadline + (now() - p.updated_at), updated_at = now()
  where p.id = (
    select w.id from intention w join message m on ${belongs(sql`m`, sql`w.id`)} and m.role = 'user' and m.conversation_id = w.conversation_id
    where w.conversation_id = ${conversation} and w.status = 'queued' and w.id is distinct from ${leaving}
    group by w.id order by max(m.seq) limit 1)
  and not exists (select 1 from intention b where b.conversation_id = ${conversation} and not b.parallel
    and b.status in ('planning', 'calling') and b.id is distinct from ${leaving})
  returning p.id`;

/** The status of an intention that has open questions and nothing else to do; `q` names a set of its open questions. */
export const asking = (questions: SQL): SQL =>
  sql`case when exists (select 1 from ${questions} z where z.state <> 'auth_required') then 'input_required' else 'auth_required' end`;

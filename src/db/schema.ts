// The tables of the ledger: who writes them, who reads them, how long they live. Effects: none.

import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import type { AgentCard } from '../agent/card.ts';
import { callStates, cancelOutcomes } from '../intention/call.ts';
import { intentionStatuses } from '../intention/intention.ts';
import type { Parts, Usage } from '../intention/message.ts';

const bytes = customType<{ data: string }>({ dataType: () => 'bytea' });
const at = (name: string) => timestamp(name, { withTimezone: true });
const oneOf = (values: readonly string[]) => sql.raw(values.map((value) => `'${value}'`).join(', '));

/** Writer: Accept creates, every appending rule bumps `next_seq`. Its row lock serialises all writes of a conversation. Lives until deleted. */
export const conversation = pgTable(
  'conversation',
  {
    id: uuid().primaryKey(),
    /** In every statement that acts for a caller. */
    ownerId: text('owner_id').notNull(),
    title: text().notNull(),
    /** The seq that the next row gets: a counter under the row lock, never a serial (a reader who tails a serial misses rows). */
    nextSeq: bigint('next_seq', { mode: 'number' }).notNull().default(1),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
    archivedAt: at('archived_at'),
  },
  (table) => [index('conversation_owner').on(table.ownerId, table.updatedAt)],
);

/** Writers: the rules. `status` caches the fold over the intention's rows. Lives as long as its conversation. */
export const intention = pgTable(
  'intention',
  {
    /** That of its first message: whoever knows the message finds the intention. */
    id: uuid().primaryKey(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => conversation.id, { onDelete: 'cascade' }),
    status: text({ enum: intentionStatuses }).notNull(),
    /** Accepted as parallel: neither waits for others nor makes them wait. */
    parallel: boolean().notNull().default(false),
    /** Decisions made. */
    step: integer().notNull().default(0),
    /** Bumped by every claim and every ending: a write of an older holder finds no row. */
    fence: integer().notNull().default(0),
    leaseBy: text('lease_by'),
    leaseUntil: at('lease_until'),
    /** When to look again if nobody reports; null: nothing to do. Parked: when its questions expire. */
    wakeAt: at('wake_at'),
    /** End of planning time; pushed on by the time spent not planning. */
    deadline: at('deadline').notNull(),
    /** Claims since the last decision. */
    failures: integer().notNull().default(0),
    createdAt: at('created_at').notNull().defaultNow(),
    /** When `status` last changed. */
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (table) => [
    check('intention_status', sql`${table.status} in (${oneOf(intentionStatuses)})`),
    index('intention_conversation').on(table.conversationId),
    index('intention_due').on(table.wakeAt).where(sql`${table.wakeAt} is not null`),
  ],
);

/** The event log. Writers: Accept, Decide, Observe, Stop, Expire, one row each thing that happened. Immutable but for `moved_to`. */
export const message = pgTable(
  'message',
  {
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => conversation.id, { onDelete: 'cascade' }),
    /** Place in the conversation, SSE id, cursor. From 1, without gaps. */
    seq: bigint({ mode: 'number' }).notNull(),
    id: uuid().notNull(),
    /** What was published; never changes. */
    intentionId: uuid('intention_id').notNull(),
    /** Used only to load: a user row that `reassigned` took to another intention. */
    movedTo: uuid('moved_to'),
    step: integer(),
    ord: integer(),
    role: text({ enum: ['user', 'agent', 'assistant'] }).notNull(),
    type: text({ enum: ['query', 'answer', 'input_required', 'auth_required', 'error', 'reassigned', 'canceled', 'expired'] }),
    agent: text(),
    toAgent: text('to_agent'),
    reason: text(),
    callId: uuid('call_id'),
    content: text().notNull(),
    parts: jsonb().$type<Parts>().notNull().default({}),
    usage: jsonb().$type<Usage>(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.conversationId, table.seq] }),
    uniqueIndex('message_id').on(table.id),
    index('message_intention').on(table.intentionId, table.seq),
    index('message_moved').on(table.movedTo, table.seq).where(sql`${table.movedTo} is not null`),
    uniqueIndex('message_one_query').on(table.intentionId, table.step, table.ord).where(sql`${table.type} = 'query'`),
    // A sign-in may become a question, and so may what nobody knew: each kind once.
    uniqueIndex('message_one_question')
      .on(table.callId, table.type, table.agent)
      .where(sql`${table.type} in ('input_required', 'auth_required')`),
    uniqueIndex('message_one_result').on(table.callId).where(sql`${table.type} in ('answer', 'error')`),
    uniqueIndex('message_one_final').on(table.intentionId).where(sql`${table.role} = 'assistant'`),
  ],
);

/** One A2A call to one agent. Writers: Decide creates, Observe and the call's Runner close. Lives as long as its intention. */
export const call = pgTable(
  'call',
  {
    id: uuid().primaryKey(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => conversation.id, { onDelete: 'cascade' }),
    intentionId: uuid('intention_id')
      .notNull()
      .references(() => intention.id, { onDelete: 'cascade' }),
    step: integer().notNull(),
    ord: integer().notNull(),
    agentId: uuid('agent_id').notNull(),
    /** The agent's name at the time of the decision. */
    agent: text().notNull(),
    /** A2A messageId, derived from (intention, step, ord). */
    messageId: uuid('message_id').notNull(),
    taskId: text('task_id'),
    contextId: text('context_id'),
    referenceTaskIds: jsonb('reference_task_ids').$type<readonly string[]>().notNull().default([]),
    state: text({ enum: callStates }).notNull(),
    /** The question (a call) that it answers. */
    answers: uuid(),
    /** Transmissions begun. */
    attempts: integer().notNull().default(0),
    /** Look-ups of the task so far; the backoff counts by it. */
    polls: integer().notNull().default(0),
    /** Next look, or next try of CancelTask; null: none. */
    wakeAt: at('wake_at'),
    leaseBy: text('lease_by'),
    leaseUntil: at('lease_until'),
    /** Open: when the agent's time is up. A question: when it expires. */
    deadline: at('deadline').notNull(),
    sentAt: at('sent_at'),
    /** Of the last snapshot that closed it; a resumed task may show it again. */
    fingerprint: text(),
    /** The fingerprint of the question that it answers. */
    staleFingerprint: text('stale_fingerprint'),
    /** When its task was last looked up: at most once a second. */
    lastLookAt: at('last_look_at'),
    /** When a push last came. */
    lastPokeAt: at('last_poke_at'),
    cancel: text({ enum: ['wanted', 'done'] }),
    cancelAttempts: integer('cancel_attempts').notNull().default(0),
    /** Null until CancelTask is settled or given up; `unsettled` and still wanted: the task may yet be named by a push. */
    cancelOutcome: text('cancel_outcome', { enum: cancelOutcomes }),
    /** Why it failed, for operators. */
    error: text(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (table) => [
    check('call_state', sql`${table.state} in (${oneOf(callStates)})`),
    uniqueIndex('call_place').on(table.intentionId, table.step, table.ord),
    index('call_conversation').on(table.conversationId),
    uniqueIndex('call_live_task')
      .on(table.agentId, table.taskId)
      .where(sql`${table.taskId} is not null and ${table.state} in ('sending', 'working', 'input_required', 'auth_required')`),
    index('call_due').on(table.wakeAt).where(sql`${table.wakeAt} is not null`),
  ],
);

/** Audit of a call's transmissions: a row before bytes leave, its outcome after. One without an outcome is unknown. */
export const callAttempt = pgTable(
  'call_attempt',
  {
    callId: uuid('call_id')
      .notNull()
      .references(() => call.id, { onDelete: 'cascade' }),
    attempt: integer().notNull(),
    /** Of the claim that began it: a claim repeated after a lost response knows that it has not sent yet. */
    token: uuid(),
    startedAt: at('started_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
    outcome: text({ enum: ['ok', 'rejected', 'unknown'] }),
    error: text(),
  },
  (table) => [primaryKey({ columns: [table.callId, table.attempt] })],
);

/** A configured place that agents come from. Writer: whichever step finds it stale. Lives on when it leaves the configuration. */
export const agentSource = pgTable('agent_source', {
  url: text().primaryKey(),
  fetchedAt: at('fetched_at').notNull().defaultNow(),
  freshUntil: at('fresh_until').notNull(),
  error: text(),
});

/** What the planner may choose. Writers: the reading of its source; Observe, of its breaker; a probe. Lives on for the calls that name it. */
export const agent = pgTable(
  'agent',
  {
    id: uuid().primaryKey(),
    namespace: text().notNull(),
    name: text().notNull(),
    source: text().notNull(),
    cardUrl: text('card_url').notNull(),
    card: jsonb().$type<AgentCard>().notNull(),
    fetchedAt: at('fetched_at').notNull().defaultNow(),
    enabled: boolean().notNull().default(true),
    /** Its source no longer lists it. */
    missingSince: at('missing_since'),
    /** Calls in a row that did not reach it. */
    failures: integer().notNull().default(0),
    /** The breaker: it is not to be called before. */
    downUntil: at('down_until'),
    /** What a probe showed: it recognises a repeated message by its id. Null: never probed. */
    deduplicates: boolean(),
    probedAt: at('probed_at'),
  },
  (table) => [uniqueIndex('agent_name').on(table.namespace, table.name), index('agent_source_url').on(table.source)],
);

/** Bytes, and text or data over 16 KiB. Writers: Accept's route, whoever observes a reply. Lives as long as its conversation. */
export const file = pgTable(
  'file',
  {
    id: uuid().primaryKey(),
    ownerId: text('owner_id').notNull(),
    conversationId: uuid('conversation_id').notNull(),
    name: text().notNull(),
    mediaType: text('media_type').notNull(),
    size: integer().notNull(),
    sha256: text().notNull(),
    bytes: bytes().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (table) => [index('file_conversation').on(table.conversationId)],
);

/** Idempotency of what users post. Scope: the conversation's id, `new`, or `a2a`. Lives as long as its conversation. */
export const acceptKey = pgTable(
  'accept_key',
  {
    ownerId: text('owner_id').notNull(),
    scope: text().notNull(),
    key: text().notNull(),
    bodyHash: text('body_hash').notNull(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => conversation.id, { onDelete: 'cascade' }),
    messageId: uuid('message_id').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.scope, table.key] }), index('accept_key_conversation').on(table.conversationId)],
);

// The shipped ledger on a database of its own, and the few inputs that tests give it. Effects: HTTP, a database.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import pg from 'pg';
import { v7 } from 'uuid';
import type { AgentCard, SourceReading } from '../../src/agent/card.ts';
import { createArchive } from '../../src/db/archive.ts';
import { connect } from '../../src/db/database.ts';
import { createLedger } from '../../src/db/ledger.ts';
import { type Call, type Closing, type ClosingState, questionStates } from '../../src/intention/call.ts';
import {
  type AgentName,
  agentName,
  type CallId,
  type ConversationId,
  callId,
  conversationId,
  type IntentionId,
  messageId,
  type NewMessage,
  ownerId,
  planName,
} from '../../src/intention/message.ts';
import type { Accepted, Accepting, Claim, RunnerName } from '../../src/intention/rules.ts';
import { messageIdOf, type Outcome } from '../../src/intention/transition.ts';
import type { Backend } from '../../src/local/backend.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { pgliteBackend } from '../../src/local/pglite-backend.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import type { StepContext } from '../../src/step/context.ts';
import type { Archive, Ledger } from '../../src/world.ts';
import { createDatabase, type PostgresServer } from './postgres.ts';

export const owner = ownerId('tester');
export const migrations = new URL('../../migrations', import.meta.url).pathname;
const source = 'http://127.0.0.1:1/agents';

/** One statement beside the ledger, for what no rule would do or show. */
export type Query = <Row extends Record<string, unknown> = Record<string, unknown>>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

export interface LedgerUnderTest {
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** HTTP requests to the database so far. */
  requests(): number;
  query: Query;
  /** How often Postgres refused something, by its error code. */
  refusals(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

async function serve(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}/sql`;
}

const card = (name: string, push = false): AgentCard => ({
  name,
  description: `${name} agent`,
  version: '1',
  interfaces: [{ url: 'http://127.0.0.1:1/', binding: 'JSONRPC', version: '1.0' }],
  streaming: true,
  pushNotifications: push,
  skills: [],
});

/** What the source tells of; in one order or the other. */
export const reading = (reversed = false): SourceReading => {
  const agents = ['weather', 'people', 'travel'].map((name) => ({
    namespace: 'default',
    name,
    cardUrl: `${source}/${name}`,
    card: card(name),
  }));
  return { source, freshForMs: 3_600_000, error: null, agents: reversed ? agents.toReversed() : agents };
};

/** The backend, with every refusal of Postgres counted by its code. */
export function counting(backend: Backend, refusals: Map<string, number>): Backend {
  return {
    session: (use, signal) =>
      backend.session(use, signal).catch((thrown: unknown) => {
        const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'none';
        refusals.set(code, (refusals.get(code) ?? 0) + 1);
        throw thrown;
      }),
    close: () => backend.close(),
  };
}

async function underTest(
  endpoint: string,
  count: { value: number },
  refusals: ReadonlyMap<string, number>,
  query: Query,
  close: () => Promise<void>,
): Promise<LedgerUnderTest> {
  const db = connect('postgres://tester:secret@db.local.invalid/main', endpoint, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));
  const ids = { next: () => v7() };
  const ledger = createLedger(db, { agentSources: [{ kind: 'list', url: source }] }, ids);
  await ledger.keepAgents([reading()]);
  count.value = 0;
  return { ledger, archive: createArchive(db), requests: () => count.value, refusals: () => refusals, query, close };
}

/** Everything one after another: PGlite has one session. */
export async function onPglite(): Promise<LedgerUnderTest> {
  const lite = await PGlite.create();
  for (const migration of readMigrationFiles({ migrationsFolder: migrations }))
    for (const statement of migration.sql) await lite.exec(statement);
  const count = { value: 0 };
  const refusals = new Map<string, number>();
  const server = createBridge(() => backend, { onRequest: () => count.value++ });
  const backend = counting(pgliteBackend(lite), refusals);
  return underTest(
    await serve(server),
    count,
    refusals,
    async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      (await lite.query<Row>(text, [...values])).rows,
    async () => {
      server.closeAllConnections();
      server.close();
      await backend.close();
    },
  );
}

/** Real races. */
export async function onPostgres(postgres: PostgresServer): Promise<LedgerUnderTest> {
  const url = await createDatabase(postgres, migrations);
  const count = { value: 0 };
  const refusals = new Map<string, number>();
  const backend = counting(postgresBackend(url), refusals);
  const server = createBridge(() => backend, { onRequest: () => count.value++ });
  const own = new pg.Pool({ connectionString: url, max: 2 });
  // The server may end while a connection is being closed.
  own.on('connect', (client) => client.on('error', () => {}));
  own.on('error', () => {});
  return underTest(
    await serve(server),
    count,
    refusals,
    async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      (await own.query<Row>(text, [...values])).rows,
    async () => {
      server.closeAllConnections();
      server.close();
      await own.end();
      await backend.close();
    },
  );
}

export const newMessage = (content: string, conversation: ConversationId | null, extra: Partial<Accepting> = {}): Accepting => ({
  owner,
  conversation,
  newConversationId: conversationId(v7()),
  messageId: messageId(v7()),
  content,
  parts: {},
  title: content,
  answerTo: undefined,
  onBusy: 'enqueue',
  idempotency: null,
  ...extra,
});

export async function accepted(ledger: Ledger, message: Accepting): Promise<Extract<Accepted, { kind: 'accepted' }>> {
  const result = await ledger.accept(message);
  if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
  return result;
}

export const runnerOf = (intention: IntentionId): RunnerName => `intention:${intention}`;

export async function step(ledger: Ledger, intention: IntentionId, by: RunnerName = runnerOf(intention)): Promise<StepContext> {
  const claim: Claim = await ledger.claim(intention, by);
  if (claim.kind !== 'step') throw new Error(`not claimed: ${claim.kind}`);
  return claim.context;
}

const row = (given: Partial<NewMessage>): NewMessage => ({
  id: messageId(v7()),
  step: null,
  ord: null,
  role: 'agent',
  type: null,
  agent: null,
  toAgent: null,
  reason: null,
  callId: null,
  content: '',
  parts: {},
  usage: null,
  ...given,
});

/** A decision to call these agents, answering the open question of each that has one. */
export function callOutcome(context: StepContext, names: readonly string[]): Extract<Outcome, { kind: 'call' }> {
  const made = names.map((name, ord) => {
    const agent = context.agents.find((candidate) => candidate.name === name);
    if (!agent) throw new Error(`no agent ${name}`);
    const question = context.calls.find((call) => call.agent === name && questionStates.some((state) => state === call.state));
    const id: CallId = callId(v7());
    return {
      row: row({
        step: context.step + 1,
        ord,
        type: 'query',
        agent: planName,
        toAgent: agentName(name),
        reason: 'because',
        callId: id,
        content: `ask ${name}`,
        parts: question ? { answers: question.id } : {},
      }),
      call: {
        id,
        ord,
        agentId: agent.id,
        agent: agentName(name),
        messageId: messageIdOf(context.intentionId, context.step + 1, ord),
        taskId: question?.taskId ?? null,
        contextId: question?.contextId ?? null,
        referenceTaskIds: [],
        answers: question?.id ?? null,
        staleFingerprint: question?.fingerprint ?? null,
        allowedMs: 60_000,
      },
    };
  });
  const [first, ...rest] = made;
  if (!first) throw new Error('no agents');
  return { kind: 'call', rows: [first.row, ...rest.map((each) => each.row)], calls: [first.call, ...rest.map((each) => each.call)] };
}

export const finishOutcome = (context: StepContext, content: string): Outcome => ({
  kind: 'finish',
  status: 'answered',
  row: row({ step: context.step + 1, ord: 0, role: 'assistant', content }),
});

export const reassignOutcome = (to: CallId | 'new'): Outcome => ({
  kind: 'reassign',
  to,
  row: { id: messageId(v7()), decision: { note: '', tool_call_ids: [], raw: null, prompt_hash: '' } },
});

const rowTypes = {
  completed: 'answer',
  failed: 'error',
  rejected: 'error',
  canceled: 'error',
  input_required: 'input_required',
  auth_required: 'auth_required',
  unknown: 'input_required',
} as const;

export function closing(call: Call, state: ClosingState, content = `${state} of ${call.agent}`, taskId = `task-${call.id}`): Closing {
  const speaker: AgentName = state === 'unknown' ? planName : call.agent;
  return {
    state,
    row: row({ step: call.step, ord: call.ord, type: rowTypes[state], agent: speaker, callId: call.id, content }),
    taskId: call.taskId ?? (state === 'unknown' ? null : taskId),
    contextId: call.contextId ?? 'context',
    fingerprint: 'fingerprint',
    outcome: state === 'unknown' ? 'unknown' : 'ok',
    error: null,
    reached: state !== 'unknown',
  };
}

/** Makes the decision and gives its calls; they are ready to be observed. */
export async function called(ledger: Ledger, context: StepContext, names: readonly string[]): Promise<readonly Call[]> {
  const decided = await ledger.decide(context, runnerOf(context.intentionId), callOutcome(context, names));
  if (decided.kind !== 'applied') throw new Error(`not decided: ${decided.kind}`);
  return decided.calls;
}

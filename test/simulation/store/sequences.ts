// Random sequences of rules, each made from what the ones before it led to. Pure but for the random source given.

import type { Agent } from '../../../src/agent/card.ts';
import { type Call, type Closing, type ClosingState, cancelOutcomes } from '../../../src/intention/call.ts';
import {
  agentName,
  type ConversationId,
  callId,
  conversationId,
  type IntentionId,
  messageId,
  type NewMessage,
  ownerId,
  planName,
} from '../../../src/intention/message.ts';
import type { Accepting, OnBusy, RunnerName } from '../../../src/intention/rules.ts';
import { messageIdOf, type Outcome } from '../../../src/intention/transition.ts';
import type { StepContext } from '../../../src/step/context.ts';
import type { Chance } from './chance.ts';
import { isOpen, isParked, isQuestion } from './shared.ts';
import type { Snapshot, Store } from './store.ts';
import { plainRow } from './tables.ts';

/** A rule with its arguments: applied to two stores it must do the same to both. */
export interface Statement {
  readonly name: string;
  /** Passed on the store's clock before it. */
  readonly passesMs: number;
  /** What the store's ids give meanwhile. */
  readonly token: string;
  /** `seen` learns from what came back; null: nobody does. */
  readonly run: (store: Store, seen: Seen | null) => Promise<unknown>;
}

/** What the sequence has seen so far: later statements take up, repeat or contradict it. */
export interface Seen {
  readonly statements: Statement[];
  readonly conversations: Set<ConversationId>;
  readonly posted: Accepting[];
  readonly contexts: StepContext[];
  readonly calls: Call[];
  readonly keys: string[];
  /** No agent is reached, and all goes straight on: long enough, and breakers open. */
  readonly gloomy: boolean;
}

export const nothingSeen = (gloomy: boolean): Seen => ({
  statements: [],
  conversations: new Set(),
  posted: [],
  contexts: [],
  calls: [],
  keys: [],
  gloomy,
});

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;
const owners = { mine: ownerId('tester'), foreign: ownerId('stranger') };
const cardOf = (name: string): Agent['card'] => ({
  name,
  description: '',
  version: '1',
  interfaces: [],
  streaming: true,
  pushNotifications: false,
  skills: [],
});

export const agents: readonly Agent[] = ['weather', 'people', 'team/travel'].map((name, place) => ({
  id: `00000000-0000-7000-8000-00000000a00${place}`,
  name: agentName(name),
  source: `http://127.0.0.1:1/${place}`,
  cardUrl: `http://127.0.0.1:1/${place}/${name}`,
  card: cardOf(name),
  deduplicates: place === 0,
  allowedMs: place === 1 ? 5 * minute : null,
  downUntilMs: null,
}));

type Choice = readonly [weight: number, make: () => Statement | undefined];

/** The next statement: mostly what a Runner, an agent or a user would do in the state that `now` shows, sometimes what none should. */
export function nextStatement(chance: Chance, seen: Seen, now: Snapshot): Statement {
  const choices: readonly Choice[] = [
    ...intentionChoices(chance, seen, now),
    ...now.calls.flatMap((call) => callChoices(chance, seen, now, call)),
    ...userChoices(chance, seen, now),
    [seen.statements.length > 0 ? 1.5 : 0, () => again(chance, seen.statements.at(-1))],
    [seen.statements.length > 0 ? 0.7 : 0, () => again(chance, chance.pick(seen.statements))],
    [0.7, () => make(chance, 'sweep', (store) => store.ledger.sweep(30, 1_000))],
    [0.2, () => make(chance, 'agents', (store) => store.ledger.agents())],
    [0.2, () => probed(chance)],
    ...readChoices(chance, now),
  ];
  const statement =
    (chance.is(seen.gloomy ? 0.95 : 0.55) ? onward(chance, seen, now) : chance.weighted(choices)?.()) ?? post(chance, seen, now, {});
  seen.statements.push(statement);
  return statement;
}

/** The straight way into deep states: whatever waits for its Runner, its agent or its user gets what it waits for. */
function onward(chance: Chance, seen: Seen, now: Snapshot): Statement | undefined {
  const intention = chance.pick(now.intentions.filter(({ status }) => status === 'planning'));
  if (intention) {
    const held = seen.contexts.findLast((each) => holds(each, intention));
    return held ? decide(chance, held) : claim(chance, intention.id);
  }
  const open = chance.pick(now.calls.filter(({ state }) => isOpen(state)));
  if (open) return open.state === 'planned' ? claimCall(chance, open.id, `call:${open.id}`) : observe(chance, seen, now, open);
  const questions = now.calls.filter(({ state }) => isQuestion(state));
  return questions.length > 0 && chance.is(0.8) ? answer(chance, seen, now, questions) : undefined;
}

const holds = (context: StepContext, { id, status, fence, step }: Snapshot['intentions'][number]): boolean =>
  context.intentionId === id && context.fence === fence && context.step === step && status === 'planning';

/** A batch whose answer was lost is sent again as it was. */
function again(chance: Chance, statement: Statement | undefined): Statement | undefined {
  return statement && { ...statement, passesMs: passes(chance) };
}

function make(chance: Chance, name: string, run: Statement['run'], passesMs = passes(chance)): Statement {
  return { name, passesMs, token: chance.uuid(), run };
}

/** Mostly moments; now and then past a lease, past planning time, past the life of a question. */
const passes = (chance: Chance): number =>
  chance.weighted([
    [4, 0],
    [60, 1 + chance.number(900)],
    [25, second + chance.number(5 * second)],
    [6, 31 * second],
    [6, 61 * second],
    [2, 11 * minute],
    [2, day + second],
  ]) ?? 0;

// What Runners of intentions do.

function intentionChoices(chance: Chance, seen: Seen, now: Snapshot): readonly Choice[] {
  return now.intentions.flatMap((intention): readonly Choice[] => {
    const { id, status, fence, wakeAtMs } = intention;
    const contexts = seen.contexts.filter((context) => context.intentionId === id);
    const held = contexts.findLast((context) => holds(context, intention));
    const overdue = isParked(status) && wakeAtMs !== null;
    return [
      [status === 'planning' ? (held ? 1 : 8) : 0.5, () => claim(chance, id)],
      [held ? 10 : 0, () => held && decide(chance, held)],
      [contexts.length > 0 ? 0.5 : 0, () => staleDecision(chance, contexts)],
      [held ? 0.7 : 0, () => renewIntention(chance, id, fence)],
      [status === 'calling' || status === 'planning' || isParked(status) ? 0.4 : 0.15, () => stop(chance, now, id)],
      [overdue ? 0.8 : 0.1, () => make(chance, 'expire', (store) => store.ledger.expire(id), overdue && chance.is(0.7) ? day + minute : 5)],
    ];
  });
}

const runnerOf = (chance: Chance, id: IntentionId): RunnerName => (chance.is(0.93) ? `intention:${id}` : 'intention:somebody else');

function claim(chance: Chance, id: IntentionId): Statement {
  const by = runnerOf(chance, id);
  return make(chance, 'claim', async (store, seen) => {
    const claimed = await store.ledger.claim(id, by);
    if (claimed.kind === 'step') seen?.contexts.push(claimed.context);
    return claimed;
  });
}

function renewIntention(chance: Chance, id: IntentionId, fence: number): Statement {
  const by = runnerOf(chance, id);
  const held = chance.is(0.8) ? fence : fence - 1;
  return make(chance, 'renew', (store) => store.ledger.renew({ intention: id, fence: held }, by));
}

function stop(chance: Chance, now: Snapshot, id: IntentionId): Statement | undefined {
  const conversation = now.conversation?.id;
  const owner = chance.is(0.9) ? owners.mine : owners.foreign;
  const place = chance.is(0.93) ? conversation : conversationId(chance.uuid());
  return place && make(chance, 'stop', (store) => store.ledger.stop(owner, place, id));
}

function staleDecision(chance: Chance, contexts: readonly StepContext[]): Statement | undefined {
  const context = chance.pick(contexts);
  return context && decide(chance, chance.is(0.8) ? context : { ...context, messages: context.messages.slice(0, -1) });
}

function decide(chance: Chance, context: StepContext): Statement | undefined {
  const by: RunnerName = `intention:${context.intentionId}`;
  const outcome = outcomeOf(chance, context);
  if (!outcome) return undefined;
  const run: Statement['run'] = async (store, seen) => {
    const decided = await store.ledger.decide(context, by, outcome);
    if (decided.kind === 'applied') seen?.calls.push(...decided.calls);
    return decided;
  };
  return make(chance, `decide ${outcome.kind}`, run, 1 + passes(chance));
}

function outcomeOf(chance: Chance, context: StepContext): Outcome | undefined {
  const last = context.messages.findLast((row) => row.role === 'user' || row.type === 'query');
  const others = context.questions.filter((question) => question.intentionId !== context.intentionId);
  const own = context.questions.some((question) => question.intentionId === context.intentionId);
  const movable = last?.role === 'user' && last.movedTo === null && (own || others.length > 0);
  return chance.weighted<() => Outcome | undefined>([
    [8, () => callOutcome(chance, context)],
    [context.step === 0 ? 1 : 4, () => finishOutcome(chance, context)],
    [
      movable ? 8 : 0,
      () =>
        reassignOutcome(
          chance,
          own,
          others.map((question) => question.callId),
        ),
    ],
  ])?.();
}

const finishOutcome = (chance: Chance, context: StepContext): Outcome => {
  const status = chance.is(0.8) ? 'answered' : 'failed';
  const usage = chance.is(0.5) ? { model: 'm', input_tokens: 3 } : null;
  const type = status === 'failed' ? 'error' : null;
  const row = { id: messageId(chance.uuid()), role: 'assistant', step: context.step + 1, ord: 0, type, content: 'report', usage } as const;
  return { kind: 'finish', status, row: plainRow(row) };
};

function reassignOutcome(chance: Chance, own: boolean, others: readonly Call['id'][]): Outcome {
  const to = chance.pick([...others, ...(own ? (['new'] as const) : [])]) ?? 'new';
  return {
    kind: 'reassign',
    to,
    row: { id: messageId(chance.uuid()), decision: { note: '', tool_call_ids: [], raw: null, prompt_hash: 'h' } },
  };
}

function callOutcome(chance: Chance, context: StepContext): Outcome | undefined {
  const count = chance.weighted([
    [5, 1],
    [5, 2],
    [2, 3],
  ]);
  const taken = new Set<string>();
  const made = Array.from({ length: count ?? 1 }, (_, ord) => plannedCall(chance, context, ord, taken));
  const [first, ...others] = made;
  if (!first) return undefined;
  return { kind: 'call', rows: made.map(({ row }) => row), calls: [first.call, ...others.map(({ call }) => call)] };
}

/** As `transition` makes it: an open question of the agent is answered on its task, else a free context is taken up. */
function plannedCall(chance: Chance, context: StepContext, ord: number, taken: Set<string>) {
  const question = chance.is(0.8) ? context.calls.find((call) => isQuestion(call.state) && !taken.has(call.id)) : undefined;
  const offered = context.agents[(chance.number(2) + ord) % context.agents.length];
  const agent = question ? context.agents.find(({ id }) => id === question.agentId) : offered;
  if (!agent) throw new Error('no agents');
  const free = context.freeContexts.find((each) => each.agentId === agent.id && !taken.has(each.contextId));
  if (question) taken.add(question.id);
  if (!question && free) taken.add(free.contextId);
  const id = callId(chance.uuid());
  const row: NewMessage = plainRow({
    id: messageId(chance.uuid()),
    role: 'agent',
    step: context.step + 1,
    ord,
    type: 'query',
    agent: planName,
    toAgent: agent.name,
    reason: 'because',
    callId: id,
    content: `ask ${agent.name}`,
    parts: {
      ...(chance.is(0.2) ? { items: [{ kind: 'data', data: { n: 1 } }] } : {}),
      ...(question ? { answers: question.id } : {}),
    },
    usage: ord === 0 ? { model: 'm' } : null,
  });
  const call = {
    id,
    ord,
    agentId: agent.id,
    agent: agent.name,
    messageId: messageIdOf(context.intentionId, context.step + 1, ord),
    taskId: question?.taskId ?? null,
    contextId: question ? question.contextId : (free?.contextId ?? null),
    referenceTaskIds: !question && free?.taskId ? [free.taskId] : [],
    answers: question?.id ?? null,
    staleFingerprint: question?.fingerprint ?? null,
    allowedMs: agent.allowedMs ?? 15 * minute,
  };
  return { row, call };
}

// What Runners of calls, agents and pushes do.

function callChoices(chance: Chance, seen: Seen, now: Snapshot, call: Snapshot['calls'][number]): readonly Choice[] {
  const { id, state, cancel } = call;
  const watched = state === 'auth_required' || state === 'unknown';
  const wanted = state === 'canceled' && cancel === 'wanted';
  const lively = isOpen(state) ? 1 : watched ? 0.6 : wanted ? 0.7 : isQuestion(state) ? 0.1 : 0.05;
  const by: RunnerName = chance.is(0.93) ? `call:${id}` : `intention:${call.intentionId}`;
  const known = chance.is(0.9) ? call : (seen.calls.findLast((each) => each.id === id) ?? call);
  return [
    [(state === 'planned' ? 4 : 1.5) * lively, () => claimCall(chance, id, by)],
    [4 * lively, () => observe(chance, seen, now, known)],
    [1.2 * lively, () => bind(chance, now, known)],
    [1.2 * lively, () => poke(chance, now, known)],
    [(state === 'sending' ? 1 : 0.2) * lively, () => make(chance, 'again', (store) => store.ledger.again(known))],
    [0.5 * lively, () => make(chance, 'renewCall', (store) => store.ledger.renew({ call: id }, by))],
    [wanted ? 1.2 : 0.03, () => cancelled(chance, known)],
  ];
}

function claimCall(chance: Chance, id: Call['id'], by: RunnerName): Statement {
  return make(chance, 'claimCall', async (store, seen) => {
    const claimed = await store.ledger.claimCall(id, by);
    if (claimed.kind === 'claimed') seen?.calls.push(claimed.call);
    return claimed;
  });
}

/** The task as the agent names it: the known one, a new one, none, or that of another call. */
function taskOf(chance: Chance, now: Snapshot, call: Call): string | null {
  const other = chance.pick(now.calls.filter(({ agentId, taskId }) => agentId === call.agentId && taskId !== null))?.taskId ?? null;
  return (
    chance.weighted<string | null>([
      [call.taskId === null ? 0 : 10, call.taskId],
      [call.taskId === null ? 9 : 0.5, `task-${chance.uuid()}`],
      [1.5, null],
      [other === null || other === call.taskId ? 0 : 2, other],
    ]) ?? null
  );
}

const closings: readonly (readonly [weight: number, ClosingState])[] = [
  [5, 'completed'],
  [4, 'input_required'],
  [3, 'auth_required'],
  [2, 'unknown'],
  [1.5, 'failed'],
  [0.5, 'rejected'],
  [0.5, 'canceled'],
];
const rowTypes = {
  completed: 'answer',
  failed: 'error',
  rejected: 'error',
  canceled: 'error',
  input_required: 'input_required',
  auth_required: 'auth_required',
  unknown: 'input_required',
} as const satisfies Record<ClosingState, NewMessage['type']>;

function observe(chance: Chance, seen: Seen, now: Snapshot, call: Call): Statement {
  const state = seen.gloomy ? 'failed' : (chance.weighted(closings) ?? 'completed');
  const unknown = state === 'unknown';
  const failed = state === 'failed';
  const closing: Closing = {
    state,
    row: plainRow({
      id: messageId(chance.uuid()),
      role: 'agent',
      step: call.step,
      ord: call.ord,
      type: rowTypes[state],
      agent: unknown ? planName : call.agent,
      callId: call.id,
      content: state,
      parts: state === 'completed' && chance.is(0.3) ? { items: [{ kind: 'text', text: 'more' }] } : {},
    }),
    taskId: unknown || failed ? null : taskOf(chance, now, call),
    contextId: unknown || failed || chance.is(0.2) ? null : `context of ${call.agent}`,
    fingerprint: unknown ? null : `seen ${chance.number(9)}`,
    outcome: unknown ? 'unknown' : failed && chance.is(0.5) ? 'rejected' : 'ok',
    error: failed ? 'agent_down' : null,
    reached: unknown ? false : failed ? (seen.gloomy ? false : (chance.pick([false, false, true, null]) ?? null)) : true,
  };
  return make(chance, `observe ${state}`, (store) => store.ledger.observe(call, closing));
}

function bind(chance: Chance, now: Snapshot, call: Call): Statement {
  const task = taskOf(chance, now, call) ?? 'a task';
  const context = chance.is(0.5) ? `context of ${call.agent}` : null;
  const keeps = chance.is(0.5);
  return make(chance, 'bind', (store) => store.ledger.bind(call, task, context, keeps));
}

function poke(chance: Chance, now: Snapshot, call: Call): Statement {
  const task = taskOf(chance, now, call);
  return make(chance, 'poke', (store) => store.ledger.poke(call.id, task));
}

function cancelled(chance: Chance, call: Call): Statement {
  const outcome = chance.pick(cancelOutcomes) ?? 'gone';
  return make(chance, 'cancelled', (store) => store.ledger.cancelled(call, outcome));
}

function probed(chance: Chance): Statement | undefined {
  const agent = chance.pick(agents);
  const deduplicates = chance.is(0.5);
  return agent && make(chance, 'probed', (store) => store.ledger.probed(agent.id, deduplicates));
}

// What users do.

function userChoices(chance: Chance, seen: Seen, now: Snapshot): readonly Choice[] {
  const questions = now.calls.filter((call) => isQuestion(call.state));
  const { conversation } = now;
  return [
    [conversation === null ? 10 : 0.3, () => post(chance, seen, now, { conversation: null })],
    [conversation === null ? 0 : 1.2, () => post(chance, seen, now, {})],
    [questions.length > 0 ? 5 : 0, () => answer(chance, seen, now, questions)],
    [seen.posted.length > 0 ? 0.6 : 0, () => repost(chance, seen)],
    [conversation === null ? 0.2 : 0, () => open(chance, seen)],
    [conversation === null ? 0 : 0.1, () => removal(chance, now)],
  ];
}

function open(chance: Chance, seen: Seen): Statement {
  const id = conversationId(chance.uuid());
  seen.conversations.add(id);
  return make(chance, 'open', (store) => store.ledger.open(owners.mine, id, ''));
}

function removal(chance: Chance, now: Snapshot): Statement | undefined {
  const id = now.conversation?.id;
  const owner = chance.is(0.7) ? owners.mine : owners.foreign;
  return id && make(chance, 'remove', (store) => store.archive.remove(owner, id));
}

function post(chance: Chance, seen: Seen, now: Snapshot, given: Partial<Accepting>): Statement {
  const fresh = conversationId(chance.uuid());
  const conversation = given.conversation === undefined ? (now.conversation?.id ?? null) : given.conversation;
  const onBusy = chance.weighted<OnBusy>([
    [5, 'enqueue'],
    [2, 'interrupt'],
    [2, 'parallel'],
    [1, 'reject'],
  ]);
  const key = chance.is(0.6) ? chance.uuid() : (chance.pick(seen.keys) ?? chance.uuid());
  const message: Accepting = {
    owner: chance.is(0.96) ? owners.mine : owners.foreign,
    newConversationId: fresh,
    messageId: messageId(chance.uuid()),
    content: 'hello',
    parts: {},
    title: `title ${chance.number(9)}`,
    answerTo: chance.is(0.5) ? undefined : null,
    onBusy: onBusy ?? 'enqueue',
    idempotency: chance.is(0.25) ? { scope: conversation ?? 'new', key, bodyHash: chance.is(0.8) ? 'h' : 'other' } : null,
    ...given,
    conversation,
  };
  if (message.idempotency) seen.keys.push(key);
  return posted(chance, seen, message);
}

function posted(chance: Chance, seen: Seen, message: Accepting): Statement {
  if (message.conversation === null) seen.conversations.add(message.newConversationId);
  seen.posted.push(message);
  return make(chance, `accept ${message.onBusy}`, (store) => store.ledger.accept(message));
}

/** To the call, to its intention, or by having been asked last. */
function answer(chance: Chance, seen: Seen, now: Snapshot, questions: Snapshot['calls']): Statement {
  const question = chance.pick(questions);
  const answerTo = chance.weighted<string | undefined>([
    [5, question?.id],
    [2, question?.intentionId],
    [3, undefined],
  ]);
  return post(chance, seen, now, { answerTo });
}

/** The same key again, as the same message or as one more. */
function repost(chance: Chance, seen: Seen): Statement | undefined {
  const before = chance.pick(seen.posted);
  if (!before) return undefined;
  return posted(
    chance,
    seen,
    chance.is(0.5) ? before : { ...before, messageId: messageId(chance.uuid()), newConversationId: conversationId(chance.uuid()) },
  );
}

function readChoices(chance: Chance, now: Snapshot): readonly Choice[] {
  const id = now.conversation?.id;
  const intention = chance.pick(now.intentions)?.id;
  const call = chance.pick(now.calls)?.id;
  const owner = chance.is(0.8) ? owners.mine : owners.foreign;
  const after = chance.number(4);
  if (id === undefined) return [];
  return [
    [0.3, () => make(chance, 'replay', (store) => store.archive.replay(id, after, 50))],
    [0.1, () => make(chance, 'messages', (store) => store.archive.messages(owner, id, { after: 1, limit: 2 }))],
    [0.1, () => make(chance, 'conversation', (store) => store.archive.conversation(owner, id))],
    [0.1, () => make(chance, 'conversations', (store) => store.archive.conversations(owner, { before: null, limit: 5 }))],
    [intention ? 0.3 : 0, () => intention && make(chance, 'intention', (store) => store.archive.intention(owner, id, intention))],
    [intention ? 0.2 : 0, () => intention && make(chance, 'calls', (store) => store.archive.calls(owner, id, intention))],
    [call ? 0.2 : 0, () => call && make(chance, 'call', (store) => store.archive.call(owner, id, call))],
  ];
}

// Conversations brought to a named state, and every rule of the ledger that may come upon them. Effects: Postgres.

import { v7 } from 'uuid';
import { asFault } from '../../../src/fault.ts';
import type { Call, ClosingState } from '../../../src/intention/call.ts';
import type { CallId, ConversationId, IntentionId, MessageId } from '../../../src/intention/message.ts';
import { messageId } from '../../../src/intention/message.ts';
import type { Accepted, Accepting, CallClaim, Decided, RunnerName } from '../../../src/intention/rules.ts';
import type { Outcome } from '../../../src/intention/transition.ts';
import type { StepContext } from '../../../src/step/context.ts';
import {
  accepted,
  called,
  callOutcome,
  closing,
  finishOutcome,
  type LedgerUnderTest,
  newMessage,
  owner,
  reading,
  reassignOutcome,
  runnerOf,
  step,
} from '../ledger.ts';

/** One conversation, ready to be raced over. What a state lacks, its rules do not touch. */
export interface Scene {
  readonly title: string;
  readonly first: Accepting;
  readonly conversation: ConversationId;
  readonly intention: IntentionId;
  /** Of the intention's claim, which is still held. */
  readonly context: StepContext | null;
  readonly calls: readonly Call[];
  /** Another intention of the conversation: queued, or at its turn with its own claim. */
  readonly neighbour: IntentionId;
  readonly neighbourContext: StepContext | null;
}

/** What came of the races, for what the database alone cannot tell. */
export interface Heard {
  /** Messages that were accepted. */
  readonly accepted: Map<MessageId, ConversationId>;
  /** How often each transmission was handed out: `call` and attempt. */
  readonly sends: Map<string, number>;
  /** How often each claim's decision was applied, repeats of the same batch apart: intention and fence. */
  readonly decisions: Map<string, Set<MessageId>>;
  /** Conversations that somebody deleted. */
  readonly removed: Set<ConversationId>;
  /** What rules threw, and how often. */
  readonly faults: Map<string, number>;
}

export const silence = (): Heard => ({
  accepted: new Map(),
  sends: new Map(),
  decisions: new Map(),
  removed: new Set(),
  faults: new Map(),
});

export function hearFault(heard: Heard, title: string, thrown: unknown): void {
  const { code, notes } = asFault(thrown);
  const what = `${title}: ${code} ${notes['postgres'] ?? ''} ${notes['constraint'] ?? ''}`;
  heard.faults.set(what, (heard.faults.get(what) ?? 0) + 1);
}

/** Makes its input once; what it returns may be run again, as a batch is whose response was lost. */
export type Rule = (under: LedgerUnderTest, scene: Scene, heard: Heard) => () => Promise<unknown>;

const hear = {
  accepted: (heard: Heard, result: Accepted) => {
    if (result.kind === 'accepted') heard.accepted.set(result.message.id, result.message.conversationId);
  },
  send: (heard: Heard, id: CallId, attempt: number) => {
    const key = `${id} ${attempt}`;
    heard.sends.set(key, (heard.sends.get(key) ?? 0) + 1);
  },
  claimed: (heard: Heard, claim: CallClaim) => {
    if (claim.kind === 'claimed' && claim.fresh) hear.send(heard, claim.call.id, claim.call.attempts);
  },
  decided: (heard: Heard, context: StepContext, decided: Decided) => {
    if (decided.kind !== 'applied') return;
    const key = `${context.intentionId} ${context.fence}`;
    const [row] = decided.messages;
    if (row) heard.decisions.set(key, (heard.decisions.get(key) ?? new Set()).add(row.id));
  },
};

const posting =
  (extra: (scene: Scene) => Partial<Accepting>): Rule =>
  (under, scene, heard) => {
    const message = newMessage('next', scene.conversation, extra(scene));
    return async () => hear.accepted(heard, await under.ledger.accept(message));
  };

const deciding =
  (of: (scene: Scene) => StepContext | null, make: (context: StepContext, scene: Scene) => Outcome): Rule =>
  (under, scene, heard) => {
    const context = present(of(scene), 'context');
    const outcome = make(context, scene);
    return async () => hear.decided(heard, context, await under.ledger.decide(context, runnerOf(context.intentionId), outcome));
  };

const observing =
  (place: number, state: ClosingState): Rule =>
  (under, scene) => {
    const call = present(scene.calls[place], 'call');
    const heard = closing(call, state);
    return () => under.ledger.observe(call, heard);
  };

const own = (scene: Scene) => scene.context;
const neighbours = (scene: Scene) => scene.neighbourContext;
const firstCall = (scene: Scene) => present(scene.calls[0], 'call');
const callRunner = (call: Call): RunnerName => `call:${call.id}`;

export const rules = {
  // Accept.
  enqueue: posting(() => ({ answerTo: null })),
  interrupt: posting(() => ({ onBusy: 'interrupt' })),
  parallel: posting(() => ({ answerTo: null, onBusy: 'parallel' })),
  reject: posting(() => ({ onBusy: 'reject' })),
  'unnamed answer': posting(() => ({})),
  'answer to the question': posting((scene) => ({ answerTo: firstCall(scene).id })),
  'one key in the conversation': posting((scene) => ({
    answerTo: null,
    idempotency: { scope: scene.conversation, key: 'one', bodyHash: 'same' },
  })),
  'the first key again': (under, scene, heard) => {
    const again = { ...scene.first, messageId: messageId(v7()) };
    return async () => hear.accepted(heard, await under.ledger.accept(again));
  },
  // Claim.
  claim:
    (under, { intention }) =>
    () =>
      under.ledger.claim(intention, runnerOf(intention)),
  'claim the neighbour':
    (under, { neighbour }) =>
    () =>
      under.ledger.claim(neighbour, runnerOf(neighbour)),
  'claim the first call': (under, scene, heard) => async () =>
    hear.claimed(heard, await under.ledger.claimCall(firstCall(scene).id, callRunner(firstCall(scene)))),
  'claim the second call': (under, scene, heard) => async () => {
    const call = present(scene.calls[1], 'call');
    hear.claimed(heard, await under.ledger.claimCall(call.id, callRunner(call)));
  },
  // Decide.
  'decide one call': deciding(own, (context) => callOutcome(context, ['weather'])),
  'decide two calls': deciding(own, (context) => callOutcome(context, ['weather', 'people'])),
  finish: deciding(own, (context) => finishOutcome(context, 'done')),
  'reassign to its own': deciding(own, () => reassignOutcome('new')),
  'the neighbour finishes': deciding(neighbours, (context) => finishOutcome(context, 'done')),
  'the neighbour decides two calls': deciding(neighbours, (context) => callOutcome(context, ['travel', 'people'])),
  'the neighbour answers the question': deciding(neighbours, (_context, scene) => reassignOutcome(firstCall(scene).id)),
  // Observe.
  'the first call answers': observing(0, 'completed'),
  'the first call fails': observing(0, 'failed'),
  'the first call asks': observing(0, 'input_required'),
  'the first call wants a sign-in': observing(0, 'auth_required'),
  'the first call is unknown': observing(0, 'unknown'),
  'the second call answers': observing(1, 'completed'),
  'the second call asks': observing(1, 'input_required'),
  bind: (under, scene) => () => under.ledger.bind(firstCall(scene), `task-${firstCall(scene).id}`, 'context', false),
  'bind and read on': (under, scene) => () => under.ledger.bind(firstCall(scene), `task-${firstCall(scene).id}`, 'context', true),
  again: (under, scene) => () => under.ledger.again(firstCall(scene)),
  // The others.
  renew:
    (under, { intention, context }) =>
    () =>
      under.ledger.renew({ intention, fence: present(context, 'context').fence }, runnerOf(intention)),
  'renew the call': (under, scene) => () => under.ledger.renew({ call: firstCall(scene).id }, callRunner(firstCall(scene))),
  poke: (under, scene) => () => under.ledger.poke(firstCall(scene).id, null),
  'poke with the task': (under, scene) => () => under.ledger.poke(firstCall(scene).id, `task-${firstCall(scene).id}`),
  stop:
    (under, { conversation, intention }) =>
    () =>
      under.ledger.stop(owner, conversation, intention),
  'stop the neighbour':
    (under, { conversation, neighbour }) =>
    () =>
      under.ledger.stop(owner, conversation, neighbour),
  expire:
    (under, { intention }) =>
    () =>
      under.ledger.expire(intention),
  cancelled: (under, scene) => () => under.ledger.cancelled(firstCall(scene), 'canceled'),
  'cancel unsettled': (under, scene) => () => under.ledger.cancelled(firstCall(scene), 'unsettled'),
  sweep: (under) => () => under.ledger.sweep(0, 50),
  'keep agents': (under) => () => under.ledger.keepAgents([reading()]),
  'keep agents, told in another order': (under) => () => under.ledger.keepAgents([reading(true)]),
  probed: (under) => async () => {
    const [agent] = (await under.ledger.agents()).agents;
    if (agent) await under.ledger.probed(agent.id, true);
  },
  remove:
    (under, { conversation }, heard) =>
    async () => {
      heard.removed.add(conversation);
      await under.archive.remove(owner, conversation);
    },
} satisfies Record<string, Rule>;
export type RuleName = keyof typeof rules;

export const anywhere: readonly RuleName[] = [
  'enqueue',
  'interrupt',
  'parallel',
  'reject',
  'one key in the conversation',
  'the first key again',
  'claim',
  'stop',
  'stop the neighbour',
  'sweep',
  'remove',
];
const agents: readonly RuleName[] = ['keep agents', 'keep agents, told in another order', 'probed'];
const asksOrAnswers: readonly RuleName[] = [
  'the first call answers',
  'the first call fails',
  'the first call asks',
  'the first call is unknown',
];

interface State {
  /** What may come upon it beside what may come at any time. */
  readonly rules: readonly RuleName[];
  prepare(under: LedgerUnderTest, title: string): Promise<Scene>;
}

export const states: Readonly<Record<string, State>> = {
  'at its turn, nobody has claimed it': {
    rules: ['claim the neighbour', ...anywhere],
    prepare: async (under, title) => begin(under, title),
  },
  'claimed, about to be decided': {
    rules: [...agents, 'decide one call', 'decide two calls', 'finish', 'renew'],
    prepare: async (under, title) => {
      const scene = await begin(under, title);
      return { ...scene, context: await step(under.ledger, scene.intention) };
    },
  },
  'two calls out, one being read and one not yet sent': {
    rules: [
      ...agents,
      ...asksOrAnswers,
      'bind',
      'bind and read on',
      'again',
      'renew the call',
      'claim the first call',
      'claim the second call',
      'poke with the task',
      'the second call answers',
      'the second call asks',
    ],
    prepare: async (under, title) => {
      const scene = await begin(under, title);
      const calls = await called(under.ledger, await step(under.ledger, scene.intention), ['weather', 'people']);
      const first = present(calls[0], 'call');
      await under.ledger.claimCall(first.id, callRunner(first));
      return { ...scene, calls };
    },
  },
  'one call asks, the other is at work': {
    rules: [
      'unnamed answer',
      'answer to the question',
      'the first call answers',
      'the second call answers',
      'the second call asks',
      'claim the first call',
      'claim the second call',
      'poke',
    ],
    prepare: async (under, title) => {
      const scene = await begin(under, title);
      const calls = await called(under.ledger, await step(under.ledger, scene.intention), ['weather', 'people']);
      const first = present(calls[0], 'call');
      await under.ledger.observe(first, closing(first, 'auth_required'));
      await due(under, scene);
      return { ...scene, calls };
    },
  },
  'a question past its time, the neighbour about to decide': {
    rules: [
      'answer to the question',
      'expire',
      'the first call answers',
      'the first call asks',
      'claim the first call',
      'claim the neighbour',
      'poke',
      'the neighbour finishes',
      'the neighbour decides two calls',
      'the neighbour answers the question',
    ],
    prepare: async (under, title) => {
      const scene = await asked(under, title);
      const neighbourContext = await step(under.ledger, scene.neighbour);
      await due(under, scene);
      return { ...scene, neighbourContext };
    },
  },
  'an answer came, about to be decided': {
    rules: [
      'unnamed answer',
      'answer to the question',
      'reassign to its own',
      'decide one call',
      'decide two calls',
      'finish',
      'the first call answers',
      'the first call asks',
      'claim the first call',
      'poke',
      'renew',
    ],
    prepare: async (under, title) => {
      const scene = await begin(under, title, false);
      const [first] = await called(under.ledger, await step(under.ledger, scene.intention), ['weather']);
      const call = present(first, 'call');
      await under.ledger.observe(call, closing(call, 'auth_required'));
      await accepted(under.ledger, newMessage('something', scene.conversation));
      const neighbour = await accepted(under.ledger, newMessage('neighbour', scene.conversation, { answerTo: null }));
      const context = await step(under.ledger, scene.intention);
      await due(under, scene);
      return { ...scene, neighbour: neighbour.intentionId, context, calls: [call] };
    },
  },
  'sent, its reader dead, nobody knows the task': {
    rules: [
      ...asksOrAnswers,
      'the first call wants a sign-in',
      'bind',
      'bind and read on',
      'again',
      'renew the call',
      'claim the first call',
      'poke',
      'poke with the task',
    ],
    prepare: async (under, title) => {
      const scene = await begin(under, title);
      const calls = await called(under.ledger, await step(under.ledger, scene.intention), ['weather']);
      await due(under, scene);
      return { ...scene, calls };
    },
  },
  'its outcome is unknown': {
    rules: [
      'unnamed answer',
      'answer to the question',
      'the first call answers',
      'the first call asks',
      'bind',
      'claim the first call',
      'poke with the task',
      'again',
      'expire',
      'the neighbour answers the question',
      'the neighbour finishes',
    ],
    prepare: async (under, title) => {
      const scene = await asked(under, title, 'unknown');
      const neighbourContext = await step(under.ledger, scene.neighbour);
      await due(under, scene);
      return { ...scene, neighbourContext };
    },
  },
  'stopped, its task not yet canceled': {
    rules: [
      'the first call answers',
      'the first call asks',
      'bind',
      'again',
      'claim the first call',
      'poke with the task',
      'cancelled',
      'cancel unsettled',
      'renew the call',
    ],
    prepare: async (under, title) => {
      const scene = await begin(under, title);
      const calls = await called(under.ledger, await step(under.ledger, scene.intention), ['weather']);
      await under.ledger.stop(owner, scene.conversation, scene.intention);
      await due(under, scene);
      return { ...scene, calls };
    },
  },
};

/** A first intention at its turn, and a neighbour behind it. */
async function begin(under: LedgerUnderTest, title: string, withNeighbour = true): Promise<Scene> {
  const first = newMessage('first', null, { title, idempotency: { scope: 'new', key: v7(), bodyHash: 'same' } });
  const { intentionId: intention, message } = await accepted(under.ledger, first);
  const conversation = message.conversationId;
  const neighbour = withNeighbour
    ? (await accepted(under.ledger, newMessage('neighbour', conversation, { answerTo: null }))).intentionId
    : intention;
  return { title, first, conversation, intention, context: null, calls: [], neighbour, neighbourContext: null };
}

/** The first intention is parked with a question, and its neighbour has the turn. */
async function asked(under: LedgerUnderTest, title: string, state: ClosingState = 'auth_required'): Promise<Scene> {
  const scene = await begin(under, title);
  const [call] = await called(under.ledger, await step(under.ledger, scene.intention), ['weather']);
  const question = present(call, 'call');
  await under.ledger.observe(question, closing(question, state));
  return { ...scene, calls: [question] };
}

/** As if the time had passed that every lease, look and question of the calls waits for. */
async function due(under: LedgerUnderTest, { conversation }: Scene): Promise<void> {
  await under.query(
    `with calls as (update call set wake_at = case when wake_at is not null then now() - interval '1 second' end, last_look_at = null,
        lease_until = case when lease_until is not null then now() - interval '1 second' end where conversation_id = $1)
      update intention set wake_at = now() - interval '1 second' where conversation_id = $1 and status in ('input_required', 'auth_required')`,
    [conversation],
  );
}

function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`this state has no ${what}`);
  return value;
}

// What follows from a decision: from what was loaded and what was planned to rows and calls. Pure.

import { v5 } from 'uuid';
import type { Agent } from '../agent/card.ts';
import { type Fault, toSentence } from '../fault.ts';
import { languageOf } from '../plan/language.ts';
import type { Plan, PlannedCall } from '../plan/plan.ts';
import type { StepContext } from '../step/context.ts';
import { type Call, type NewCall, questionStates } from './call.ts';
import { callMs, pushCallMs } from './limits.ts';
import {
  type CallId,
  callId,
  type Decision,
  type IntentionId,
  type Message,
  type MessageId,
  messageId,
  type NewMessage,
  type Part,
  planName,
  type Usage,
} from './message.ts';

/** What a planner step comes to: data for the shell to commit and carry out. */
export type Outcome =
  | { readonly kind: 'call'; readonly rows: readonly NewMessage[]; readonly calls: readonly [NewCall, ...NewCall[]] }
  | { readonly kind: 'finish'; readonly status: 'answered' | 'failed'; readonly row: NewMessage }
  /** The newest user row moves to the intention of another open question, or starts its own (under its message id). */
  | { readonly kind: 'reassign'; readonly to: CallId | 'new'; readonly row: { readonly id: MessageId; readonly decision: Decision } };

export type Input =
  | { readonly kind: 'plan'; readonly plan: Plan; readonly decision: Decision; readonly usage: Usage }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly incidentId: string };

/** What the heart may not make itself. `nextId` gives ids that are new with each attempt: a repeated commit is told from a rival's by them. */
export interface Means {
  readonly nextId: () => string;
  /** Agents with push may take days. */
  readonly push: boolean;
}

/**
 * The A2A messageId of a call, derived from its place: however often a decision is carried out, the agent sees one id.
 * Source: README "What happens when".
 */
export function messageIdOf(intention: IntentionId, step: number, ord: number): MessageId {
  return messageId(v5(`${step}.${ord}`, intention));
}

/** Pure. Every plan that `parse` lets through has an Outcome; agents of the plan are among `context.agents`. */
export function transition(context: StepContext, input: Input, means: Means): Outcome {
  switch (input.kind) {
    case 'fault': {
      const language = languageOf(context.messages.findLast((row) => row.role === 'user')?.content ?? '');
      return finish(context, 'failed', { content: toSentence(input.fault, language, input.incidentId), parts: {}, usage: null }, means);
    }
    case 'plan':
      switch (input.plan.kind) {
        case 'report':
          return finish(context, 'answered', { content: input.plan.text, parts: { decision: input.decision }, usage: input.usage }, means);
        case 'reassign':
          return { kind: 'reassign', to: input.plan.to, row: { id: messageId(means.nextId()), decision: input.decision } };
        case 'call':
          return calls(context, input.plan.calls, input.decision, input.usage, means);
      }
  }
}

function finish(
  context: StepContext,
  status: 'answered' | 'failed',
  said: Pick<NewMessage, 'content' | 'parts' | 'usage'>,
  means: Means,
): Outcome {
  return {
    kind: 'finish',
    status,
    row: {
      id: messageId(means.nextId()),
      step: context.step + 1,
      ord: 0,
      role: 'assistant',
      type: status === 'failed' ? 'error' : null,
      agent: null,
      toAgent: null,
      reason: null,
      callId: null,
      ...said,
    },
  };
}

function calls(
  context: StepContext,
  planned: readonly [PlannedCall, ...PlannedCall[]],
  decision: Decision,
  usage: Usage,
  means: Means,
): Outcome {
  const taken = new Set<string>();
  const [first, ...others] = planned.map((plan, ord) => {
    const agent = context.agents.find((candidate) => candidate.name === plan.agent);
    // `parse` lets only offered agents through.
    if (!agent) throw new Error('an agent that was not offered');
    const question = answered(context, plan, taken);
    const free = context.freeContexts.find((candidate) => candidate.agentId === agent.id && !taken.has(candidate.contextId));
    if (question) taken.add(question.id);
    if (!question && free) taken.add(free.contextId);
    const call: NewCall = {
      id: callId(means.nextId()),
      ord,
      agentId: agent.id,
      agent: agent.name,
      messageId: messageIdOf(context.intentionId, context.step + 1, ord),
      // Asked again for want of an outcome: on the task that it was to go on with, if any; one that was found since is not disturbed.
      taskId: question && (question.state !== 'unknown' || question.answers !== null) ? question.taskId : null,
      contextId: question ? question.contextId : (free?.contextId ?? null),
      referenceTaskIds: !question && free?.taskId ? [free.taskId] : [],
      answers: question?.id ?? null,
      // One in doubt never showed a turn of its own: its task may still stand at the question that it was to answer.
      staleFingerprint: question?.fingerprint ?? question?.staleFingerprint ?? null,
      allowedMs: agent.allowedMs ?? (agent.card.pushNotifications && means.push ? pushCallMs : callMs),
    };
    // What an agent may never have got goes with the question again.
    const items = [...(question?.state === 'unknown' ? question.parts : []), ...enclosed(context.messages, agent)];
    const row: NewMessage = {
      id: messageId(means.nextId()),
      step: context.step + 1,
      ord,
      role: 'agent',
      type: 'query',
      agent: planName,
      toAgent: agent.name,
      reason: plan.reason,
      callId: call.id,
      content: plan.query,
      parts: {
        ...(items.length > 0 ? { items } : {}),
        ...(ord === 0 ? { decision } : {}),
        ...(question ? { answers: question.id } : {}),
      },
      usage: ord === 0 ? usage : null,
    };
    return { call, row };
  });
  if (!first) throw new Error('a plan without calls');
  return { kind: 'call', rows: [first.row, ...others.map((made) => made.row)], calls: [first.call, ...others.map((made) => made.call)] };
}

/** The open question of this intention that a planned call answers: the named one; unnamed, the agent's only one. */
function answered(context: StepContext, plan: PlannedCall, taken: ReadonlySet<string>): Call | undefined {
  if (plan.answers === 'new') return undefined;
  const open = context.calls.filter(
    (call) => call.agent === plan.agent && !taken.has(call.id) && questionStates.some((state) => state === call.state),
  );
  if (plan.answers !== undefined) return open.find((call) => call.id === plan.answers);
  return open.length === 1 ? open[0] : undefined;
}

/** What the user enclosed (data, files) since this agent was last asked goes along, unchanged. */
function enclosed(messages: readonly Message[], agent: Agent): readonly Part[] {
  const asked = messages.findLast((row) => row.type === 'query' && row.toAgent === agent.name)?.seq ?? 0;
  const saidAt = (row: Message): number =>
    messages.find((other) => other.type === 'reassigned' && other.parts.seq === row.seq)?.seq ?? row.seq;
  return messages
    .filter((row) => row.role === 'user' && saidAt(row) > asked)
    .flatMap((row) => (row.parts.items ?? []).filter((part) => part.kind !== 'text'));
}

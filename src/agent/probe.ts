// Whether an agent recognises a repeated message: an operator's text, really sent twice under one messageId. Effects: the agent, the ledger.

import { asFault } from '../fault.ts';
import type { Call } from '../intention/call.ts';
import { probeMs } from '../intention/limits.ts';
import { callId, conversationId, intentionId, messageId, type OwnerId } from '../intention/message.ts';
import { within } from '../time-limit.ts';
import type { Agents, Ids, Ledger } from '../world.ts';
import type { Agent } from './card.ts';

export interface Probed {
  readonly deduplicates: boolean;
  /** Of the first message and of the second; null: the agent named none. */
  readonly taskIds: readonly [string | null, string | null];
  /** Why this counts as a no although nothing speaks against the agent; null: the tasks tell. */
  readonly reason: string | null;
}

/** What of the World it needs. */
export interface ProbeWorld {
  readonly agents: Pick<Agents, 'send'>;
  readonly ledger: Pick<Ledger, 'probed'>;
  readonly ids: Ids;
}

/**
 * The agent gets `text` twice, the second time when the first was answered or 20 s are over, and may well do twice what
 * it says; what it answers is not kept. It deduplicates when both name one task. The result is kept with the agent.
 * Throws Fault `agent_down`, `agent_refused`, `agent_invalid`, of either message; then nothing is kept.
 */
export async function probe(world: ProbeWorld, owner: OwnerId, agent: Agent, text: string): Promise<Probed> {
  const call = callOf(world.ids, owner, agent, text);
  const first = await taskOf(world, agent, call);
  const taskIds = [first, await taskOf(world, agent, call)] as const;
  const reason = taskIds.includes(null) ? 'the agent did not name a task, so nothing can be compared' : null;
  const deduplicates = reason === null && taskIds[0] === taskIds[1];
  await world.ledger.probed(agent.id, deduplicates);
  return { deduplicates, taskIds, reason };
}

/** Sends and reads to the reply, or as long as it may take. */
async function taskOf(world: ProbeWorld, agent: Agent, call: Call): Promise<string | null> {
  let taskId: string | null = null;
  // Nobody waits for a push.
  const silent: Agent = { ...agent, card: { ...agent.card, pushNotifications: false } };
  try {
    await within(probeMs, null, async (signal) => {
      for await (const event of world.agents.send(silent, call, [], signal)) {
        if (event.kind === 'bound') taskId = event.taskId;
        else if (event.kind === 'reply') taskId = event.reply.taskId ?? taskId;
      }
    });
  } catch (thrown) {
    const fault = asFault(thrown);
    if (fault.code !== 'aborted') throw fault;
  }
  return taskId;
}

/** A call that is in no ledger, under ids of its own. */
function callOf(ids: Ids, ownerId: OwnerId, agent: Agent, query: string): Call {
  return {
    id: callId(ids.next()),
    conversationId: conversationId(ids.next()),
    intentionId: intentionId(ids.next()),
    ownerId,
    step: 1,
    ord: 0,
    agentId: agent.id,
    agent: agent.name,
    messageId: messageId(ids.next()),
    taskId: null,
    contextId: null,
    referenceTaskIds: [],
    state: 'sending',
    answers: null,
    attempts: 1,
    polls: 0,
    fingerprint: null,
    staleFingerprint: null,
    sentAtMs: null,
    deadlineMs: 0,
    cancel: null,
    cancelAttempts: 0,
    cancelOutcome: null,
    error: null,
    query,
    parts: [],
  };
}

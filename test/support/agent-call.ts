// An agent that is met by its card, a call to it and what is heard of that, for tests of the port Agents. Effects: network.

import type { Agent, AgentSource } from '../../src/agent/card.ts';
import type { AgentEvent, AgentReply } from '../../src/agent/reply.ts';
import { createAgents } from '../../src/agent/sdk-client.ts';
import { Fault } from '../../src/fault.ts';
import type { Call } from '../../src/intention/call.ts';
import { agentName, messageId, ownerId } from '../../src/intention/message.ts';
import { call } from './step-context.ts';

interface Ours {
  readonly publicUrl?: string | null;
  readonly pushSecrets?: readonly string[];
}

/** The agent at this address, known by the card that we read from it. */
export async function agentAt(url: string, { publicUrl = null, pushSecrets = [] }: Ours = {}) {
  const source: AgentSource = { kind: 'card', url };
  const agents = createAgents({ agentSources: [source], publicUrl, pushSecrets }, null);
  const [reading] = await agents.read([source]);
  const found = reading?.agents[0];
  if (found === undefined) throw new Error(`no card: ${reading?.error}`);
  const usual = { id: 'a1', deduplicates: false, allowedMs: null, downUntilMs: null } as const;
  const agent: Agent = { ...usual, name: agentName(found.name), source: url, cardUrl: found.cardUrl, card: found.card };
  return { agents, agent };
}

/** On its way to the agent `peer`; its owner must not get there. */
export function callFor(query: string, more: Partial<Call> = {}): Call {
  const own = { ownerId: ownerId('secret-owner'), messageId: messageId(`message-${query}`), query };
  return { ...call('01900000-0000-7000-8000-000000000001', 'peer', 'sending'), ...own, ...more };
}

/** A signal that never aborts. */
export const never = new AbortController().signal;

export async function gather(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const gathered: AgentEvent[] = [];
  for await (const event of events) gathered.push(event);
  return gathered;
}

export function lastReply(events: readonly AgentEvent[]): AgentReply {
  const last = events.at(-1);
  if (last?.kind !== 'reply') throw new Error('there was no reply');
  return last.reply;
}

/** What was shown while the reply came. */
export function textsOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.kind === 'text' ? event.text : '')).join('');
}

export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const thrown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof Fault)) throw new Error('no fault', { cause: thrown });
  return thrown;
}

// Rows, calls and contexts for pure tests, as the ledger would load them. Pure.

import type { Agent } from '../../src/agent/card.ts';
import type { Call } from '../../src/intention/call.ts';
import {
  agentName,
  callId,
  conversationId,
  intentionId,
  type Message,
  type MessageType,
  messageId,
  ownerId,
  type Parts,
  planName,
} from '../../src/intention/message.ts';
import type { StepContext } from '../../src/step/context.ts';

export const conversation = conversationId('00000000-0000-7000-8000-00000000c001');
export const intention = intentionId('00000000-0000-7000-8000-000000000001');

type Said = { readonly call?: string; readonly agent?: string; readonly parts?: Parts; readonly step?: number; readonly ord?: number };

/** One line of a conversation: who, what kind, which words. */
export type Line = readonly [role: Message['role'], type: MessageType | null, content: string, said?: Said];

/** Lines as rows of one intention, seq from 1. */
export function rows(...lines: readonly Line[]): readonly Message[] {
  let step = 0;
  return lines.map(([role, type, content, said = {}], place): Message => {
    if (type === 'query' && (said.ord ?? 0) === 0) step += 1;
    const own = said.step ?? (role === 'user' ? null : role === 'assistant' ? step + 1 : step);
    return {
      conversationId: conversation,
      seq: place + 1,
      id: messageId(`00000000-0000-7000-8000-0000000000${String(place + 1).padStart(2, '0')}`),
      intentionId: intention,
      movedTo: null,
      step: own,
      ord: role === 'user' ? null : (said.ord ?? 0),
      role,
      type,
      agent: role === 'agent' ? (type === 'query' ? planName : agentName(said.agent ?? 'weather')) : null,
      toAgent: type === 'query' ? agentName(said.agent ?? 'weather') : null,
      reason: type === 'query' ? 'it knows' : null,
      callId: said.call === undefined ? null : callId(said.call),
      content,
      parts: said.parts ?? {},
      usage: null,
      createdAt: '2026-11-21T00:00:00.000Z',
    };
  });
}

export const agent = (name: string, push = false): Agent => ({
  id: `agent-${name}`,
  name: agentName(name),
  source: 'http://127.0.0.1/agents',
  cardUrl: `http://127.0.0.1/${name}`,
  card: { name, description: `knows ${name}`, version: '1', interfaces: [], streaming: true, pushNotifications: push, skills: [] },
  deduplicates: false,
  allowedMs: null,
  downUntilMs: null,
});

export const call = (id: string, given: Partial<Call> = {}): Call => ({
  id: callId(id),
  conversationId: conversation,
  intentionId: intention,
  ownerId: ownerId('tester'),
  step: 1,
  ord: 0,
  agentId: 'agent-weather',
  agent: agentName('weather'),
  messageId: messageId(`message-of-${id}`),
  taskId: `task-of-${id}`,
  contextId: `context-of-${id}`,
  referenceTaskIds: [],
  state: 'working',
  answers: null,
  attempts: 1,
  polls: 0,
  fingerprint: null,
  staleFingerprint: null,
  sentAtMs: 1_000,
  deadlineMs: 100_000,
  cancel: null,
  cancelAttempts: 0,
  cancelOutcome: null,
  error: null,
  query: 'how is the weather',
  parts: [],
  ...given,
});

export const context = (messages: readonly Message[], given: Partial<StepContext> = {}): StepContext => ({
  intentionId: intention,
  conversationId: conversation,
  ownerId: ownerId('tester'),
  nowMs: Date.UTC(2026, 10, 21),
  fence: 1,
  step: Math.max(0, ...messages.filter((row) => row.type === 'query').map((row) => row.step ?? 0)),
  failures: 1,
  deadlineMs: Date.UTC(2026, 10, 22),
  messages,
  history: [],
  calls: [],
  questions: [],
  freeContexts: [],
  agents: [agent('weather'), agent('people')],
  staleSources: [],
  ...given,
});

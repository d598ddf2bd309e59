// Step contexts from terse rows, as a load would bring them. Pure.

import type { Agent } from '../../src/agent/card.ts';
import type { Call, CallState } from '../../src/intention/call.ts';
import {
  agentName,
  callId,
  conversationId,
  type IntentionId,
  intentionId,
  type Message,
  messageId,
  ownerId,
  planName,
} from '../../src/intention/message.ts';
import type { OpenQuestion, StepContext } from '../../src/step/context.ts';

export const here = intentionId('i1');
export const elsewhere = intentionId('i2');

type Given = Partial<Message> & { readonly seq: number };

function row(given: Given): Message {
  return {
    conversationId: conversationId('conversation'),
    id: messageId(`m${given.seq}`),
    intentionId: here,
    movedTo: null,
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
    createdAt: '2026-11-21T00:00:00Z',
    ...given,
  };
}

export const user = (seq: number, content: string, more: Partial<Message> = {}): Message => row({ seq, role: 'user', content, ...more });
export const report = (seq: number, content: string, more: Partial<Message> = {}): Message =>
  row({ seq, role: 'assistant', content, ...more });
export const query = (
  seq: number,
  step: number,
  ord: number,
  id: string,
  to: string,
  content: string,
  more: Partial<Message> = {},
): Message =>
  row({ seq, step, ord, type: 'query', agent: planName, toAgent: agentName(to), callId: callId(id), content, reason: 'It fits.', ...more });
export const outcome = (
  seq: number,
  type: 'answer' | 'input_required' | 'auth_required' | 'error',
  id: string,
  by: string,
  content: string,
  more: Partial<Message> = {},
): Message => row({ seq, type, agent: agentName(by), callId: callId(id), content, ...more });

export function agent(name: string, description = `Knows of ${name}.`, examples: readonly string[] = []): Agent {
  return {
    id: `agent-${name}`,
    name: agentName(name),
    source: 'https://agents.example',
    cardUrl: `https://${encodeURIComponent(name)}.example/.well-known/agent-card.json`,
    card: {
      name,
      description,
      version: '1',
      interfaces: [],
      streaming: true,
      pushNotifications: false,
      skills: [{ id: 's', name: 'Answer', description: 'Answers questions', tags: [], examples }],
    },
    deduplicates: false,
    allowedMs: null,
    downUntilMs: null,
  };
}

export function call(id: string, to: string, state: CallState = 'completed'): Call {
  return {
    id: callId(id),
    conversationId: conversationId('conversation'),
    intentionId: here,
    ownerId: ownerId('owner'),
    step: 1,
    ord: 0,
    agentId: `agent-${to}`,
    agent: agentName(to),
    messageId: messageId(`sent-${id}`),
    taskId: null,
    contextId: null,
    referenceTaskIds: [],
    state,
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
    query: '',
    parts: [],
  };
}

export function question(id: string, by: string, content: string, query: string, intention: IntentionId = here): OpenQuestion {
  return { callId: callId(id), intentionId: intention, agent: agentName(by), kind: 'input_required', content, query };
}

export function stepContext(given: Partial<StepContext>): StepContext {
  return {
    intentionId: here,
    conversationId: conversationId('conversation'),
    ownerId: ownerId('owner'),
    nowMs: 0,
    fence: 1,
    step: new Set((given.messages ?? []).filter((message) => message.type === 'query').map((message) => message.step)).size,
    failures: 1,
    deadlineMs: 600_000,
    messages: [],
    history: [],
    calls: [],
    questions: [],
    freeContexts: [],
    agents: [agent('weather', 'Tells the weather of a city.', ['上海天气如何'])],
    staleSources: [],
    ...given,
  };
}

// Events as tests write them. Pure.

import type { IntentionStatus } from '../../../src/intention/intention.ts';
import { agentName, callId, conversationId, intentionId } from '../../../src/intention/message.ts';
import type { DeltaEvent, MessageEvent, StreamEvent } from '../../../src/stream/event.ts';

export const conversation = conversationId('c1');

/** A row of `i1`; by default what the user said. */
export function row(
  seq: number,
  fields: Partial<Omit<MessageEvent, 'call_id' | 'agent' | 'to_agent' | 'intention_id'>> & Names = {},
): MessageEvent {
  return {
    seq,
    id: `m${seq}`,
    conversation_id: conversation,
    step: null,
    role: 'user',
    type: null,
    reason: null,
    note: null,
    content: `row ${seq}`,
    parts: [],
    schema: null,
    usage: null,
    created_at: '2026-11-01T00:00:00.000Z',
    ...fields,
    intention_id: intentionId(fields.intention_id ?? 'i1'),
    agent: fields.agent ? agentName(fields.agent) : null,
    to_agent: fields.to_agent ? agentName(fields.to_agent) : null,
    call_id: fields.call_id ? callId(fields.call_id) : null,
  };
}

interface Names {
  readonly intention_id?: string;
  readonly agent?: string;
  readonly to_agent?: string;
  readonly call_id?: string;
}

export function message(seq: number, fields: Parameters<typeof row>[1] = {}): StreamEvent {
  return { kind: 'message', data: row(seq, fields) };
}

export function status(intention: string, value: IntentionStatus): StreamEvent {
  return { kind: 'status', data: { intention_id: intentionId(intention), status: value } };
}

/** Text of the planner in step 1 of `i1`, or of a call. */
export function delta(
  offset: number,
  text: string,
  fields: { attempt?: number; step?: number; call?: string; agent?: string } = {},
): StreamEvent {
  return { kind: 'delta', data: piece(offset, text, fields) };
}

export function piece(offset: number, text: string, fields: Parameters<typeof delta>[2] = {}): DeltaEvent {
  return {
    intention_id: intentionId('i1'),
    step: fields.step ?? 1,
    agent: agentName(fields.agent ?? (fields.call ? 'weather' : 'plan')),
    call_id: fields.call ? callId(fields.call) : null,
    attempt: fields.attempt ?? 1,
    offset,
    text,
  };
}

export function query(seq: number, call: string, content: string, fields: { step?: number; to?: string } = {}): StreamEvent {
  return message(seq, {
    step: fields.step ?? 1,
    role: 'agent',
    type: 'query',
    agent: 'plan',
    to_agent: fields.to ?? 'weather',
    call_id: call,
    content,
  });
}

export function reply(
  seq: number,
  call: string,
  content: string,
  fields: { step?: number; from?: string; type?: 'answer' | 'input_required' | 'error' } = {},
): StreamEvent {
  return message(seq, {
    step: fields.step ?? 1,
    role: 'agent',
    type: fields.type ?? 'answer',
    agent: fields.from ?? 'weather',
    call_id: call,
    content,
  });
}

export function report(seq: number, content: string, step = 2): StreamEvent {
  return message(seq, { step, role: 'assistant', content });
}

export async function collect<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

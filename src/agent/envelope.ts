// Reads a JSON-RPC answer of any agent into the one that the SDK takes. Pure.

import { z } from 'zod';
import type { AgentInterface } from './card.ts';
import { type Fields, isFields, type Known, readAnswer, readEvent, spellState } from './old-wire.ts';

/** What the answer is to. */
export interface Asked extends Known {
  readonly id: unknown;
  readonly method: string;
  readonly version: AgentInterface['version'];
  readonly streams: boolean;
}

export const unknownMethod = -32601;

const request = z.looseObject({
  id: z.unknown(),
  method: z.string(),
  params: z
    .looseObject({
      id: z.string().optional(),
      sessionId: z.string().optional(),
      message: z.looseObject({ taskId: z.string().optional(), contextId: z.string().optional() }).optional(),
    })
    .optional(),
});

const streaming = new Set(['message/stream', 'tasks/sendSubscribe', 'tasks/resubscribe', 'SendStreamingMessage', 'SubscribeToTask']);
const sending = new Set(['message/send', 'tasks/send', 'tasks/get', 'tasks/cancel']);

/** Null: the body is no request of JSON-RPC. */
export function readAsked(body: string, version: AgentInterface['version']): Asked | null {
  const read = request.safeParse(parseJson(body));
  if (!read.success) return null;
  const { id, method, params } = read.data;
  const taskId = params?.id ?? params?.message?.taskId ?? null;
  return {
    id,
    method,
    version,
    streams: streaming.has(method),
    taskId,
    contextId: params?.sessionId ?? params?.message?.contextId ?? null,
  };
}

/** Undefined: it is no JSON, not even without the control characters in it, which no JSON may hold. */
export function parseJson(text: string): unknown {
  return parsed(text) ?? parsed(text.replaceAll(/[\p{Cc}\ufeff]/gu, ' '));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The answer with its id, and with an error or a result but not both. What belongs together is known from the connection, so
 * that the agent's own id says nothing. What is no answer stays as it is.
 */
export function readEnvelope(json: unknown, asked: Asked): unknown {
  if (!isFields(json)) return json;
  const { id } = asked;
  const error = readError(json['error']) ?? (json['jsonrpc'] === undefined ? null : wordsOf(json['error']));
  if (error !== null) return { jsonrpc: '2.0', id, error };
  const bare = json['jsonrpc'] === undefined && json['result'] === undefined;
  const result = readResult(bare ? json : json['result'], asked);
  if (result === null) return json;
  return bare && asked.version === '1.0' ? json : { jsonrpc: '2.0', id, result };
}

export function errorCode(envelope: unknown): number | null {
  return isFields(envelope) ? (readError(envelope['error'])?.code ?? null) : null;
}

/** Null: it is none. */
function readResult(result: unknown, asked: Asked): unknown {
  if (asked.version === '1.0') return result === undefined ? null : spellNew(result);
  if (asked.streams) return readEvent(result, asked);
  // What else is asked for is no task, and left alone.
  return sending.has(asked.method) ? readAnswer(result, asked) : (result ?? null);
}

/** States as v1.0 spells them, in each place where a status can be. */
function spellNew(result: unknown): unknown {
  if (!isFields(result)) return result;
  const { task, statusUpdate } = result;
  return withState({
    ...result,
    ...(isFields(task) ? { task: withState(task) } : {}),
    ...(isFields(statusUpdate) ? { statusUpdate: withState(statusUpdate) } : {}),
  });
}

function withState(holder: Fields): Fields {
  const { status } = holder;
  if (!isFields(status) || typeof status['state'] !== 'string' || status['state'].startsWith('TASK_STATE_')) return holder;
  const spelled = spellState(status['state']);
  const state = spelled === 'unknown' ? 'TASK_STATE_UNSPECIFIED' : `TASK_STATE_${spelled.toUpperCase().replaceAll('-', '_')}`;
  return { ...holder, status: { ...status, state } };
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Errors without a code of the protocol, by the name that one framework gives them. */
const namedErrors: ReadonlyMap<unknown, number> = new Map([
  ['TASK_NOT_FOUND', -32001],
  ['INVALID_TASK_STATE', -32002],
  ['METHOD_NOT_FOUND', unknownMethod],
]);

/** The coder of the first days wraps its errors twice. Null: it is none. */
function readError(error: unknown): RpcError | null {
  if (!isFields(error)) return null;
  const { code, data } = error;
  if (isFields(data) && isFields(data['error'])) {
    const inner = data['error'];
    if (typeof inner['code'] === 'number') return { code: inner['code'], message: wordsIn(inner) };
  }
  const named = isFields(data) ? namedErrors.get(data['a2aCode']) : undefined;
  const number = named ?? (typeof code === 'string' && code !== '' ? Number(code) : code);
  if (typeof number !== 'number' || !Number.isInteger(number)) return null;
  return { code: number, message: wordsIn(error), ...(data === undefined || data === null ? {} : { data }) };
}

/** An error that is only text, or has no code. */
function wordsOf(error: unknown): RpcError | null {
  if (error === undefined || error === null) return null;
  return { code: -32603, message: typeof error === 'string' ? error : wordsIn(error) };
}

function wordsIn(error: unknown): string {
  const message = isFields(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : '';
}

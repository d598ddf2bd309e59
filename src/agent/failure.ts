// What a failed exchange with an agent means: an HTTP status, or an error that the SDK throws. Pure.

import {
  A2A_ERROR_CODE,
  A2AError,
  InvalidAgentResponseError,
  isJsonRpcError,
  isRestError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
} from '@a2a-js/sdk/errors';
import { Fault } from '../fault.ts';

/** Cloudflare's edge had no connection to the origin: refused, unreachable, no handshake, bad certificate, no such name. */
const unsentStatuses = new Set([521, 523, 525, 526, 530]);
/** Statuses that may pass, beside 5xx. Source: RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4. */
const passingStatuses = new Set([408, 425, 429]);

/** What an HTTP status that is no success means: `agent_down` if it may pass, else `agent_refused`. */
export function statusFault(status: number, retryAfter: string | null, agent: string): Fault {
  const passing = passingStatuses.has(status) || (status >= 500 && status !== 501);
  const seconds = Number(retryAfter ?? Number.NaN);
  return new Fault(passing ? 'agent_down' : 'agent_refused', {
    detail: `it answered HTTP ${status}`,
    // RFC 6585 §4: a request over the rate limit was not processed.
    notes: { agent, status, sent: !unsentStatuses.has(status) && status !== 429 },
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  });
}

/** The agent knows no such task. */
export function isUnknownTask(thrown: unknown): boolean {
  return protocolError(thrown) instanceof TaskNotFoundError;
}

/** The task is over, so that it cannot be canceled. */
export function isOver(thrown: unknown): boolean {
  return protocolError(thrown) instanceof TaskNotCancelableError;
}

/**
 * `agent_refused` for an error of the protocol, with its JSON-RPC code; `agent_invalid` for what the SDK could not read;
 * Faults of our fetch as they are.
 */
export function sdkFault(thrown: unknown, agent: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const error = protocolError(thrown);
  if (error === null) return new Fault('agent_invalid', { cause: thrown, notes: { agent, sent: true } });
  const code = codeOf(error);
  const status = isRestError(error) ? error.statusCode : undefined;
  if (code === undefined && status !== undefined && status >= 300) return statusFault(status, null, agent);
  return new Fault('agent_refused', { cause: thrown, notes: { agent, sent: true, code, status } });
}

/**
 * Whether the body of an HTTP error is one of the protocol's, so that the SDK can read it. Others it turns into plain errors
 * without status. Sources: A2A v1.0 §9.5 and §11.6; v0.3 over HTTP+JSON sends `{code, message}`.
 */
export function isProtocolError(body: string, binding: 'JSONRPC' | 'HTTP+JSON'): boolean {
  const json = parsed(body);
  if (typeof json !== 'object' || json === null) return false;
  if (binding === 'JSONRPC') return 'jsonrpc' in json && 'error' in json && hasCode(json.error);
  return ('error' in json && hasCode(json.error)) || (hasCode(json) && json.code <= -32001 && json.code >= -32099);
}

function hasCode(json: unknown): json is { readonly code: number } {
  return typeof json === 'object' && json !== null && 'code' in json && typeof json.code === 'number';
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** An error that the agent sent, not one that the SDK found in reading. In a stream it is the cause of a plain error. */
function protocolError(thrown: unknown): A2AError | null {
  const error = thrown instanceof Error && thrown.cause instanceof A2AError ? thrown.cause : thrown;
  if (!(error instanceof A2AError)) return null;
  if (isJsonRpcError(error) || isRestError(error)) return error;
  return [InvalidAgentResponseError, RequestMalformedError].some((unread) => error instanceof unread) ? null : error;
}

function codeOf(error: A2AError): number | undefined {
  if (isJsonRpcError(error)) return error.envelopeCode;
  return Object.entries(A2A_ERROR_CODE).find(([name]) => name === error.reason && name !== 'INTERNAL_ERROR')?.[1];
}

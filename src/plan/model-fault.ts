// What the AI SDK throws, as the faults of the planner's port. Effects: the clock, for dates in Retry-After.

import { APICallError, InvalidPromptError, MissingToolResultsError } from 'ai';
import { Fault } from '../fault.ts';

/** Whether a server knows no `tool_choice`. For example vLLM: "auto" tool choice requires --enable-auto-tool-choice. */
export function refusesChoice(thrown: unknown): boolean {
  return APICallError.isInstance(thrown) && thrown.statusCode === 400 && /tool.?choice/i.test(`${thrown.message} ${thrown.responseBody}`);
}

/** The faults carry no vendor error as their cause: that holds the prompt. */
export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  if (InvalidPromptError.isInstance(thrown) || MissingToolResultsError.isInstance(thrown)) {
    return new Fault('model_refused', { notes: { why: thrown.name } });
  }
  if (!APICallError.isInstance(thrown))
    return new Fault('model_down', { notes: { why: thrown instanceof Error ? thrown.name : 'unknown' } });
  const { statusCode: status, responseHeaders } = thrown;
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429) {
    return new Fault('model_refused', { notes: { status } });
  }
  const after = secondsOf(responseHeaders?.['retry-after']);
  return new Fault('model_down', { notes: { status }, ...(after === null ? {} : { retryAfterSeconds: after }) });
}

/** Source: RFC 9110 §10.2.3 Retry-After: seconds or a date. */
function secondsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

// The bytes of the event stream: one frame for one event, and the cursor a reader comes back with. Pure.

import { Fault } from '../fault.ts';
import type { StreamEvent } from './event.ts';

/** How long a browser waits before it connects again. */
const retryMs = 1000;

/** First on every stream: it also makes proxies pass the headers on. */
export const openingFrame = `retry: ${retryMs}\n\n`;

/** A comment: readers ignore it, dead connections fail on it. Source: WHATWG HTML §9.2.7. */
export const heartbeatFrame = ': still here\n\n';

/** The reader fell behind what is kept, or the conversation is gone: connect again with the last id. */
export const resetFrame = 'event: reset\ndata: {}\n\n';

/**
 * One event as one frame. Only a row has an `id:`, so an ephemeral event never moves a reader's cursor.
 * JSON escapes CR and LF, hence the data is always one line. Source: WHATWG HTML §9.2.6.
 */
export function encode(event: StreamEvent): string {
  const id = event.kind === 'message' ? `id: ${event.data.seq}\n` : '';
  return `${id}event: ${event.kind}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/** The seq after which a reader wants rows; nothing given is 0. Fault `invalid_request` for all but a canonical integer from 0. */
export function parseLastEventId(text: string | null | undefined): number {
  if (text === null || text === undefined || text === '') return 0;
  const seq = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw new Fault('invalid_request', { detail: 'Last-Event-ID must be the id of an event.' });
  return seq;
}

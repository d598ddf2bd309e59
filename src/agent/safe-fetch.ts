// The one fetch towards agents: bounded in time and bytes, and credentials go home only. Effects: network.

import { Fault, type FaultNotes } from '../fault.ts';
import { timeLimit } from '../time-limit.ts';
import type { AgentSource } from './card.ts';
import { statusFault } from './failure.ts';
import { callable, isLoopback, sameOrigin } from './origin.ts';

/** Bytes of one JSON answer: what the SDK takes for one event of a stream. */
export const maxAnswerBytes = 4 * 1_048_576;
/** Bytes of a whole stream: memory of the isolate, not a sensible length of an answer. */
export const maxStreamBytes = 16 * 1_048_576;
/** Bytes of a card or of a list of agents. */
export const maxCardBytes = 1_048_576;

/** What may be asked of an address before anything is sent: false means that nobody listens there. */
export type Knock = (url: URL) => Promise<boolean>;

export interface Outgoing {
  readonly url: string;
  /** Its signal is the caller's: what it aborts ends in Fault `aborted`. */
  readonly init: RequestInit;
  /** Whom it concerns, for the log. */
  readonly agent: string;
  /** Its headers are added when the address is on its own origin. */
  readonly source: AgentSource | null;
  /** Until the last byte of the answer is read. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly knock: Knock | null;
}

/** Codes of Node's connector: no byte has left. */
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
/**
 * The answer whatever its status, but no redirect. Its body rejects with a Fault too: `agent_down` with `notes.cut` when it
 * breaks off or takes too long, `agent_invalid` when it is too large, `aborted`. Of its headers only what we use is kept.
 * Faults: `agent_down` (`notes.sent` false: no byte of it was processed, for certain), `agent_refused`, `aborted`.
 */
export async function safeFetch(request: Outgoing): Promise<Response> {
  const { agent } = request;
  const url = callable(request.url);
  if (url === null) throw new Fault('agent_refused', { detail: 'its address is not one we call', notes: { agent, sent: false } });

  const limit = timeLimit(request.timeoutMs, request.init.signal);
  const { signal } = limit;
  const lost = (cause: unknown, notes: FaultNotes): Fault => {
    limit.clear();
    if (signal.aborted && !limit.expired()) return new Fault('aborted', { cause, notes: { agent, ...notes } });
    return new Fault('agent_down', {
      detail: limit.expired() ? 'it took too long' : 'it cannot be reached',
      cause,
      notes: { agent, ...notes },
    });
  };
  if (signal.aborted) throw lost(signal.reason, { sent: false });
  if (request.knock && isLoopback(url) && !(await request.knock(url))) throw lost(undefined, { sent: false });

  let response: Response;
  try {
    response = await fetch(url, { ...request.init, headers: headersFor(url, request), redirect: 'manual', signal });
  } catch (thrown) {
    throw lost(thrown, { sent: !isUnsent(thrown) });
  }
  if (response.status >= 300 && response.status < 400) {
    limit.clear();
    await response.body?.cancel();
    throw statusFault(response.status, null, agent);
  }
  const headers = new Headers();
  for (const name of ['content-type', 'retry-after', 'cache-control']) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (!response.body) limit.clear();
  const body =
    response.body && bounded(response.body, request.maxBytes, agent, (cause) => lost(cause, { sent: true, cut: true }), limit.clear);
  return new Response(body, { status: response.status, headers });
}

function headersFor(url: URL, { source, init }: Outgoing): Headers {
  const home = source && callable(source.url);
  const headers = new Headers(home && sameOrigin(url, home) ? source.headers : {});
  new Headers(init.headers).forEach((value, name) => {
    headers.set(name, value);
  });
  return headers;
}

function isUnsent(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'code' in cause && unsentCodes.has(String(cause.code));
}

/** The same bytes, at most so many; what goes wrong on the way becomes a Fault. `over` is called when no more are wanted. */
function bounded(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  agent: string,
  lost: (cause: unknown) => Fault,
  over: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            over();
            return controller.close();
          }
          bytes += value.byteLength;
          if (bytes <= maxBytes) return controller.enqueue(value);
        } catch (thrown) {
          return controller.error(lost(thrown));
        }
        controller.error(
          new Fault('agent_invalid', { detail: `it answered with more than ${maxBytes} bytes`, notes: { agent, sent: true } }),
        );
        over();
        await reader.cancel();
      },
      cancel: (reason) => {
        over();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

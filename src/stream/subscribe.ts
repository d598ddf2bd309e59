// Listening to a Conversation object, as bytes for a client or as values for an adapter. Effects: calls to the Conversation objects, a timer.

import type { ConversationId, IntentionId } from '../intention/message.ts';
import type { Subscriptions } from '../world.ts';
import { decode } from './decode.ts';
import type { StreamEvent } from './event.ts';
import { finalStatus } from './final.ts';
import { until } from './until.ts';

/** The first pause after a connection that brought nothing is twice this; they grow. */
const retryMs = 500;
const maxRetryMs = 30_000;

/**
 * `objectOf` answers `GET https://conversation/<id>?after=&intention=&message=` with an event stream, or with a problem.
 * A stream of events goes on over connections: the object lets every reader go after a while, and may move.
 */
export function subscriptions(objectOf: (conversation: string) => { fetch(url: string): Promise<Response> }): Subscriptions {
  const open = (conversation: ConversationId, after: number, intention: IntentionId | null, message: number) => {
    const url = new URL(`https://conversation/${conversation}`);
    url.searchParams.set('after', String(after));
    if (intention !== null) {
      url.searchParams.set('intention', intention);
      url.searchParams.set('message', String(message));
    }
    return objectOf(conversation).fetch(url.href);
  };
  return {
    watch: (conversation, after, follow) => open(conversation, after, follow, after + 1),
    async *events(conversation, after, follow, forMs) {
      const filter = until(follow, after + 1);
      const limit = AbortSignal.timeout(forMs);
      let seq = after;
      let failures = 0;
      for (let ended = false; !ended && !limit.aborted; ) {
        const response = await open(conversation, seq, filter.intention(), after + 1).catch(() => null);
        if (response && !response.ok && response.status < 500) return;
        failures += 1;
        try {
          for await (const event of response?.ok && response.body ? read(response.body, limit) : []) {
            failures = 0;
            const verdict = filter.take(event);
            if (verdict !== 'hide') yield event;
            if (verdict === 'last') return;
            if (event.kind !== 'message') continue;
            seq = Math.max(seq, event.data.seq);
            // Its status follows at once, unless the connection breaks just here.
            ended ||= event.data.intention_id === filter.intention() && finalStatus(event.data) !== null;
          }
        } catch {
          // The time is up, or the connection is gone: what was missed is in Postgres.
        }
        if (!ended && !limit.aborted && failures > 0) await pause(Math.min(maxRetryMs, retryMs * 2 ** failures), limit);
      }
    },
  };
}

function read(body: ReadableStream<Uint8Array>, limit: AbortSignal): AsyncIterable<StreamEvent> {
  return decode(body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal: limit }));
}

function pause(ms: number, limit: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const timer = setTimeout(end, ms);
  limit.addEventListener('abort', end, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    limit.removeEventListener('abort', end);
  });
}

// Listening to a Conversation object, as bytes for a client or as values for an adapter. Effects: calls to the Conversation objects.

import type { Subscriptions } from '../world.ts';
import { decode } from './decode.ts';

/** `objectOf` answers `GET https://conversation/<id>?after=&intention=` with an event stream, or with a problem. */
export function subscriptions(objectOf: (conversation: string) => { fetch(url: string): Promise<Response> }): Subscriptions {
  const watch: Subscriptions['watch'] = (conversation, after, follow) => {
    const url = new URL(`https://conversation/${conversation}`);
    url.searchParams.set('after', String(after));
    if (follow !== null) url.searchParams.set('intention', follow);
    return objectOf(conversation).fetch(url.href);
  };
  return {
    watch,
    async *events(conversation, after, follow, forMs) {
      const response = await watch(conversation, after, follow);
      if (!response.ok || !response.body) return;
      const limit = AbortSignal.timeout(forMs);
      try {
        yield* decode(response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal: limit }));
      } catch (thrown) {
        // The time is up, or the object is gone: what was missed is in Postgres.
        if (!limit.aborted && !(thrown instanceof Error)) throw thrown;
      }
    },
  };
}

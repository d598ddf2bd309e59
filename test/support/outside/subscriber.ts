// A client that follows one conversation over as many connections as it takes, and shows text as the page does. Effects: HTTP.

import { setTimeout as pause } from 'node:timers/promises';
import type { EventSourceMessage } from 'eventsource-parser/stream';
import { z } from 'zod';
import { clientOf, frames, rowSchema } from '../client.ts';
import { type Delta, type View, viewOf } from './view.ts';

const deltaSchema: z.ZodType<Delta> = z.object({
  intention_id: z.string(),
  step: z.number(),
  call_id: z.string().nullable(),
  attempt: z.number(),
  offset: z.number(),
  text: z.string(),
});
export interface Subscriber {
  /** Every event with an id, in the order of coming: its id, and its bytes. */
  readonly events: readonly { readonly id: number; readonly data: string }[];
  readonly view: View;
  /** That were answered. */
  readonly connections: number;
  /** What a connection was refused with, other than by a service that is away. */
  readonly refusals: readonly string[];
  leave(): Promise<void>;
}

/** A pause after a connection that broke. */
const retryMs = 150;

/** From the beginning on; after that from the last id, by header. */
export function subscribe(origin: string, conversation: string): Subscriber {
  const leaving = new AbortController();
  const view = viewOf();
  const events: { readonly id: number; readonly data: string }[] = [];
  const refusals: string[] = [];
  let connections = 0;
  const take = ({ id, event, data }: EventSourceMessage) => {
    if (event === 'delta') view.text(deltaSchema.parse(JSON.parse(data)));
    if (event !== 'message') return;
    events.push({ id: Number(id), data });
    view.row(rowSchema.parse(JSON.parse(data)));
  };
  const client = clientOf(origin);
  const follow = async () => {
    while (!leaving.signal.aborted) {
      const last = events.at(-1)?.id;
      const headers = last === undefined ? {} : { 'last-event-id': `${last}` };
      const open = async () => {
        const response = await client.send(`/v1/conversations/${conversation}/events`, { headers, signal: leaving.signal });
        connections += 1;
        return response;
      };
      try {
        for await (const frame of frames(open)) take(frame);
      } catch (thrown) {
        if (thrown instanceof Error && thrown.message.startsWith('no stream')) refusals.push(thrown.message);
      }
      await pause(retryMs, undefined, { signal: leaving.signal }).catch(() => undefined);
    }
  };
  const following = follow();
  return {
    events,
    refusals,
    view,
    get connections() {
      return connections;
    },
    async leave() {
      leaving.abort();
      await following;
    },
  };
}

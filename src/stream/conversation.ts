// The Durable Object of one conversation: it fans out what was committed. Effects: streams, reads of Postgres; it stores nothing.

import { DurableObject } from 'cloudflare:workers';
import { bind } from '../bind.ts';
import { asFault, Fault, retryAfterSeconds, toProblem } from '../fault.ts';
import { conversationId, intentionId } from '../intention/message.ts';
import { eventStreamHeaders } from './body.ts';
import { type Broadcast, broadcast } from './broadcast.ts';
import type { StreamEvent } from './event.ts';
import { parseLastEventId } from './sse.ts';
import type { Held } from './texts.ts';

/** Often enough for proxies, and for a dead reader to show within two of them. */
const heartbeatMs = 15_000;

/** Named by the conversation's id. Losing it loses nothing: readers come back with the last id they saw. */
export class Conversation extends DurableObject<Env> {
  #broadcast: Broadcast | null = null;
  #heartbeat: ReturnType<typeof setInterval> | null = null;

  /** Shows committed rows, statuses and text to whoever listens. Answers how much of each text is held, so that the rest can follow. */
  publish(conversation: string, batch: readonly StreamEvent[]): readonly Held[] {
    return this.#of(conversation).publish(batch);
  }

  /** The conversation was deleted: everyone is let go. */
  close(): void {
    this.#broadcast?.close();
  }

  /**
   * `GET https://conversation/<id>?after=<seq>&intention=<id>&message=<seq>` answers with the event stream; with `intention`,
   * only with what belongs to that message (`after + 1` if not said), and ends with it. The caller has checked who asks.
   * Faults come as problems.
   */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const followed = searchParams.get('intention');
    const message = searchParams.get('message');
    try {
      if (pathname.length < 2) throw new Fault('not_found');
      const after = parseLastEventId(searchParams.get('after'));
      const seq = message === null ? after + 1 : parseLastEventId(message);
      const follow = followed === null ? null : { intention: intentionId(followed), seq };
      return new Response(await this.#of(pathname.slice(1)).subscribe(after, follow), { headers: eventStreamHeaders });
    } catch (thrown) {
      const fault = asFault(thrown);
      const problem = toProblem(fault);
      const seconds = retryAfterSeconds(fault);
      return Response.json(problem, {
        status: problem.status,
        headers: { 'content-type': 'application/problem+json', ...(seconds ? { 'retry-after': String(seconds) } : {}) },
      });
    }
  }

  #of(conversation: string): Broadcast {
    if (!this.#broadcast) {
      const { archive, clock } = bind(this.env);
      this.#broadcast = broadcast(conversationId(conversation), { archive, nowMs: clock.nowMs, onReaders: (count) => this.#pulse(count) });
    }
    return this.#broadcast;
  }

  /** A timer keeps the object awake, so it runs only while somebody listens. */
  #pulse(readers: number): void {
    if (readers > 0) {
      this.#heartbeat ??= setInterval(() => void this.#broadcast?.beat(), heartbeatMs);
    } else if (this.#heartbeat) {
      clearInterval(this.#heartbeat);
      this.#heartbeat = null;
    }
  }
}

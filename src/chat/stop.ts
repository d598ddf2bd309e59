// An intention stopped by its caller: durable at once, its work aborted soon after. Effects: through the ports.

import { Fault } from '../fault.ts';
import { armAheadMs } from '../intention/limits.ts';
import type { ConversationId, IntentionId, OwnerId } from '../intention/message.ts';
import type { Stopped } from '../intention/rules.ts';
import { messageEvent } from '../stream/event.ts';
import type { World } from '../world.ts';

/** What is told of one that has ended: how, and that it has. */
export type Ended = Stopped & { readonly status: NonNullable<Stopped['status']> };

/**
 * Ends the intention once; a repeat changes nothing and tells how it ended. Its model call and streams are aborted, and
 * its tasks canceled by their own Runners. Throws Fault `not_found`, `database_down`.
 */
export async function stopIntention(world: World, owner: OwnerId, conversation: ConversationId, intention: IntentionId): Promise<Ended> {
  // A crash after the commit finds this alarm, which wakes whoever is to cancel a task or has its turn now.
  await world.runner.arm(`intention:${intention}`, armAheadMs);
  const stopped = await world.ledger.stop(owner, conversation, intention);
  const { status, message } = stopped;
  if (status === null) throw new Fault('not_found');
  if (message) {
    world.stream.publish(conversation, [
      { kind: 'message', data: messageEvent(message) },
      { kind: 'status', data: { intention_id: intention, status } },
    ]);
  }
  await Promise.allSettled([
    ...stopped.stop.map((name) => world.runner.stop(name)),
    ...stopped.wake.map((name) => world.runner.kick(name)),
  ]);
  return { ...stopped, status };
}

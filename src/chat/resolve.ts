// What the user decides of a call whose outcome nobody knows: look again, ask again, or leave it. Effects: through the ports.

import { Fault } from '../fault.ts';
import { type Call, type CallState, questionStates } from '../intention/call.ts';
import { conclude } from '../intention/conclude.ts';
import { armAheadMs } from '../intention/limits.ts';
import { type CallId, type ConversationId, messageId, type OwnerId } from '../intention/message.ts';
import type { Accepted } from '../intention/rules.ts';
import { languageOf } from '../plan/language.ts';
import { messageEvent } from '../stream/event.ts';
import type { World } from '../world.ts';
import { post } from './post.ts';
import type { ResolveAction } from './schema.ts';

type Receipt = Extract<Accepted, { kind: 'accepted' }>;
type Idempotency = { readonly key: string; readonly bodyHash: string } | null;

/** `accepted`: of `retry`, the message that says so. */
export interface Resolved {
  readonly state: CallState;
  readonly accepted: Receipt | null;
}

/**
 * `check` has the call's Runner look for the task once more; what it finds comes as a row. `retry` posts a message on
 * which the same query is made again as a new call. `leave` closes the call: the intention goes on without it.
 * Repeats do nothing twice. Throws Fault `not_found`, `question_closed` when nobody is in doubt about the call any more,
 * `idempotency_key_reused`, `database_down`.
 */
export async function resolve(
  world: World,
  owner: OwnerId,
  conversation: ConversationId,
  id: CallId,
  action: ResolveAction,
  idempotency: Idempotency,
): Promise<Resolved> {
  const call = await world.archive.call(owner, conversation, id);
  if (!call) throw new Fault('not_found');
  // The first of two equal requests has closed the question; the second gets the first's receipt.
  const repeat = action === 'retry' && idempotency !== null && !questionStates.some((state) => state === call.state);
  if (call.state !== 'unknown' && !repeat) throw new Fault('question_closed', { detail: 'Nobody is in doubt about this call' });
  switch (action) {
    case 'check':
      return check(world, call);
    case 'retry':
      return { state: call.state, accepted: await retry(world, owner, call, idempotency) };
    case 'leave':
      return leave(world, call);
  }
}

async function check(world: World, call: Call): Promise<Resolved> {
  await world.runner.arm(`call:${call.id}`, armAheadMs);
  if ((await world.ledger.poke(call.id, null)) === null) throw new Fault('question_closed');
  // Armed: a kick that fails costs a delay.
  await world.runner.kick(`call:${call.id}`).catch(() => undefined);
  return { state: call.state, accepted: null };
}

function retry(world: World, owner: OwnerId, call: Call, idempotency: Idempotency): Promise<Receipt> {
  const content = languageOf(call.query) === 'zh' ? '再试一次。' : 'Try again.';
  const message = { content, parts: [], answerTo: call.id, onBusy: 'enqueue', agents: undefined, resolve: 'retry' } as const;
  // The body does not say which call is meant; the path does.
  const named = idempotency && { key: idempotency.key, bodyHash: `${call.id} ${idempotency.bodyHash}` };
  return post(world, owner, call.conversationId, message, named);
}

async function leave(world: World, call: Call): Promise<Resolved> {
  const closing = conclude(call, { kind: 'left' }, messageId(world.ids.next()));
  if (closing === null) throw new Fault('internal', { notes: { call: call.id } });
  // A crash after the commit finds this alarm.
  await world.runner.arm(`intention:${call.intentionId}`, armAheadMs);
  const { message, status, wake } = await world.ledger.observe(call, closing);
  if (message === null) throw new Fault('question_closed');
  world.stream.publish(call.conversationId, [
    { kind: 'message', data: messageEvent(message) },
    { kind: 'status', data: { intention_id: call.intentionId, status } },
  ]);
  await Promise.allSettled(wake.map((name) => world.runner.kick(name)));
  return { state: closing.state, accepted: null };
}

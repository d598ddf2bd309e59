// A posted message on its way into the ledger: arm, write, publish, kick. Effects: through the ports.

import { Fault } from '../fault.ts';
import { armAheadMs } from '../intention/limits.ts';
import { type ConversationId, conversationId, messageId, type OwnerId } from '../intention/message.ts';
import type { Accepted, RunnerName } from '../intention/rules.ts';
import { messageEvent, type StreamEvent } from '../stream/event.ts';
import type { World } from '../world.ts';
import type { Posted } from './schema.ts';

const maxTitle = 80;

/**
 * Accepts a message, once per idempotency key. The Runner is armed first: a crash at any point leaves either nothing
 * or an alarm that finds the message, wherever it landed. A repeat is published and kicked again, which changes nothing.
 * Throws Fault `not_found`, `question_closed`, `conversation_busy`, `idempotency_key_reused`, `database_down`.
 */
export async function post(
  world: World,
  owner: OwnerId,
  conversation: ConversationId | null,
  message: Posted,
  idempotency: { readonly key: string; readonly bodyHash: string } | null,
): Promise<Extract<Accepted, { kind: 'accepted' }>> {
  const id = messageId(world.ids.next());
  const newConversationId = conversationId(world.ids.next());
  const items = await world.files.keep(owner, conversation ?? newConversationId, message.parts);
  const armed: RunnerName = `intention:${id}`;
  await world.runner.arm(armed, armAheadMs);
  const accepted = await world.ledger.accept({
    owner,
    conversation,
    newConversationId,
    messageId: id,
    content: message.content,
    parts: {
      ...(items.length > 0 ? { items } : {}),
      ...(message.answerTo === undefined ? {} : { answer_to: message.answerTo }),
      ...(message.agents ? { agents: message.agents } : {}),
      ...(message.resolve ? { resolve: message.resolve } : {}),
    },
    title: titleOf(message.content),
    answerTo: message.answerTo,
    onBusy: message.onBusy,
    idempotency: idempotency && { scope: conversation ?? 'new', ...idempotency },
  });
  switch (accepted.kind) {
    case 'no_conversation':
      throw new Fault('not_found');
    case 'question_closed':
      throw new Fault('question_closed');
    case 'busy':
      throw new Fault('conversation_busy');
    case 'key_reused':
      throw new Fault('idempotency_key_reused');
    case 'accepted':
      world.stream.publish(accepted.message.conversationId, [
        { kind: 'message', data: messageEvent(accepted.message) },
        { kind: 'status', data: { intention_id: accepted.intentionId, status: accepted.status } },
      ]);
      await Promise.all([wake(world, accepted, armed), tellStopped(world, owner, accepted)]);
      return accepted;
  }
}

/** The message is committed: a kick that fails costs the delay of the armed Runner, and is no fault of the caller's. */
async function wake(world: World, accepted: Extract<Accepted, { kind: 'accepted' }>, armed: RunnerName): Promise<void> {
  const target: RunnerName = `intention:${accepted.intentionId}`;
  const stops = (accepted.stopped?.stop ?? []).map((name) => world.runner.stop(name));
  const kicks = accepted.status === 'planning' ? [world.runner.kick(target)] : [];
  const woken = await Promise.allSettled([...stops, ...kicks]);
  if (woken.every((result) => result.status === 'fulfilled') && target !== armed) await world.runner.disarm(armed);
}

/** What was interrupted ended in the same transaction: its rows stand right before the message. One who misses them reads them back. */
async function tellStopped(world: World, owner: OwnerId, { message, stopped }: Extract<Accepted, { kind: 'accepted' }>): Promise<void> {
  const ended = (stopped?.stop ?? []).filter((name) => name.startsWith('intention:')).length;
  if (ended === 0) return;
  const page = { after: message.seq - 1 - ended, limit: ended };
  const rows = await world.archive.messages(owner, message.conversationId, page).catch(() => null);
  world.stream.publish(
    message.conversationId,
    (rows ?? []).flatMap((row): readonly StreamEvent[] => [
      { kind: 'message', data: messageEvent(row) },
      { kind: 'status', data: { intention_id: row.intentionId, status: 'canceled' } },
    ]),
  );
}

/** The first words of the first message. */
export function titleOf(content: string): string {
  const line = content.trim().replaceAll(/\s+/g, ' ');
  return line.length <= maxTitle ? line : `${line.slice(0, maxTitle - 1).toWellFormed()}…`;
}

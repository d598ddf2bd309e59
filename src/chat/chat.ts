// `POST /v1/chat`: the original service's route, one call for a whole conversation turn. Effects: through the ports.

import type { Context } from 'hono';
import { type ConversationId, conversationId } from '../intention/message.ts';
import { eventStreamHeaders, toBody } from '../stream/body.ts';
import { legacy } from './legacy.ts';
import { post } from './post.ts';
import { bodyOf } from './request.ts';
import type { Visit } from './routes.ts';
import { chatBody, maxMessageBytes } from './schema.ts';

/** As long as an intention may take that does not wait for the user; a client that leaves earlier cancels nothing. */
const maxStreamMs = 7 * 24 * 3_600_000;

/** An id that is missing, unknown or none of the caller's makes a new conversation, as the original does. */
export async function chat({ world, owner }: Visit, context: Context): Promise<Response> {
  const { body } = await bodyOf(context.req.raw, chatBody, maxMessageBytes);
  const known = await knownConversation({ world, owner }, body.conversation_id ?? null);
  const message = { content: body.query, parts: [], answerTo: undefined, onBusy: 'enqueue', agents: undefined } as const;
  const accepted = await post(world, owner, known, message, null);
  const conversation = accepted.message.conversationId;
  const events = world.subscriptions.events(conversation, accepted.message.seq - 1, accepted.intentionId, maxStreamMs);
  // In a new conversation nothing is open that the message could belong to instead.
  const start = { conversationId: conversation, intentionId: accepted.intentionId, settled: known === null };
  return new Response(toBody(legacy(events, start)), { headers: eventStreamHeaders });
}

async function knownConversation({ world, owner }: Visit, id: string | null): Promise<ConversationId | null> {
  if (id === null || !/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(id)) return null;
  return (await world.archive.conversation(owner, conversationId(id.toLowerCase())))?.id ?? null;
}

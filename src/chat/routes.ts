// The native routes: conversations, messages, events, files. Effects: through the ports.

import type { Context } from 'hono';
import { z } from 'zod';
import { probe } from '../agent/probe.ts';
import { Fault } from '../fault.ts';
import { isParked, isTerminal } from '../intention/intention.ts';
import {
  type ConversationId,
  callId,
  conversationId,
  fileId,
  type IntentionId,
  intentionId,
  type Message,
  type OwnerId,
} from '../intention/message.ts';
import type { Accepted } from '../intention/rules.ts';
import { callEvent, messageEvent } from '../stream/event.ts';
import { parseLastEventId } from '../stream/sse.ts';
import type { ConversationSummary, Registry, World } from '../world.ts';
import { post, titleOf } from './post.ts';
import { bodyOf, callerOf, cursorFor, cursorOf, idempotencyKeyOf, idOf, limitOf } from './request.ts';
import { resolve } from './resolve.ts';
import { conversationBody, maxMessageBytes, messageBody, type Posted, posted, probeBody, resolveBody } from './schema.ts';
import { stopIntention } from './stop.ts';

/** What a route gets: the world of this invocation, and who calls. */
export interface Visit {
  readonly world: World;
  readonly owner: OwnerId;
}

export const visitOf = (world: World, request: Request): Visit => ({ world, owner: callerOf(request, world.settings) });

/** `POST /v1/conversations`: opened with a message, or empty. */
export async function createConversation({ world, owner }: Visit, context: Context): Promise<Response> {
  const { body, hash } = await bodyOf(context.req.raw, conversationBody, maxMessageBytes);
  if (body !== null) return say({ world, owner }, context, null, posted(body), hash);
  const id = conversationId(world.ids.next());
  await world.ledger.open(owner, id, titleOf(''));
  return context.json({ conversation_id: id, events_url: `/v1/conversations/${id}/events` }, 201);
}

/** `POST /v1/conversations/:id/messages`. */
export async function postMessage(visit: Visit, context: Context): Promise<Response> {
  const id = idOf(context.req.param('id'), conversationId);
  const { body, hash } = await bodyOf(context.req.raw, messageBody, maxMessageBytes);
  return say(visit, context, id, posted(body), hash);
}

/** 202 with ids; with `Accept: text/event-stream` this intention's events, to their end; with `?wait=` seconds its answer, if it comes in time. */
async function say({ world, owner }: Visit, context: Context, id: ConversationId | null, message: Posted, hash: string): Promise<Response> {
  const wait = context.req.query('wait');
  if (wait !== undefined && !/^([1-9]|1\d|2[0-5])$/.test(wait))
    throw new Fault('invalid_request', { detail: 'wait is a number of seconds from 1 to 25' });
  const key = idempotencyKeyOf(context.req.raw);
  const accepted = await post(world, owner, id, message, key === null ? null : { key, bodyHash: hash });
  if (context.req.header('accept')?.includes('text/event-stream'))
    return world.subscriptions.watch(accepted.message.conversationId, accepted.message.seq - 1, accepted.intentionId);
  if (wait !== undefined) return answerWithin(world, owner, accepted, Number(wait) * 1000);
  return Response.json(receipt(accepted), { status: 202, headers: accepted.repeated ? { 'idempotency-replayed': 'true' } : {} });
}

type Receipt = Extract<Accepted, { kind: 'accepted' }>;

const receipt = ({ message, intentionId: intention }: Receipt) => ({
  conversation_id: message.conversationId,
  message_id: message.id,
  intention_id: intention,
  seq: message.seq,
  events_url: `/v1/conversations/${message.conversationId}/events`,
});

async function answerWithin(world: World, owner: OwnerId, accepted: Receipt, waitMs: number): Promise<Response> {
  let id = accepted.intentionId;
  for await (const event of world.subscriptions.events(
    accepted.message.conversationId,
    accepted.message.seq - 1,
    accepted.intentionId,
    waitMs,
  )) {
    if (event.kind === 'message') id = event.data.role === 'user' ? id : event.data.intention_id;
  }
  const intention = await world.archive.intention(owner, accepted.message.conversationId, id);
  const last = intention?.last;
  return Response.json({
    ...receipt(accepted),
    intention_id: id,
    status: intention?.status ?? 'planning',
    ...(last && last.role === 'assistant' ? { answer: last.content } : {}),
    ...(last && intention && isParked(intention.status)
      ? { question: { call_id: last.callId, agent: last.agent, content: last.content } }
      : {}),
  });
}

/** `GET /v1/conversations`: newest first. */
export async function listConversations({ world, owner }: Visit, context: Context): Promise<Response> {
  const limit = limitOf(context.req.query('limit'), 100, 20);
  const before = cursorOf(context.req.query('cursor'), z.strictObject({ atMs: z.number(), id: z.uuid() }));
  const rows = await world.archive.conversations(owner, { before, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return context.json({
    data: page.map(summary),
    has_more: rows.length > limit,
    next_cursor: rows.length > limit && last ? cursorFor({ atMs: last.updatedAtMs, id: last.id }) : null,
  });
}

const summary = (row: ConversationSummary) => ({
  id: row.id,
  title: row.title,
  last_seq: row.lastSeq,
  created_at: new Date(row.createdAtMs).toISOString(),
  updated_at: new Date(row.updatedAtMs).toISOString(),
});

/** `GET /v1/conversations/:id`, with the intentions that are not over. */
export async function getConversation({ world, owner }: Visit, context: Context): Promise<Response> {
  const found = await owned(world, owner, context);
  const { open } = await world.archive.replay(found.id, found.lastSeq, 1);
  return context.json({
    ...summary(found),
    open: open.map((intention) => ({ intention_id: intention.intentionId, status: intention.status })),
  });
}

async function owned(world: World, owner: OwnerId, context: Context): Promise<ConversationSummary> {
  const found = await world.archive.conversation(owner, idOf(context.req.param('id'), conversationId));
  if (!found) throw new Fault('not_found');
  return found;
}

/** `DELETE /v1/conversations/:id`: rows, files and keys are gone; what was at work is aborted. */
export async function deleteConversation({ world, owner }: Visit, context: Context): Promise<Response> {
  const id = idOf(context.req.param('id'), conversationId);
  const atWork = await world.archive.remove(owner, id);
  if (atWork === null) throw new Fault('not_found');
  world.stream.close(id);
  await Promise.allSettled(atWork.map((name) => world.runner.stop(name)));
  return context.body(null, 204);
}

/** `GET /v1/conversations/:id/messages`: ascending seq, content whole. The cursor is a seq. */
export async function listMessages({ world, owner }: Visit, context: Context): Promise<Response> {
  const id = idOf(context.req.param('id'), conversationId);
  const limit = limitOf(context.req.query('limit'), 200, 50);
  const after = cursorOf(context.req.query('cursor'), z.number().int().nonnegative()) ?? 0;
  const rows = await world.archive.messages(owner, id, { after, limit: limit + 1 });
  if (rows === null) throw new Fault('not_found');
  const page = rows.slice(0, limit);
  const more = rows.length > limit;
  return context.json({ data: page.map(whole), has_more: more, next_cursor: more ? cursorFor(page.at(-1)?.seq ?? 0) : null });
}

const whole = (message: Message) => ({ ...messageEvent(message), content: message.content });

/** `GET /v1/conversations/:id/events`: every intention's, from `Last-Event-ID` (the header wins over `?after=`) on. */
export async function streamEvents({ world, owner }: Visit, context: Context): Promise<Response> {
  const after = parseLastEventId(context.req.header('last-event-id') ?? context.req.query('after') ?? null);
  const found = await owned(world, owner, context);
  return world.subscriptions.watch(found.id, Math.min(after, found.lastSeq), null);
}

const intentionOf = (context: Context): IntentionId => idOf(context.req.param('intention'), intentionId);

/** `GET /v1/conversations/:id/intentions/:intention`, with its calls in the order of their making. */
export async function getIntention({ world, owner }: Visit, context: Context): Promise<Response> {
  const id = idOf(context.req.param('id'), conversationId);
  const intention = intentionOf(context);
  const [found, calls] = await Promise.all([world.archive.intention(owner, id, intention), world.archive.calls(owner, id, intention)]);
  if (!found) throw new Fault('not_found');
  return context.json({
    id: found.id,
    status: found.status,
    step: found.step,
    last: found.last ? messageEvent(found.last) : null,
    calls: calls.map((call) => {
      const { call_id, agent, state, cancel } = callEvent(call);
      return { call_id, agent, step: call.step, state, query: call.query, attempts: call.attempts, cancel, error: call.error };
    }),
  });
}

/** `POST /v1/conversations/:id/intentions/:intention/cancel`: durable, and the same answer each time. */
export async function cancelIntention({ world, owner }: Visit, context: Context): Promise<Response> {
  const intention = intentionOf(context);
  const { status } = await stopIntention(world, owner, idOf(context.req.param('id'), conversationId), intention);
  return context.json({ id: intention, status, ended: isTerminal(status) });
}

/** `POST /v1/conversations/:id/calls/:callId/resolve`: 202 while something is still to come of it, 200 when it is left. */
export async function resolveCall({ world, owner }: Visit, context: Context): Promise<Response> {
  const id = idOf(context.req.param('id'), conversationId);
  const call = idOf(context.req.param('callId'), callId);
  const { body, hash } = await bodyOf(context.req.raw, resolveBody, maxMessageBytes);
  const key = idempotencyKeyOf(context.req.raw);
  const { state, accepted } = await resolve(world, owner, id, call, body.action, key === null ? null : { key, bodyHash: hash });
  return Response.json(
    { call_id: call, action: body.action, state, ...(accepted ? receipt(accepted) : {}) },
    { status: body.action === 'leave' ? 200 : 202, headers: accepted?.repeated ? { 'idempotency-replayed': 'true' } : {} },
  );
}

/** `GET /v1/files/:id`: always a download, whatever its type says. */
export async function getFile({ world, owner }: Visit, context: Context): Promise<Response> {
  const file = await world.files.read(owner, idOf(context.req.param('id'), fileId));
  if (!file) throw new Fault('not_found');
  return new Response(new Uint8Array(file.bytes), {
    headers: {
      'content-type': /^[\w.+-]+\/[\w.+-]+$/.test(file.mediaType) ? file.mediaType : 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.name.toWellFormed() || 'file')}`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, max-age=31536000, immutable',
    },
  });
}

/** `GET /v1/agents`: what the planner may choose from, read again where it is stale, and what is wrong with the sources. */
export async function listAgents({ world }: Visit, context: Context): Promise<Response> {
  const { agents, errors } = await freshAgents(world);
  const nowMs = world.clock.nowMs();
  return context.json({
    data: agents.map(({ name, card, deduplicates, downUntilMs }) => ({
      name,
      description: card.description,
      version: card.version,
      streaming: card.streaming,
      push_notifications: card.pushNotifications,
      skills: card.skills,
      deduplicates,
      down_until: downUntilMs !== null && downUntilMs > nowMs ? new Date(downUntilMs).toISOString() : null,
    })),
    has_more: false,
    next_cursor: null,
    errors: errors.map((error) => ({ origin: new URL(error.source).origin, error: error.error })),
  });
}

async function freshAgents(world: World): Promise<Registry> {
  const known = await world.ledger.agents();
  if (known.staleSources.length === 0) return known;
  await world.ledger.keepAgents(await world.agents.read(known.staleSources));
  return world.ledger.agents();
}

/**
 * `POST /v1/agents/:agent/probe`: sends the text to that agent twice, under one messageId, and keeps whether it was one
 * task. What the text asks for may be done twice. The agent's name is URL-encoded, since it may hold a slash.
 */
export async function probeAgent({ world, owner }: Visit, context: Context): Promise<Response> {
  const { body } = await bodyOf(context.req.raw, probeBody, maxMessageBytes);
  const name = context.req.param('agent');
  const agent = (await freshAgents(world)).agents.find((known) => known.name === name);
  if (!agent) throw new Fault('not_found');
  const { deduplicates, taskIds, reason } = await probe(world, owner, agent, body.text);
  return context.json({ agent: agent.name, deduplicates, task_ids: taskIds, ...(reason === null ? {} : { reason }) });
}

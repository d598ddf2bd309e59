// The users of a house: what they say in their conversations, answer when asked, and stop. They repeat what was not taken. Effects: the house.

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '../../../src/chat/post.ts';
import { resolve } from '../../../src/chat/resolve.ts';
import { stopIntention } from '../../../src/chat/stop.ts';
import { asFault } from '../../../src/fault.ts';
import { type CallId, type ConversationId, callId, conversationId, intentionId, type MessageId } from '../../../src/intention/message.ts';
import type { OnBusy } from '../../../src/intention/rules.ts';
import { owner } from '../ledger.ts';
import { type House, patiently } from './house.ts';
import { type Plot, storyOf } from './outside.ts';

/** The longest that a user takes from one message to the next. */
const maxPauseMs = 12_000;
/** A question that is still open after this is answered again. */
const answerAgainMs = 3_000;

/** What users begin with; who strays speaks of something else in between. */
const firstPlots: readonly Plot[] = ['one', 'turns', 'both', 'poll', 'asks', 'strays', 'stop', 'doubt', 'twice'];

export interface Users {
  /** Of every message that was accepted, its words. */
  readonly accepted: ReadonlyMap<MessageId, string>;
  /** All of them say what they have to say. */
  speak(): Promise<void>;
  /** One look at what is asked now. */
  answer(): Promise<void>;
  /** One look at what is at work and is to be stopped. */
  stop(): Promise<void>;
}

interface Question extends Record<string, unknown> {
  readonly call: string;
  readonly conversation: string;
  readonly state: string;
  readonly query: string;
  readonly first: string;
}

/** So many messages over so many conversations, each with a plot; most wait their turn. */
export function usersOf({ world, query }: House, random: () => number, messages: number, conversations: number): Users {
  const accepted = new Map<MessageId, string>();
  const strayed = new Set<string>();
  const answered = new Map<string, number>();

  const say = async (conversation: ConversationId | null, words: string, key: string, onBusy: OnBusy, answerTo?: CallId | null) => {
    const message = { content: words, parts: [], answerTo, onBusy, agents: undefined };
    const idempotency = { key, bodyHash: createHash('sha256').update(words).digest('hex') };
    const receipt = await patiently(() => post(world, owner, conversation, message, idempotency));
    accepted.set(receipt.message.id, words);
    return receipt.message.conversationId;
  };

  const converse = async (first: number) => {
    let conversation: ConversationId | null = null;
    for (let number = first; number < messages; number += conversations) {
      await pause(random() * maxPauseMs);
      const chance = random();
      const onBusy = chance < 0.15 ? 'parallel' : chance < 0.2 ? 'interrupt' : 'enqueue';
      const words = `${firstPlots[number % firstPlots.length] ?? 'one'} #s${number}`;
      conversation = await say(conversation, words, `say-${number}`, onBusy, conversation === null ? undefined : null);
    }
  };

  const answerOne = async ({ call, conversation, state, query: asked, first }: Question) => {
    const story = storyOf(asked);
    const before = answered.get(call) ?? 0;
    if (!story || Date.now() - before < answerAgainMs) return;
    const where = conversationId(conversation);
    if (first.startsWith('strays') && state !== 'unknown' && !strayed.has(call)) {
      strayed.add(call);
      await say(where, `aside #${story.id}`, `aside-${call}`, 'enqueue');
      return;
    }
    answered.set(call, Date.now());
    const leave = () => resolve(world, owner, where, callId(call), 'leave', { key: `leave-${call}`, bodyHash: 'leave' });
    if (state === 'unknown') await patiently(leave);
    else await say(where, `answer #${story.id}`, `answer-${call}-${before}`, 'enqueue', callId(call));
  };

  return {
    accepted,
    speak: async () => {
      await Promise.all(Array.from({ length: conversations }, (_, place) => converse(place)));
    },
    answer: async () => {
      const open = await query<Question>(`select q.id as call, q.conversation_id as conversation, q.state,
          (select m.content from message m where m.call_id = q.id and m.type = 'query') as query,
          (select m.content from message m where m.id = q.intention_id) as first
        from call q join intention i on i.id = q.intention_id
        where q.state in ('input_required', 'unknown') and i.status in ('input_required', 'auth_required')`);
      for (const question of open)
        await answerOne(question).catch((thrown: unknown) => {
          // It was closed in the meantime.
          if (asFault(thrown).code !== 'question_closed') throw thrown;
        });
    },
    stop: async () => {
      const found = await query<{ readonly id: string; readonly conversation: string }>(
        `select i.id, i.conversation_id as conversation from intention i join message m on m.id = i.id where i.status = 'calling' and m.content like 'stop #%'`,
      );
      for (const { id, conversation } of found)
        await patiently(() => stopIntention(world, owner, conversationId(conversation), intentionId(id)));
    },
  };
}

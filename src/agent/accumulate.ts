// Folds the events of one stream into what the caller hears: the task's id, text as it comes, and the reply. Pure.

import * as a2a from '@a2a-js/sdk';
import { cut, usableId } from './clean.ts';
import { maxText, needsBreak, textOf } from './part.ts';
import { type AgentEvent, messageIdsOf, messageReply, replyState, statusFingerprint, turnMessages, viewReply } from './reply.ts';

/** Which turn of a task is being listened to. */
export interface Turn {
  /** Of the message that we sent. */
  readonly messageId: string;
  /** What the task looked like before it, when it answers a question: an equal status is still the old one. */
  readonly staleFingerprint: string | null;
}

interface Artifact {
  readonly id: string;
  wire: a2a.Artifact;
  /** Its text as far as it was told. */
  text: string;
}

/**
 * `bound` once, when the task's id is known; `text` for each new piece of the answer (never for a question or a failure); `reply` last, at the first message or
 * state that is over or a question. A source that ends before yields none. Tolerated: updates before any task, chunks of an
 * artifact never begun, snapshots and messages repeated, messages that grow. Throws what the source throws.
 */
export async function* accumulate(source: AsyncIterable<a2a.StreamResponse>, turn: Turn): AsyncGenerator<AgentEvent, void, undefined> {
  let taskId: string | null = null;
  let contextId: string | null = null;
  let status: a2a.TaskStatus | undefined;
  const artifacts = new Map<string, Artifact>();
  const messages = new Map<string, a2a.Message>();
  const messageIds = new Set<string>();
  const spoken = speaker();

  const hear = (message: a2a.Message | undefined): string => {
    if (message === undefined || message.role === a2a.Role.ROLE_USER) return '';
    const text = textOf({ kind: 'message', parts: message.parts });
    const source = message.messageId === '' ? null : `message ${message.messageId}`;
    // Messages without an id are the same when they say the same.
    const key = source ?? `text ${text}`;
    const known = messages.get(key);
    const former = known ? textOf({ kind: 'message', parts: known.parts }) : '';
    // Some send one message again and again while it grows.
    if (known !== undefined && !text.startsWith(former)) return '';
    messages.set(key, message);
    return spoken.say(text.slice(former.length), source);
  };

  const take = (wire: a2a.Artifact, append: boolean): string => {
    const known = artifacts.get(wire.artifactId);
    const text = textOf({ kind: 'artifact', parts: wire.parts });
    if (known === undefined) {
      artifacts.set(wire.artifactId, { id: wire.artifactId, wire: { ...wire, parts: [...wire.parts] }, text });
      return spoken.say(text, wire.artifactId);
    }
    if (append) {
      known.wire.parts.push(...wire.parts);
      known.text += text;
      return spoken.say(text, known.id);
    }
    const repeated = text.startsWith(known.text);
    const news = repeated ? text.slice(known.text.length) : text;
    known.wire = { ...wire, parts: [...wire.parts] };
    known.text = text;
    return spoken.say(news, repeated ? known.id : null);
  };

  /** The pieces of text that an event brings. */
  const absorb = (payload: Exclude<a2a.StreamResponse['payload'], undefined | { $case: 'message' }>): readonly string[] => {
    switch (payload.$case) {
      case 'task': {
        const task = payload.value;
        for (const id of messageIdsOf(task)) messageIds.add(id);
        if (isStale(task.status)) return [];
        status = task.status;
        return [...task.artifacts.map((artifact) => take(artifact, false)), ...turnMessages(task, turn.messageId).map(hear)];
      }
      case 'statusUpdate':
        if (isStale(payload.value.status)) return [];
        status = payload.value.status;
        return [hear(status?.message)];
      case 'artifactUpdate':
        return payload.value.artifact ? [take(payload.value.artifact, payload.value.append)] : [];
    }
  };

  const isStale = (seen: a2a.TaskStatus | undefined) => turn.staleFingerprint !== null && statusFingerprint(seen) === turn.staleFingerprint;

  for await (const { payload } of source) {
    if (payload === undefined) continue;
    if (payload.$case === 'message') {
      const reply = messageReply(payload.value);
      const text = spoken.say(reply.content, null);
      if (text !== '') yield { kind: 'text', text };
      yield { kind: 'reply', reply };
      return;
    }
    const id = usableId(payload.$case === 'task' ? payload.value.id : payload.value.taskId);
    contextId = usableId(payload.value.contextId) ?? contextId;
    if (taskId === null && id !== null) {
      taskId = id;
      yield { kind: 'bound', taskId, contextId };
    }
    const text = absorb(payload).join('');
    const state = replyState(status?.state);
    // A question or a failure is no piece of an answer: its reply, next, says it whole.
    if (text !== '' && (state === 'working' || state === 'completed')) yield { kind: 'text', text };
    if (state !== 'working') {
      const view = { taskId, contextId, status, messages: [...messages.values()], messageIds: [...messageIds] };
      yield { kind: 'reply', reply: viewReply({ ...view, artifacts: [...artifacts.values()].map(({ wire }) => wire) }) };
      return;
    }
  }
}

/** Puts pieces of text one after the other: what does not go on from the same source begins a new line. */
function speaker(): { say(text: string, source: string | null): string } {
  let room = maxText;
  let former: string | undefined;
  let formerSource: string | null = null;
  return {
    say(text, source) {
      if (text === '' || room <= 0) return '';
      const goesOn = source !== null && source === formerSource;
      const piece = cut(!goesOn && needsBreak(former) ? `\n${text}` : text, room);
      room -= piece.length;
      former = text.slice(-1);
      formerSource = source;
      return piece;
    },
  };
}

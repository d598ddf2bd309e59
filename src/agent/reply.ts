// What an agent said, in our words, and the total mapping from the protocol's states to ours. Pure.

import * as a2a from '@a2a-js/sdk';
import { z } from 'zod';
import type { FilePart, Json, Part } from '../intention/message.ts';
import { cut, storableJson, usableId } from './clean.ts';
import { joinLines, maxText, readParts, type Said, textOf } from './part.ts';

/** A part as it came over the wire: bytes are not yet in the file table. */
export type RawPart =
  | Exclude<Part, FilePart>
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly name?: string; readonly media_type?: string; readonly metadata?: Json }
  | { readonly kind: 'link'; readonly url: string; readonly name?: string; readonly media_type?: string; readonly metadata?: Json };

export type ReplyState = 'working' | 'input_required' | 'auth_required' | 'completed' | 'failed' | 'canceled' | 'rejected';

/** All that is known of a task (or of a plain message: then `taskId` is null) at one moment. */
export interface AgentReply {
  readonly taskId: string | null;
  readonly contextId: string | null;
  readonly state: ReplyState;
  /** The text of the parts; of a failure, the agent's reason; may be empty. */
  readonly content: string;
  readonly parts: readonly RawPart[];
  /** The JSON schema of the answer that a question asks for. */
  readonly schema: Json | null;
  /** Of state, timestamp, status messageId and the text: equal fingerprints tell nothing new. */
  readonly fingerprint: string;
  /** The messageIds that the task's history holds. */
  readonly messageIds: readonly string[];
}

/** What arrives while a reply is read, in order. `text` appends to what is shown of this call; `reply` is last. */
export type AgentEvent =
  | { readonly kind: 'bound'; readonly taskId: string; readonly contextId: string | null }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reply'; readonly reply: AgentReply };

/** What is known of a task, gathered from one snapshot or from a stream. */
export interface TaskView {
  readonly taskId: string | null;
  readonly contextId: string | null;
  readonly status: a2a.TaskStatus | undefined;
  readonly artifacts: readonly a2a.Artifact[];
  /** The agent's messages of this turn in order, that of the status last; no messageId twice. */
  readonly messages: readonly a2a.Message[];
  readonly messageIds: readonly string[];
}

/** A snapshot's reply to the message that we sent as `messageId`. */
export function taskReply(task: a2a.Task, messageId: string): AgentReply {
  return viewReply({
    taskId: usableId(task.id),
    contextId: usableId(task.contextId),
    status: task.status,
    artifacts: task.artifacts,
    messages: turnMessages(task, messageId),
    messageIds: messageIdsOf(task),
  });
}

/**
 * The text is that of the artifacts and of the status message, unless the artifacts say it already; without artifacts, that of
 * all that the agent said in this turn: some give their answer piece by piece in the messages of status updates.
 */
export function viewReply(view: TaskView): AgentReply {
  const artifacts = view.artifacts
    .filter((artifact) => artifact.parts.length > 0)
    .map((artifact): Said => ({ kind: 'artifact', parts: artifact.parts }));
  const produced = artifacts.map(textOf);
  const final = view.status?.message;
  const messages = (artifacts.length === 0 ? view.messages : final ? [final] : [])
    .map((message): Said => ({ kind: 'message', parts: message.parts }))
    .filter((said) => !repeats(said, produced));
  return {
    taskId: view.taskId,
    contextId: view.contextId,
    state: replyState(view.status?.state),
    ...contentOf([...artifacts, ...messages], isQuestion(view.status?.state)),
    fingerprint: statusFingerprint(view.status),
    messageIds: view.messageIds,
  };
}

function repeats(said: Said, produced: readonly string[]): boolean {
  const text = textOf(said).trim();
  return said.parts.every((part) => part.content?.$case === 'text') && produced.some((known) => known.includes(text));
}

/** An agent may answer with a message alone, without any task. */
export function messageReply(message: a2a.Message): AgentReply {
  const said: Said = { kind: 'message', parts: message.parts };
  return {
    taskId: null,
    contextId: usableId(message.contextId),
    state: 'completed',
    ...contentOf([said], false),
    fingerprint: ['message', usableId(message.messageId) ?? '', hash(textOf(said))].join(' '),
    messageIds: [],
  };
}

/** The protocol's state in our words. What is not known to be over, or to be a question, is at work. Source: A2A v1.0 §4.1.3 TaskState. */
export function replyState(state: a2a.TaskState | undefined): ReplyState {
  switch (state) {
    case a2a.TaskState.TASK_STATE_COMPLETED:
      return 'completed';
    case a2a.TaskState.TASK_STATE_FAILED:
      return 'failed';
    case a2a.TaskState.TASK_STATE_CANCELED:
      return 'canceled';
    case a2a.TaskState.TASK_STATE_REJECTED:
      return 'rejected';
    case a2a.TaskState.TASK_STATE_INPUT_REQUIRED:
      return 'input_required';
    case a2a.TaskState.TASK_STATE_AUTH_REQUIRED:
      return 'auth_required';
    case a2a.TaskState.TASK_STATE_SUBMITTED:
    case a2a.TaskState.TASK_STATE_WORKING:
    case a2a.TaskState.TASK_STATE_UNSPECIFIED:
    case a2a.TaskState.UNRECOGNIZED:
    case undefined:
      return 'working';
  }
}

/**
 * What tells one status from another. Of the text only the status message counts: it is the same in a stream and in a
 * snapshot, while artifacts and history may be left out of either.
 */
export function statusFingerprint(status: a2a.TaskStatus | undefined): string {
  const message = status?.message;
  const text = message ? textOf({ kind: 'message', parts: message.parts }) : '';
  return [replyState(status?.state), usableId(status?.timestamp) ?? '', usableId(message?.messageId) ?? '', hash(text)].join(' ');
}

/** What the agent said after our message, and in the status; a history without our message tells nothing of this turn. */
export function turnMessages(task: a2a.Task, messageId: string): readonly a2a.Message[] {
  const ours = task.history.findIndex((message) => message.messageId === messageId);
  const later = ours === -1 ? [] : task.history.slice(ours + 1).filter((message) => message.role !== a2a.Role.ROLE_USER);
  const final = task.status?.message;
  if (final === undefined || final.role === a2a.Role.ROLE_USER) return later;
  return [...later.filter((message) => message.messageId === '' || message.messageId !== final.messageId), final];
}

export function messageIdsOf(task: a2a.Task): readonly string[] {
  return task.history.map(({ messageId }) => usableId(messageId)).filter((id) => id !== null);
}

function isQuestion(state: a2a.TaskState | undefined): boolean {
  const ours = replyState(state);
  return ours === 'input_required' || ours === 'auth_required';
}

/** A question's first data part that is a JSON schema is the form of its answer, and stands apart from the parts. */
function contentOf(said: readonly Said[], question: boolean): Pick<AgentReply, 'content' | 'parts' | 'schema'> {
  const parts = readParts(said);
  const form = question ? parts.find(isSchema) : undefined;
  return {
    content: cut(joinLines(said.map(textOf)), maxText),
    parts: parts.filter((part) => part !== form),
    schema: form ? storableJson(form.data) : null,
  };
}

const formSchema = z.looseObject({ type: z.literal('object'), properties: z.looseObject({}) });

function isSchema(part: RawPart): part is RawPart & { readonly kind: 'data' } {
  if (part.kind !== 'data') return false;
  if (part.media_type?.startsWith('application/schema+json')) return true;
  return formSchema.safeParse(part.data).success;
}

/** FNV-1a over UTF-16 units: tells texts apart, guards nothing. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let place = 0; place < text.length; place++) value = Math.imul(value ^ text.charCodeAt(place), 0x01000193);
  return (value >>> 0).toString(36);
}

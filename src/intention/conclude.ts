// What follows for a call from what was heard of it: the state it closes in, and its row. Pure.

import type { AgentReply } from '../agent/reply.ts';
import type { Fault } from '../fault.ts';
import { languageOf } from '../plan/language.ts';
import type { Call, Closing } from './call.ts';
import { staleAfterMs } from './limits.ts';
import { type MessageId, type MessageType, type NewMessage, type Part, planName } from './message.ts';

/** All that can end a call. `items` are the reply's parts, bytes already in the file table. */
export type Heard =
  | { readonly kind: 'reply'; readonly reply: AgentReply; readonly items: readonly Part[] }
  /** The agent, or the way to it, refused: nothing is at work there. */
  | { readonly kind: 'refused'; readonly fault: Fault }
  /** Time is up. */
  | { readonly kind: 'late' }
  /** The agent does not know the task any more. */
  | { readonly kind: 'lost' }
  /** The user lets go of what nobody can know. */
  | { readonly kind: 'left' }
  /** We are at fault: no try of ours came through. */
  | { readonly kind: 'broken'; readonly incidentId: string }
  /** It may or may not have happened. */
  | { readonly kind: 'unknown'; readonly error: string };

/** Null: nothing that closes the call. `id` is new with each attempt. */
export function conclude(call: Call, heard: Heard, id: MessageId): Closing | null {
  const zh = languageOf(call.query) === 'zh';
  const say = (english: string, chinese: string) => (zh ? chinese : english);
  const row = (type: MessageType, content: string, parts: NewMessage['parts'] = {}): NewMessage => ({
    id,
    step: call.step,
    ord: call.ord,
    role: 'agent',
    type,
    agent: call.agent,
    toAgent: null,
    reason: null,
    callId: call.id,
    content,
    parts,
    usage: null,
  });
  const failed = (content: string, error: string, outcome: Closing['outcome'], reached: boolean | null): Closing => ({
    state: 'failed',
    row: row('error', content),
    taskId: null,
    contextId: null,
    fingerprint: null,
    outcome,
    error,
    reached,
  });
  switch (heard.kind) {
    case 'refused': {
      const { code, notes } = heard.fault;
      const status = typeof notes['status'] === 'number' ? ` (HTTP ${notes['status']})` : '';
      const why =
        code === 'agent_down'
          ? say('it could not be reached', '无法连接')
          : code === 'agent_invalid'
            ? say('it answered with something that is not A2A', '它的回复不符合 A2A 协议')
            : say('it refused the request', '它拒绝了请求');
      return failed(
        say(`The agent failed: ${why}${status}.`, `该智能体失败：${why}${status}。`),
        `${code}${status}`,
        'rejected',
        code !== 'agent_down',
      );
    }
    case 'late':
      return failed(say('The agent did not finish in time.', '该智能体未能按时完成。'), 'deadline', 'ok', null);
    case 'lost':
      return failed(say('The agent no longer knows the task.', '该智能体已不再保留这个任务。'), 'task not found', 'ok', true);
    case 'left':
      return failed(
        say('Nobody knows whether this happened. It was left at that.', '无法得知它是否已经执行，已按您的意思不再追究。'),
        'left',
        'unknown',
        null,
      );
    case 'broken':
      return failed(
        say(
          `Something went wrong on our side (incident ${heard.incidentId}). Whether the agent has done it is not known.`,
          `服务内部出错（事件编号 ${heard.incidentId}），无法得知该智能体是否已经执行。`,
        ),
        'internal',
        'unknown',
        null,
      );
    case 'unknown':
      return {
        state: 'unknown',
        row: {
          ...row(
            'input_required',
            say(
              `I asked ${call.agent} "${call.query}" but never got a confirmation. It may or may not have happened. I did not try again. Shall I ask again, or leave it?`,
              `我向 ${call.agent} 发出了“${call.query}”，但没有得到确认。它可能已经执行，也可能没有。我没有重试。要再问一次，还是算了？`,
            ),
          ),
          agent: planName,
        },
        taskId: null,
        contextId: null,
        fingerprint: null,
        outcome: 'unknown',
        error: heard.error,
        reached: false,
      };
    case 'reply': {
      const { reply, items } = heard;
      const nothing = say('The agent finished without saying anything.', '该智能体已完成，但没有给出内容。');
      const silent = say('The agent gave no reason.', '该智能体没有说明原因。');
      const parts: NewMessage['parts'] = {
        ...(items.length > 0 ? { items } : {}),
        ...(reply.schema === null ? {} : { schema: reply.schema }),
      };
      const about = {
        taskId: reply.taskId,
        contextId: reply.contextId,
        fingerprint: reply.fingerprint,
        outcome: 'ok',
        error: null,
        reached: true,
      } as const;
      switch (reply.state) {
        case 'working':
          return null;
        case 'completed':
          return { state: 'completed', row: row('answer', reply.content || (items.length > 0 ? '' : nothing), parts), ...about };
        case 'failed':
        case 'rejected':
        case 'canceled':
          return { state: reply.state, row: row('error', reply.content || silent, parts), ...about, error: reply.state };
        case 'input_required':
          return {
            state: 'input_required',
            row: row('input_required', reply.content || say('The agent asks for more.', '该智能体需要更多信息。'), parts),
            ...about,
          };
        case 'auth_required':
          return {
            state: 'auth_required',
            row: row('auth_required', reply.content || say('The agent asks you to sign in.', '该智能体要求您登录。'), parts),
            ...about,
          };
      }
    }
  }
}

/** Whether a looked-up snapshot that is old enough to be news shows that nobody saw our message arrive: the turn before it, without it. */
export function isUnheard(call: Call, reply: AgentReply): boolean {
  const before = call.staleFingerprint !== null && reply.fingerprint === call.staleFingerprint;
  return (call.state === 'sending' || call.state === 'unknown') && before && !reply.messageIds.includes(call.messageId);
}

/**
 * Whether a looked-up snapshot may still be that of the turn before our answer: it looks exactly as then, timestamp
 * included, and the send is young. That our message is in the history already proves nothing: servers store it before
 * the status moves.
 */
export function isStale(call: Call, reply: AgentReply, nowMs: number): boolean {
  return call.staleFingerprint !== null && reply.fingerprint === call.staleFingerprint && nowMs - (call.sentAtMs ?? nowMs) < staleAfterMs;
}

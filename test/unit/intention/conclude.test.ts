import { describe, expect, test } from 'vitest';
import type { AgentReply, ReplyState } from '../../../src/agent/reply.ts';
import { Fault } from '../../../src/fault.ts';
import { conclude, isStale, isUnheard } from '../../../src/intention/conclude.ts';
import { messageId } from '../../../src/intention/message.ts';
import { call } from '../../support/builders.ts';

const id = messageId('row');
const reply = (state: ReplyState, content = 'words'): AgentReply => ({
  taskId: 'task',
  contextId: 'context',
  state,
  content,
  parts: [],
  schema: null,
  fingerprint: 'seen',
  messageIds: [],
});

describe('what is heard of a call', () => {
  test.each([
    ['completed', 'completed', 'answer'],
    ['failed', 'failed', 'error'],
    ['rejected', 'rejected', 'error'],
    ['canceled', 'canceled', 'error'],
    ['input_required', 'input_required', 'input_required'],
    ['auth_required', 'auth_required', 'auth_required'],
  ] as const)('%s closes it with a row of the agent', (heard, state, type) => {
    expect(conclude(call('a'), { kind: 'reply', reply: reply(heard), items: [] }, id)).toMatchObject({
      state,
      taskId: 'task',
      contextId: 'context',
      fingerprint: 'seen',
      row: { id, role: 'agent', type, agent: 'weather', callId: 'a', content: 'words' },
    });
  });

  test('working closes nothing', () => {
    expect(conclude(call('a'), { kind: 'reply', reply: reply('working'), items: [] }, id)).toBeNull();
  });

  test('completed without content says so, in the language of the query', () => {
    const closing = conclude(call('a', { query: '天气如何' }), { kind: 'reply', reply: reply('completed', ''), items: [] }, id);
    expect(closing?.row.content).toBe('该智能体已完成，但没有给出内容。');
  });

  test('completed with nothing but a file is an answer of that file', () => {
    const items = [{ kind: 'file', url: '/v1/files/1', name: 'a.py' }] as const;
    expect(conclude(call('a'), { kind: 'reply', reply: reply('completed', ''), items }, id)?.row).toMatchObject({
      content: '',
      parts: { items },
    });
  });

  test('an unknown outcome is a question of the planner: nothing is sent again', () => {
    expect(conclude(call('a'), { kind: 'unknown', error: 'cut' }, id)).toMatchObject({
      state: 'unknown',
      outcome: 'unknown',
      taskId: null,
      row: { type: 'input_required', agent: 'plan', callId: 'a', content: expect.stringContaining('I did not try again') },
    });
  });

  test.each([
    [new Fault('agent_down'), 'The agent failed: it could not be reached.'],
    [new Fault('agent_refused', { notes: { status: 401 } }), 'The agent failed: it refused the request (HTTP 401).'],
    [new Fault('agent_invalid'), 'The agent failed: it answered with something that is not A2A.'],
  ])('%s is a failed call that the planner can plan around', (fault, content) => {
    expect(conclude(call('a'), { kind: 'refused', fault }, id)).toMatchObject({
      state: 'failed',
      outcome: 'rejected',
      row: { type: 'error', content },
    });
  });

  test('time is up, and a task that is gone, are failures too', () => {
    expect(conclude(call('a'), { kind: 'late' }, id)?.state).toBe('failed');
    expect(conclude(call('a'), { kind: 'lost' }, id)?.state).toBe('failed');
  });
});

describe('a snapshot of a resumed task', () => {
  const resumed = call('b', { staleFingerprint: 'seen', sentAtMs: 0 });

  test('that looks as before may be of the turn before, for 30 seconds, whatever its history holds', () => {
    expect(isStale(resumed, reply('input_required'), 10_000)).toBe(true);
    expect(isStale(resumed, { ...reply('input_required'), messageIds: [resumed.messageId] }, 10_000)).toBe(true);
    expect(isStale(resumed, reply('input_required'), 31_000)).toBe(false);
  });

  test('that looks different is news', () => {
    expect(isStale(resumed, { ...reply('completed'), fingerprint: 'other' }, 1_000)).toBe(false);
    expect(isStale(call('c'), reply('input_required'), 1_000)).toBe(false);
  });

  test('that looks as before, without our message, shows that nobody saw it arrive; an agent that answered the send did', () => {
    const orphaned = { ...resumed, state: 'sending' } as const;
    expect(isUnheard(orphaned, reply('input_required'))).toBe(true);
    expect(isUnheard(orphaned, { ...reply('input_required'), messageIds: [orphaned.messageId] })).toBe(false);
    expect(isUnheard(orphaned, { ...reply('completed'), fingerprint: 'other' })).toBe(false);
    expect(isUnheard({ ...resumed, state: 'working' }, reply('input_required'))).toBe(false);
  });

  test('what was left by the user, or met our own fault, failed in plain words', () => {
    expect(conclude(call('a'), { kind: 'left' }, id)).toMatchObject({ state: 'failed', row: { type: 'error' }, reached: null });
    expect(conclude(call('a'), { kind: 'broken', incidentId: 'i-1' }, id)?.row.content).toContain('i-1');
  });
});

// The secret of a call, and what is taken for a notification.

import { describe, expect, it } from 'vitest';
import { pushSecret, readPush, verifyPush } from '../../../src/agent/push.ts';

const key = 'a key of the service';
const call = '01900000-0000-7000-8000-000000000001';

describe('the secret of a call', () => {
  it('is one for each call and key, fit for a header', async () => {
    const secret = await pushSecret(key, call);
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await pushSecret(key, call)).toBe(secret);
    expect(await pushSecret(key, `${call}2`)).not.toBe(secret);
    expect(await pushSecret(`${key}2`, call)).not.toBe(secret);
  });

  it('is accepted as the token or as a bearer', async () => {
    const secret = await pushSecret(key, call);
    const verified = (headers: Record<string, string>) => verifyPush([key], call, new Headers(headers));
    expect(await verified({ 'X-A2A-Notification-Token': secret })).toBe(true);
    expect(await verified({ Authorization: `Bearer ${secret}` })).toBe(true);
    expect(await verified({ Authorization: `bearer ${secret}` })).toBe(true);
    expect(await verified({ Authorization: 'Bearer wrong', 'X-A2A-Notification-Token': secret })).toBe(true);
  });

  it('is required', async () => {
    const secret = await pushSecret(key, call);
    const other = await pushSecret(key, `${call}2`);
    for (const headers of [
      {},
      { Authorization: secret },
      { Authorization: 'Bearer ' },
      { Authorization: `Basic ${secret}` },
      { 'X-A2A-Notification-Token': '' },
      { 'X-A2A-Notification-Token': secret.slice(1) },
      { 'X-A2A-Notification-Token': other },
    ]) {
      expect(await verifyPush([key], call, new Headers(Object.entries(headers)))).toBe(false);
    }
  });
});

describe('keys that are rotated', () => {
  const next = 'the key that came after it';
  const accepted = async (keys: readonly string[], used: string) => {
    const secret = await pushSecret(used, call);
    const ways = [{ 'X-A2A-Notification-Token': secret }, { Authorization: `Bearer ${secret}` }];
    return Promise.all(ways.map((headers) => verifyPush(keys, call, new Headers(Object.entries(headers)))));
  };

  it('are both accepted, the current one and the one before it', async () => {
    expect(await accepted([next, key], next)).toEqual([true, true]);
    expect(await accepted([next, key], key)).toEqual([true, true]);
  });

  it('are not accepted before they are there, or once they are gone', async () => {
    expect(await accepted([key], next)).toEqual([false, false]);
    expect(await accepted([next], key)).toEqual([false, false]);
  });

  it('open nothing when there are none', async () => {
    expect(await accepted([], key)).toEqual([false, false]);
    expect(await accepted([''], key)).toEqual([false, false]);
  });
});

describe('readPush', () => {
  it('reads every version by its shape', () => {
    const bodies = [
      { task: { id: 't1', status: { state: 'TASK_STATE_COMPLETED' } } },
      { statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { taskId: 't1', artifact: { artifactId: 'a', parts: [] } } },
      { message: { messageId: 'm', role: 'ROLE_AGENT', taskId: 't1' } },
      { id: 't1', sessionId: null, status: { state: 'completed' }, artifacts: null },
      { id: 't1', status: { state: 'working' }, final: false },
      { id: 't1', artifact: { index: 0, parts: [] } },
      { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'completed' } },
      { kind: 'status-update', taskId: 't1', status: { state: 'working' }, final: false },
      { kind: 'artifact-update', taskId: 't1', artifact: { artifactId: 'a', parts: [] } },
      { kind: 'message', messageId: 'm', role: 'agent', taskId: 't1', parts: [] },
      { id: 't1', status: { state: 'completed' } },
    ];
    expect(bodies.map(readPush)).toEqual(bodies.map(() => ({ taskId: 't1' })));
  });

  it('reads a message without a task', () => {
    expect(readPush({ message: { messageId: 'm', parts: [] } })).toEqual({ taskId: null });
    expect(readPush({ kind: 'message', messageId: 'm', parts: [] })).toEqual({ taskId: null });
  });

  it('takes nothing else for a notification', () => {
    for (const body of [
      null,
      'task',
      [],
      {},
      { task: null },
      { task: {} },
      { task: { id: '' } },
      { kind: 'other', id: 't' },
      { id: 't1' },
    ]) {
      expect(readPush(body)).toBeNull();
    }
  });
});

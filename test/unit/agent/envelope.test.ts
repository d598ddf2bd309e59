// What is read from the answers of agents, from every shape that is known and from any that is not.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Asked, parseJson, readAsked, readEnvelope } from '../../../src/agent/envelope.ts';
import { firstRequest } from '../../../src/agent/first-version.ts';
import { spellState } from '../../../src/agent/old-wire.ts';

const asked: Asked = { id: 1, method: 'message/stream', version: '0.3', streams: true, taskId: 't-ours', contextId: 'c-ours' };
const unary: Asked = { ...asked, method: 'message/send', streams: false };

const read = (result: unknown, to = asked) => readEnvelope({ jsonrpc: '2.0', id: 1, result }, to);

describe('readEnvelope', () => {
  it('reads the events of v0.1', () => {
    expect(read({ id: 't1', status: { state: 'input-required' }, final: true })).toMatchObject({
      id: 1,
      result: { kind: 'status-update', taskId: 't1', contextId: 'c-ours', status: { state: 'input-required' } },
    });
    const artifact = { name: null, index: 2, append: true, lastChunk: true, parts: [{ type: 'text', text: 'a' }] };
    expect(read({ id: 't1', artifact })).toMatchObject({
      result: {
        kind: 'artifact-update',
        taskId: 't1',
        append: true,
        lastChunk: true,
        artifact: { artifactId: '2', parts: [{ kind: 'text', text: 'a' }] },
      },
    });
  });

  it('fills in the task and context that the request named', () => {
    expect(read({ status: { state: 'working' } }, unary)).toMatchObject({ result: { kind: 'task', id: 't-ours', contextId: 'c-ours' } });
  });

  it('gives equal words without an id the same messageId, and others another', () => {
    const said = (text: string) =>
      JSON.parse(JSON.stringify(read({ id: 't', status: { state: 'working', message: { parts: [{ text }] } } })));
    const idOf = (text: string) => said(text).result.status.message.messageId;
    expect(idOf('a')).toBe(idOf('a'));
    expect(idOf('a')).not.toBe(idOf('b'));
  });

  it('keeps artifacts apart that are all numbered 0', () => {
    const artifacts = ['a', 'b', 'c'].map((text) => ({ index: 0, parts: [{ type: 'text', text }] }));
    expect(read({ id: 't', status: { state: 'completed' }, artifacts }, unary)).toMatchObject({
      result: { artifacts: [{ artifactId: '0' }, { artifactId: '0 1' }, { artifactId: '0 2' }] },
    });
  });

  it('makes of an event the task that was asked for', () => {
    const artifact = { artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] };
    expect(read({ kind: 'artifact-update', taskId: 't', artifact }, unary)).toMatchObject({
      result: { kind: 'task', id: 't', artifacts: [artifact] },
    });
  });

  it('leaves alone what it does not know, and what is of v1.0', () => {
    for (const json of [null, 1, 'x', [], {}, { hello: 'world' }, { result: {} }, { jsonrpc: '2.0', id: 1, result: { x: 1 } }]) {
      expect(readEnvelope(json, asked)).toEqual(json);
    }
    const task = { task: { id: 't', status: { state: 'TASK_STATE_WORKING' }, other: 1 } };
    expect(read(task, { ...unary, version: '1.0', method: 'SendMessage' })).toEqual({ jsonrpc: '2.0', id: 1, result: task });
  });

  it('reads anything without failing, to the same when read again', () => {
    const names = [
      'jsonrpc',
      'id',
      'result',
      'error',
      'code',
      'message',
      'data',
      'kind',
      'type',
      'task',
      'taskId',
      'status',
      'state',
      'final',
    ];
    const more = [
      'artifact',
      'artifacts',
      'history',
      'parts',
      'role',
      'content',
      'text',
      'file',
      'bytes',
      'uri',
      'index',
      'metadata',
      'toString',
    ];
    const values = [
      'task',
      'message',
      'status-update',
      'artifact_update',
      'INPUT_REQUIRED',
      'text',
      'file',
      'user',
      '',
      0,
      -32001,
      null,
      true,
    ];
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        fc.constantFrom(...values),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names, ...more), tie('value'), { maxKeys: 6 }),
      ),
    })).value;
    fc.assert(
      fc.property(
        json,
        fc.constantFrom(asked, unary, { ...unary, version: '1.0' as const }, { ...asked, version: '0.1' as const }),
        (value, to) => {
          for (const said of [value, { jsonrpc: '2.0', id: 1, result: value }, { jsonrpc: '2.0', id: 1, error: value }]) {
            const once = readEnvelope(said, to);
            expect(readEnvelope(JSON.parse(JSON.stringify(once)), to)).toEqual(JSON.parse(JSON.stringify(once)));
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('parseJson', () => {
  it('reads JSON with control characters around and within it', () => {
    expect(parseJson('\ufeff\x1e{"a":"b\nc"}\x00')).toEqual({ a: 'b c' });
    expect(parseJson('{"a":"\ufeff"}')).toEqual({ a: '\ufeff' });
    expect(parseJson('{')).toBeUndefined();
  });
});

describe('spellState', () => {
  it('knows a state however it is written, and no other', () => {
    expect(['auth_required', 'AuthRequired', 'TASK_STATE_AUTH_REQUIRED', 'TaskState.auth_required'].map(spellState)).toEqual(
      Array(4).fill('auth-required'),
    );
    expect(['cancelled', 'CANCELED'].map(spellState)).toEqual(['canceled', 'canceled']);
    expect(['', 'done', null, {}, ['completed'], { toString: 1 }].map(spellState)).toEqual(Array(6).fill('unknown'));
  });
});

describe('firstRequest', () => {
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'file', file: { uri: 'u' }, metadata: { a: 1 } }] };
  const write = (method: string, params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });

  it('names the task after the message, unless it goes on with one', () => {
    const read = (params: unknown) => JSON.parse(firstRequest(write('message/send', params)) ?? '');
    expect(read({ message })).toEqual({
      jsonrpc: '2.0',
      id: 7,
      method: 'tasks/send',
      params: { id: 'm1', sessionId: 'm1', message: { role: 'user', parts: [{ type: 'file', file: { uri: 'u' }, metadata: { a: 1 } }] } },
    });
    expect(read({ message: { ...message, taskId: 't', contextId: 'c' } }).params).toMatchObject({ id: 't', sessionId: 'c' });
  });

  it('asks for pushes as v0.1 does', () => {
    const pushNotificationConfig = {
      id: 'p',
      url: 'https://us.example',
      token: 't',
      authentication: { schemes: ['Bearer'], credentials: 'c' },
    };
    const body = firstRequest(
      write('message/stream', { message, configuration: { acceptedOutputModes: ['text'], pushNotificationConfig } }),
    );
    const { id: _, ...pushNotification } = pushNotificationConfig;
    expect(JSON.parse(body ?? '')).toMatchObject({
      method: 'tasks/sendSubscribe',
      params: { pushNotification, acceptedOutputModes: ['text'] },
    });
  });

  it('leaves alone what sends no message', () => {
    expect(firstRequest(write('tasks/get', { id: 't' }))).toBeNull();
  });
});

describe('readAsked', () => {
  it('knows which task an answer is about', () => {
    const about = (params: unknown) => readAsked(JSON.stringify({ id: 1, method: 'tasks/send', params }), '0.1');
    expect(about({ id: 't', sessionId: 's' })).toMatchObject({ taskId: 't', contextId: 's', streams: false });
    expect(about({ message: { taskId: 't', contextId: 'c' } })).toMatchObject({ taskId: 't', contextId: 'c' });
    expect(readAsked('[]', '0.1')).toBeNull();
  });
});

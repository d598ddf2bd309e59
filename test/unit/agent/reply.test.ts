// What a snapshot or a message of an agent comes to in our words.

import { Message, Task, TaskState } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import { messageReply, replyState, taskReply } from '../../../src/agent/reply.ts';

const ours = 'm-ours';

function reply(task: object) {
  return taskReply(Task.fromJSON({ id: 't1', contextId: 'c1', ...task }), ours);
}

function said(messageId: string, ...texts: string[]) {
  return { messageId, role: 'ROLE_AGENT', parts: texts.map((text) => ({ text })) };
}

const asked = { messageId: ours, role: 'ROLE_USER', parts: [{ text: '天气如何' }] };

describe('replyState', () => {
  it('knows every state of the protocol', () => {
    expect(
      Object.fromEntries(
        Object.values(TaskState)
          .filter((state) => typeof state === 'number')
          .map((state) => [TaskState[state], replyState(state)]),
      ),
    ).toEqual({
      TASK_STATE_UNSPECIFIED: 'working',
      TASK_STATE_SUBMITTED: 'working',
      TASK_STATE_WORKING: 'working',
      TASK_STATE_COMPLETED: 'completed',
      TASK_STATE_FAILED: 'failed',
      TASK_STATE_CANCELED: 'canceled',
      TASK_STATE_INPUT_REQUIRED: 'input_required',
      TASK_STATE_REJECTED: 'rejected',
      TASK_STATE_AUTH_REQUIRED: 'auth_required',
      UNRECOGNIZED: 'working',
    });
    expect(replyState(undefined)).toBe('working');
  });

  it('takes a state it never heard of for work going on', () => {
    expect(reply({ status: { state: 'TASK_STATE_PONDERING' } }).state).toBe('working');
  });
});

describe('taskReply', () => {
  it('takes the artifacts first, then the status message', () => {
    const { content, parts } = reply({
      status: { state: 'TASK_STATE_COMPLETED', message: said('m2', 'Done.') },
      artifacts: [
        { artifactId: 'a', parts: [{ text: '上海' }, { text: '天气很热' }] },
        { artifactId: 'b', parts: [{ text: '北京凉' }] },
      ],
      history: [asked, said('m1', 'Searching')],
    });
    expect(content).toBe('上海天气很热\n北京凉\nDone.');
    expect(parts).toEqual([
      { kind: 'text', text: '上海天气很热' },
      { kind: 'text', text: '北京凉' },
      { kind: 'text', text: 'Done.' },
    ]);
  });

  it('does not repeat a status message that the artifacts hold already', () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'It is hot in Shanghai.' }] }];
    expect(reply({ status: { state: 'TASK_STATE_COMPLETED', message: said('m2', 'It is hot in Shanghai.') }, artifacts }).content).toBe(
      'It is hot in Shanghai.',
    );
  });

  it('keeps a file that comes in the status message beside artifacts', () => {
    const message = { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ url: 'https://x.example/a.png' }] };
    const { parts } = reply({
      status: { state: 'TASK_STATE_COMPLETED', message },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'see' }] }],
    });
    expect(parts).toEqual([
      { kind: 'text', text: 'see' },
      { kind: 'link', url: 'https://x.example/a.png' },
    ]);
  });

  it('joins all that the agent said in this turn when there are no artifacts', () => {
    const status = { state: 'TASK_STATE_COMPLETED', message: said('m3', '再去颐和园') };
    const history = [
      { ...asked, messageId: 'm-old' },
      said('m0', 'old question'),
      asked,
      said('m1', '先去故宫 '),
      said('m2', '再去长城'),
      said('m3', '再去颐和园'),
    ];
    expect(reply({ status, history }).content).toBe('先去故宫 再去长城\n再去颐和园');
  });

  it('takes only the status message from a history that does not hold our message', () => {
    const status = { state: 'TASK_STATE_COMPLETED', message: said('m3', 'new') };
    expect(reply({ status, history: [said('m0', 'old')] }).content).toBe('new');
  });

  it('gives no content to a completed task that says nothing', () => {
    const done = reply({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect([done.state, done.content, done.parts]).toEqual(['completed', '', []]);
  });

  it('gives the reason of a failure', () => {
    const failed = reply({ status: { state: 'TASK_STATE_FAILED', message: said('m1', 'no such city') } });
    expect([failed.state, failed.content]).toEqual(['failed', 'no such city']);
  });

  it('keeps every kind of part as it came', () => {
    const parts = [
      { text: '# hot', mediaType: 'text/markdown', filename: 'a.md', metadata: { k: [1, null, 'v'] } },
      { raw: Buffer.from([0, 1, 254, 255]).toString('base64'), mediaType: 'application/octet-stream', filename: 'b.bin' },
      { url: 'https://x.example/c.png?a=1#f', mediaType: 'image/png', filename: 'c.png' },
      { data: { temperature: 38.5, tags: ['hot'], none: null }, mediaType: 'application/json' },
      { data: [1, 2] },
    ];
    expect(reply({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'a', parts }] }).parts).toEqual([
      { kind: 'text', text: '# hot', name: 'a.md', media_type: 'text/markdown', metadata: { k: [1, null, 'v'] } },
      { kind: 'bytes', bytes: new Uint8Array([0, 1, 254, 255]), name: 'b.bin', media_type: 'application/octet-stream' },
      { kind: 'link', url: 'https://x.example/c.png?a=1#f', name: 'c.png', media_type: 'image/png' },
      { kind: 'data', data: { temperature: 38.5, tags: ['hot'], none: null }, media_type: 'application/json' },
      { kind: 'data', data: [1, 2] },
    ]);
  });

  it('sets the form of a question apart', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text: '您问到哪里的天气' }, { data: { hint: 1 } }, { data: schema }] };
    const question = reply({ status: { state: 'TASK_STATE_INPUT_REQUIRED', message } });
    expect(question).toMatchObject({ state: 'input_required', content: '您问到哪里的天气', schema });
    expect(question.parts).toEqual([
      { kind: 'text', text: '您问到哪里的天气' },
      { kind: 'data', data: { hint: 1 } },
    ]);
    expect(reply({ status: { state: 'TASK_STATE_COMPLETED', message } }).schema).toBeNull();
  });

  it('knows a form by its media type too', () => {
    const parts = [{ data: { enum: ['a', 'b'] }, mediaType: 'application/schema+json' }];
    const status = { state: 'TASK_STATE_AUTH_REQUIRED', message: { messageId: 'm1', role: 'ROLE_AGENT', parts } };
    expect(reply({ status }).schema).toEqual({ enum: ['a', 'b'] });
  });

  it('holds nothing that the database refuses', () => {
    const parts = [
      { text: 'a\0b\ud800c', filename: 'x\0' },
      { data: { 'k\0': ['\0v', '\udc00'] }, metadata: { m: '\0' } },
    ];
    const { content, parts: kept } = reply({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'a', parts }] });
    expect(content).toBe('ab\ufffdc');
    expect(kept).toEqual([
      { kind: 'text', text: 'ab\ufffdc', name: 'x' },
      { kind: 'data', data: { k: ['v', '\ufffd'] }, metadata: { m: '' } },
    ]);
  });

  it('knows no id that could not be sent back as it came', () => {
    for (const id of ['', 't\0', 'x'.repeat(257), '\ud800'])
      expect(reply({ id, contextId: id })).toMatchObject({ taskId: null, contextId: null });
  });

  it('cuts text at 1 MiB and parts at 100', () => {
    const long = reply({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'x'.repeat(2_000_000) }, { text: 'y' }] }],
    });
    expect(long.content.length).toBe(1_048_576);
    expect(long.parts).toEqual([{ kind: 'text', text: 'x'.repeat(1_048_576) }]);
    const many = reply({
      status: { state: 'TASK_STATE_COMPLETED', message: said('m', ...Array.from({ length: 500 }, (_, place) => `${place}`)) },
    });
    expect(many.parts).toHaveLength(100);
  });

  it('reads data of any depth', () => {
    let data: unknown = 'deep';
    for (let depth = 0; depth < 5_000; depth++) data = [data];
    expect(reply({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'a', parts: [{ data }] }] }).parts).toHaveLength(1);
  });

  it('has one fingerprint for one status, whatever else the snapshot holds', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED', timestamp: '2026-01-01T00:00:00Z', message: said('m1', 'where?') };
    const one = reply({ status }).fingerprint;
    expect(
      reply({ status, history: [asked, said('m0', 'hm')], artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] }).fingerprint,
    ).toBe(one);
    const others = [
      { ...status, state: 'TASK_STATE_COMPLETED' },
      { ...status, timestamp: '2026-01-01T00:00:01Z' },
      { ...status, message: said('m2', 'where?') },
      { ...status, message: said('m1', 'when?') },
    ];
    expect(new Set([one, ...others.map((other) => reply({ status: other }).fingerprint)]).size).toBe(5);
  });

  it('tells which messages the history holds', () => {
    expect(reply({ status: { state: 'TASK_STATE_WORKING' }, history: [asked, said('m1', 'x')] }).messageIds).toEqual([ours, 'm1']);
  });
});

describe('messageReply', () => {
  it('is an answer without a task', () => {
    const message = Message.fromJSON({ ...said('m1', 'Hello World'), contextId: 'c9' });
    expect(messageReply(message)).toMatchObject({
      taskId: null,
      contextId: 'c9',
      state: 'completed',
      content: 'Hello World',
      schema: null,
    });
  });
});

// What is heard of a stream, frame by frame as agents send them.

import { StreamResponse } from '@a2a-js/sdk';
import { legacyPushNotificationToV1StreamResponse } from '@a2a-js/sdk/compat/v0_3';
import { describe, expect, it } from 'vitest';
import { accumulate, type Turn } from '../../../src/agent/accumulate.ts';
import type { AgentEvent } from '../../../src/agent/reply.ts';

const turn: Turn = { messageId: 'm-ours', staleFingerprint: null };

async function* frames(lines: readonly string[]): AsyncGenerator<StreamResponse> {
  for (const line of lines) {
    const json: unknown = JSON.parse(line);
    yield typeof json === 'object' && json !== null && 'kind' in json
      ? legacyPushNotificationToV1StreamResponse(json)
      : StreamResponse.fromJSON(json);
  }
}

async function hear(lines: readonly string[], listening = turn): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of accumulate(frames(lines), listening)) events.push(event);
  return events;
}

/** The events in short: what is bound, the text as one would see it, the reply's state and content. */
async function summary(lines: readonly string[], listening?: Turn) {
  const events = await hear(lines, listening);
  const bound = events.flatMap((event) => (event.kind === 'bound' ? [event.taskId] : []));
  const text = events.flatMap((event) => (event.kind === 'text' ? [event.text] : []));
  const replies = events.flatMap((event) => (event.kind === 'reply' ? [`${event.reply.state}: ${event.reply.content}`] : []));
  return { bound, text, replies };
}

const artifact = (text: string, more = '') =>
  `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"${text}"}]}${more}}}`;
const status = (state: string, message = '') =>
  `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_${state}"${message}}}}`;
const saying = (id: string, text: string) => `,"message":{"messageId":"${id}","role":"ROLE_AGENT","parts":[{"text":"${text}"}]}`;

describe('accumulate', () => {
  it('hears a v1.0 stream: task, artifact chunks, completed', async () => {
    const heard = await summary([
      '{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"},"history":[{"messageId":"m-ours","role":"ROLE_USER","parts":[{"text":"天气如何"}]}]}}',
      status('WORKING'),
      artifact('上海'),
      artifact('天气', ',"append":true'),
      artifact('很热', ',"append":true,"lastChunk":true'),
      status('COMPLETED'),
    ]);
    expect(heard).toEqual({ bound: ['t1'], text: ['上海', '天气', '很热'], replies: ['completed: 上海天气很热'] });
  });

  it('hears a v0.3 agent that begins with a status update and answers in status messages alone', async () => {
    const said = (state: string, id: string, text: string, final: boolean) =>
      `{"contextId":"c1","final":${final},"kind":"status-update","status":{"message":{"contextId":"c1","kind":"message","messageId":"${id}","parts":[{"kind":"text","text":"${text}"}],"role":"agent","taskId":"t1"},"state":"${state}","timestamp":"2025-08-15T08:00:00.000000+00:00"},"taskId":"t1"}`;
    const heard = await summary([
      said('working', 'm1', '先去故宫', false),
      said('working', 'm2', '再去长城', false),
      said('completed', 'm3', '再去颐和园', true),
    ]);
    expect(heard).toEqual({
      bound: ['t1'],
      text: ['先去故宫', '\n再去长城', '\n再去颐和园'],
      replies: ['completed: 先去故宫\n再去长城\n再去颐和园'],
    });
  });

  it('hears a question, which ends the turn', async () => {
    const heard = await summary([
      '{"contextId":"c1","final":true,"kind":"status-update","status":{"message":{"kind":"message","messageId":"m1","parts":[{"kind":"text","text":"你问哪里的天气"}],"role":"agent"},"state":"input-required"},"taskId":"t1"}',
      status('WORKING'),
    ]);
    expect(heard).toEqual({ bound: ['t1'], text: [], replies: ['input_required: 你问哪里的天气'] });
  });

  it('hears a plain message, in both versions', async () => {
    const expected = { bound: [], text: ['Hello World'], replies: ['completed: Hello World'] };
    expect(await summary(['{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"Hello World"}]}}'])).toEqual(expected);
    expect(await summary(['{"kind":"message","messageId":"m1","parts":[{"kind":"text","text":"Hello World"}],"role":"agent"}'])).toEqual(
      expected,
    );
  });

  it('says nothing twice when the last task repeats what was streamed', async () => {
    const heard = await summary([
      artifact('It is '),
      artifact('hot.', ',"append":true'),
      '{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a1","parts":[{"text":"It is "},{"text":"hot."}]}]}}',
    ]);
    expect(heard).toEqual({ bound: ['t1'], text: ['It is ', 'hot.'], replies: ['completed: It is hot.'] });
  });

  it('says nothing twice when a snapshot repeats messages of its history', async () => {
    const message = (id: string, role: string, text: string) => `{"messageId":"${id}","role":"ROLE_${role}","parts":[{"text":"${text}"}]}`;
    const heard = await summary([
      status('WORKING', saying('m1', 'one')),
      `{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"${saying('m2', 'two')}},"history":[${message('m-ours', 'USER', 'x')},${message('m1', 'AGENT', 'one')}]}}`,
    ]);
    expect(heard).toEqual({ bound: ['t1'], text: ['one', '\ntwo'], replies: ['completed: one\ntwo'] });
  });

  it('adds only what is new of an artifact that is sent whole each time', async () => {
    const heard = await summary([artifact('It'), artifact('It is'), artifact('It is hot'), status('COMPLETED')]);
    expect(heard).toEqual({ bound: ['t1'], text: ['It', ' is', ' hot'], replies: ['completed: It is hot'] });
  });

  it('takes chunks of an artifact that was never begun', async () => {
    expect((await summary([artifact('hot', ',"append":true'), status('COMPLETED')])).replies).toEqual(['completed: hot']);
  });

  it('leaves progress out of an answer that comes in artifacts', async () => {
    const heard = await summary([status('WORKING', saying('m1', 'Searching')), artifact('hot'), status('COMPLETED')]);
    expect(heard).toEqual({ bound: ['t1'], text: ['Searching', '\nhot'], replies: ['completed: hot'] });
  });

  it('gives no reply when the stream ends before the answer', async () => {
    expect(await summary([status('WORKING'), artifact('half')])).toEqual({ bound: ['t1'], text: ['half'], replies: [] });
    expect(await summary([])).toEqual({ bound: [], text: [], replies: [] });
  });

  it('does not take the old question for the answer to what was just said', async () => {
    const old =
      '"status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-01T00:00:00Z","message":{"messageId":"q1","role":"ROLE_AGENT","parts":[{"text":"where?"}]}}';
    const [question] = (await hear([`{"task":{"id":"t1","contextId":"c1",${old}}}`])).slice(-1);
    if (question?.kind !== 'reply') throw new Error('the question was not heard');
    const resumed = { messageId: 'm-answer', staleFingerprint: question.reply.fingerprint };
    const heard = await summary(
      [`{"task":{"id":"t1","contextId":"c1",${old}}}`, status('WORKING'), artifact('hot'), status('COMPLETED')],
      resumed,
    );
    expect(heard).toEqual({ bound: ['t1'], text: ['hot'], replies: ['completed: hot'] });
  });

  it('goes on after states and frames it does not know', async () => {
    const heard = await summary([status('PONDERING'), '{}', '{"surprise":{}}', status('COMPLETED', saying('m1', 'done'))]);
    expect(heard.replies).toEqual(['completed: done']);
  });

  it('hears a message grow under one id, and takes a shorter one for a repeat', async () => {
    const heard = await summary([
      status('WORKING', saying('m1', '')),
      status('WORKING', saying('m1', '上海')),
      status('WORKING', saying('m1', '上海天气')),
      status('WORKING', saying('m1', '上海')),
      status('COMPLETED', saying('m1', '上海天气很热')),
    ]);
    expect(heard).toEqual({ bound: ['t1'], text: ['上海', '天气', '很热'], replies: ['completed: 上海天气很热'] });
  });

  it('tells text of 1 MiB and no more', async () => {
    const half = 'x'.repeat(700_000);
    const { text } = await summary([
      artifact(half),
      artifact(half, ',"append":true'),
      artifact(half, ',"append":true'),
      status('COMPLETED'),
    ]);
    expect(text.join('').length).toBe(1_048_576);
  });
});

// The sample agents, each driven by the SDK's own client in both protocol versions over real HTTP.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { afterEach, describe, expect, it } from 'vitest';
import { type SampleName, startAgent } from '../../src/local/agents/start.ts';
import { type ModelWrite, startModelServer } from '../support/model-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

type Version = '1.0' | '0.3';

async function agent(name: SampleName): Promise<string> {
  const served = await startAgent(name);
  closers.push(served.close);
  return served.url;
}

/** A v0.3 client sees only the v0.3 half of the card. */
const oldCard: typeof fetch = async (input, init) => {
  const card: object = JSON.parse(await (await fetch(input, init)).text());
  return Response.json({ ...card, supportedInterfaces: undefined });
};

function connect(url: string, version: Version = '1.0'): Promise<Client> {
  const legacyCompat = { enabled: true };
  const fetchImpl = version === '0.3' ? oldCard : fetch;
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ legacyCompat })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat }),
    }),
  ).createFromUrl(url);
}

interface Options {
  readonly task?: Pick<Task, 'id' | 'contextId'>;
  readonly configuration?: object;
}

function said(text: string, { task, configuration }: Options = {}): SendMessageRequest {
  const ids = task ? { taskId: task.id, contextId: task.contextId } : {};
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...ids };
  return SendMessageRequest.fromJSON({ message, configuration });
}

async function collect(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function task(client: Client, text: string, options?: Options): Promise<Task> {
  const result = await client.sendMessage(said(text, options));
  if (!('status' in result)) throw new Error('expected a task');
  return result;
}

function textOf(parts: Task['artifacts'][number]['parts'] | undefined): string {
  return (parts ?? []).map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('');
}

const artifactText = (of: Task) => of.artifacts.map(({ parts }) => textOf(parts)).join('\n');
const statusText = (of: Task) => textOf(of.status?.message?.parts);

describe.each(['1.0', '0.3'] as const)('sample agents, by A2A %s', (version) => {
  it('helloworld answers with a plain message', async () => {
    const client = await connect(await agent('helloworld'), version);
    expect(client.protocolVersion).toBe(version);
    const result = await client.sendMessage(said('anything'));
    expect('parts' in result && textOf(result.parts)).toBe('Hello World');
  });

  it('weather asks for the city and goes on with the same task', async () => {
    const client = await connect(await agent('weather'), version);
    const asked = await task(client, '天气如何');
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(statusText(asked)).toBe('您问到哪里的天气');

    const again = await task(client, '我其实还没想好，你能不能先给我讲一个很长很长的故事，关于一只猫和一条鱼', { task: asked });
    expect(again.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);

    const answered = await task(client, '上海天气如何', { task: asked });
    expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect([answered.id, answered.contextId]).toEqual([asked.id, asked.contextId]);
    expect(artifactText(answered)).toBe('上海天气很热');
    expect(answered.history.length).toBeGreaterThanOrEqual(3);
  });

  it('weather streams its question, and its answer on the same task', async () => {
    const client = await connect(await agent('weather'), version);
    const events = await collect(client.sendMessageStream(said("how's the weather?")));
    const first = events[0]?.payload;
    if (first?.$case !== 'task') throw new Error('expected the task first');
    const last = events.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && textOf(last.value.status?.message?.parts)).toBe('Which city?');

    const rest = await collect(client.sendMessageStream(said('Shanghai', { task: first.value })));
    const texts = rest.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? [textOf(payload.value.artifact?.parts)] : []));
    expect(texts).toEqual(['It is very hot in Shanghai']);
    const ids = rest.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? [payload.value.taskId] : []));
    expect(ids).toEqual([first.value.id]);
  });

  it('travel tells its stops in status messages', async () => {
    const client = await connect(await agent('travel'), version);
    const events = await collect(client.sendMessageStream(said('推荐北京旅游路线')));
    const texts = events.flatMap(({ payload }) =>
      payload?.$case === 'statusUpdate' ? [[payload.value.status?.state, textOf(payload.value.status?.message?.parts)]] : [],
    );
    expect(texts).toEqual([
      [TaskState.TASK_STATE_WORKING, '先去故宫'],
      [TaskState.TASK_STATE_WORKING, '再去长城'],
      [TaskState.TASK_STATE_COMPLETED, '再去颐和园'],
    ]);
  });

  it('coder streams each file as an artifact with its bytes, name and media type', async () => {
    const client = await connect(await agent('coder'), version);
    const events = await collect(client.sendMessageStream(said('make an html page')));
    const files = events.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? (payload.value.artifact?.parts ?? []) : []));
    const raw = files.filter((part) => part.content?.$case === 'raw');
    expect(raw.map(({ filename, mediaType }) => [filename, mediaType])).toEqual([
      ['index.html', 'text/html'],
      ['style.css', 'text/css'],
    ]);
    const bytes = raw[0]?.content?.$case === 'raw' ? raw[0].content.value : new Uint8Array();
    expect(Buffer.from(bytes).toString('utf8')).toMatch(/^<!doctype html>/u);
  });

  it('slow returns at once, and pushes when it is done', async () => {
    const client = await connect(await agent('slow'), version);
    const receiver = await pushReceiver();
    const started = await task(client, 'wait 0.3 seconds', {
      configuration: { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url, token: 'secret' } },
    });
    expect(started.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    const pushes = await receiver.until(/completed/iu);
    expect(pushes.map(({ token }) => token)).toContain('secret');
    expect(pushes.map(({ body }) => body).join()).toContain('done after 0.3 s');
    expect(pushes.map(({ body }) => 'kind' in JSON.parse(body))).not.toContain(version !== '0.3');
    expect(artifactText(await client.getTask({ tenant: '', id: started.id, historyLength: undefined }))).toBe('done after 0.3 s');
  });

  it('flaky fails and rejects when told so, and else does not', async () => {
    const client = await connect(await agent('flaky'), version);
    const failed = await task(client, 'please fail');
    expect([failed.status?.state, statusText(failed)]).toEqual([TaskState.TASK_STATE_FAILED, 'failed, as you asked']);
    expect((await task(client, '请拒绝')).status?.state).toBe(TaskState.TASK_STATE_REJECTED);
    const fine = await task(client, 'try again');
    expect([fine.status?.state, artifactText(fine)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'ok this time']);
    await expect(client.sendMessage(said('500'))).rejects.toThrow(/500/u);
    await expect(client.sendMessage(said('send rubbish'))).rejects.toThrow();
    const signal = AbortSignal.timeout(300);
    await expect(client.sendMessage(said('hang'), { signal })).rejects.toThrow();
  });

  it('flaky cuts the stream, and the task is done all the same', async () => {
    const client = await connect(await agent('flaky'), version);
    const seen: StreamResponse[] = [];
    const read = async () => {
      for await (const event of client.sendMessageStream(said('cut'))) seen.push(event);
    };
    await expect(read()).rejects.toThrow();
    const first = seen[0]?.payload;
    if (first?.$case !== 'task') throw new Error('expected the task first');
    const { id } = first.value;
    const rest = await collect(client.resubscribeTask({ tenant: '', id }));
    expect(rest.at(-1)?.payload?.$case).toBe('statusUpdate');
    const done = await client.getTask({ tenant: '', id, historyLength: undefined });
    expect([done.status?.state, artifactText(done)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'done after the cut']);
  });

  it('slow can be canceled', async () => {
    const client = await connect(await agent('slow'), version);
    const started = await task(client, '等60秒', { configuration: { returnImmediately: true } });
    const canceled = await client.cancelTask({ tenant: '', id: started.id, metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });
});

describe('sample agents', () => {
  it.each([
    ['上海', '上海天气很热'],
    ['上海天气如何', '上海天气很热'],
    ['在深圳', '深圳天气'],
    ['weather in New York', 'in New York'],
    ['里斯本天气怎么样', '里斯本天气'],
    ['Springfield', 'in Springfield'],
    ['Will it rain in Oslo tomorrow?', 'in Oslo'],
  ])('weather hears a place in %s', async (question, report) => {
    const client = await connect(await agent('weather'));
    expect(artifactText(await task(client, question))).toContain(report);
  });

  it.each(['天气如何', '今天天气怎么样？', "What's the weather like today?", 'will it rain tomorrow?', 'weather please'])(
    'weather hears no place in %s',
    async (question) => {
      const client = await connect(await agent('weather'));
      expect((await task(client, question)).status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    },
  );

  it.each([
    ['曹操是谁', /^曹操是东汉/u],
    ['Who was Ada Lovelace?', /^Ada Lovelace was/u],
    ['Tell me about Einstein', /^Albert Einstein was/u],
    ['介绍一下李白', /^李白是唐代/u],
    ['张三是谁？', /^我不知道张三是谁。$/u],
    ['who is John Doe?', /^I don't know who John Doe is\.$/u],
  ])('people answers %s', async (question, answer) => {
    const client = await connect(await agent('people'));
    expect(artifactText(await task(client, question))).toMatch(answer);
  });

  it('coder writes what its model streams, file by file', async () => {
    const text = 'Here you are.\nFile: src/a.py\n```python\nprint(1)\n\nprint(2)\n```\n\nFile: notes.md\n```\n# b\n```';
    const client = await coderWith(text.match(/[\s\S]{1,7}/gu) ?? []);
    const done = await task(client, 'two files please');
    const raw = done.artifacts.flatMap(({ parts }) => parts.filter((part) => part.content?.$case === 'raw'));
    expect(raw.map((part) => [part.filename, part.content?.$case === 'raw' && Buffer.from(part.content.value).toString()])).toEqual([
      ['src/a.py', 'print(1)\n\nprint(2)\n'],
      ['notes.md', '# b\n'],
    ]);
  });

  it('coder says so when its model writes no file', async () => {
    const failed = await task(await coderWith(['I would rather not.']), 'two files please');
    expect([failed.status?.state, statusText(failed)]).toEqual([TaskState.TASK_STATE_FAILED, 'the language model wrote no program']);
  });

  it('serve their card at both well-known paths, for a minute', async () => {
    const url = await agent('people');
    for (const path of ['.well-known/agent-card.json', '.well-known/agent.json']) {
      const response = await fetch(url + path);
      expect(response.headers.get('cache-control')).toBe('max-age=60');
      expect(await response.json()).toMatchObject({ name: 'people', url, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' });
    }
  });

  it('speak the version of the method when the header is missing', async () => {
    const url = await agent('helloworld');
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'SendMessage', params: { message } });
    const answer = await (await fetch(url, { method: 'POST', body })).json();
    expect(answer).toMatchObject({ id: 7, result: { message: { parts: [{ text: 'Hello World' }] } } });
  });

  it('refuse a body over 1 MiB', async () => {
    const response = await fetch(await agent('helloworld'), { method: 'POST', body: 'x'.repeat(1_048_577) });
    expect(response.status).toBe(413);
  });
});

async function coderWith(deltas: readonly string[]): Promise<Client> {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const writes: ModelWrite[] = [...deltas.map((content) => chunk({ content })), chunk({}, 'stop'), 'data: [DONE]\n\n'];
  const server = await startModelServer(() => ({ status: 200, writes }));
  closers.push(server.close);
  const served = await startAgent('coder', { model: { apiKey: 'any', baseUrl: server.url, name: 'm' } });
  closers.push(served.close);
  return connect(served.url);
}

async function pushReceiver() {
  const received: { readonly body: string; readonly token: string | undefined }[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ body, token: request.headers['x-a2a-notification-token']?.toString() });
    response.end();
    server.emit('push');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/push`,
    /** All pushes so far, as soon as the body of one matches. */
    async until(pattern: RegExp) {
      while (!received.some(({ body }) => pattern.test(body))) await once(server, 'push');
      return received;
    },
  };
}

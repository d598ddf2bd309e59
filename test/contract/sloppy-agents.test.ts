// The port Agents against agents that keep to the protocol only roughly: bytes that real ones sent, and each fault by itself.

import { afterEach, describe, expect, it } from 'vitest';
import type { Agent, AgentCard } from '../../src/agent/card.ts';
import { type Answering, json, type Site, serve } from '../support/a2a-peer.ts';
import { agentAt, callFor, faultOf, gather, lastReply, never, textsOf } from '../support/agent-call.ts';
import { captured, replay } from '../support/captured.ts';

const open: Site[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((site) => site.close()));
});

async function keep(site: Promise<Site>): Promise<Site> {
  const started = await site;
  open.push(started);
  return started;
}

async function replayed(card: string, answers: Readonly<Record<string, string>>) {
  const { origin } = await keep(replay(card, answers));
  return agentAt(`${origin}/agent.json`);
}

function unaryOf(agent: Agent): Agent {
  return { ...agent, card: { ...agent.card, streaming: false } };
}

describe('the server of VoltAgent', () => {
  const answers = {
    'message/send': 'voltagent-send.body',
    'message/stream': 'voltagent-stream.sse',
    'tasks/get': 'voltagent-get-unknown.body',
    'tasks/cancel': 'voltagent-cancel-over.body',
  };

  it('has a card without a protocol version', async () => {
    const { agent } = await replayed('voltagent-card.body', answers);
    expect(agent.card).toMatchObject({ name: 'weather', streaming: true, interfaces: [{ binding: 'JSONRPC', version: '0.3' }] });
  });

  it('streams tasks without a kind, after a stray 0x1E, whose one message grows', async () => {
    expect(captured(answers['message/stream'])).toContain('data: \x1e{');
    const { agents, agent } = await replayed('voltagent-card.body', answers);
    const events = await gather(agents.send(agent, callFor('x'), [], never));
    expect(events.map((event) => (event.kind === 'text' ? event.text : event.kind))).toEqual(['bound', '上海', '天气', '很热', 'reply']);
    expect(lastReply(events)).toMatchObject({
      state: 'completed',
      content: '上海天气很热',
      parts: [{ kind: 'text', text: '上海天气很热' }],
    });
  });

  it('answers with a task without a kind, in its status alone', async () => {
    const { agents, agent } = await replayed('voltagent-card.body', answers);
    const reply = lastReply(await gather(agents.send(unaryOf(agent), callFor('x'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', content: '上海天气很热' });
    expect(reply.messageIds).toContain('m-1');
  });

  it('breaks its stream off with an error', async () => {
    const { agents, agent } = await replayed('voltagent-card.body', { 'message/stream': 'voltagent-stream-failed.sse' });
    const fault = await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
    expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { code: -32603 }]);
  });

  it('says that it knows no such task, and that one is over', async () => {
    const { agents, agent } = await replayed('voltagent-card.body', answers);
    const call = callFor('x', { taskId: 't1' });
    expect(await agents.get(agent, call, never)).toBeNull();
    expect(await agents.cancel(agent, call, never)).toBe('finished');
  });
});

describe('the server of Reactive Agents', () => {
  const answers = {
    'message/send': 'reactive-send.body',
    'message/stream': 'reactive-stream.sse',
    'tasks/get': 'reactive-get.body',
  };

  it('answers under no id at all', async () => {
    expect(captured(answers['message/send'])).toContain('"id":null');
    const { agents, agent } = await replayed('reactive-card.body', answers);
    const reply = lastReply(await gather(agents.send(unaryOf(agent), callFor('x'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', content: '上海天气很热' });
  });

  it('streams that a task is completed before it tells what came of it, and before any task', async () => {
    const { agents, agent } = await replayed('reactive-card.body', answers);
    const events = await gather(agents.send(agent, callFor('x'), [], never));
    expect(events.map(({ kind }) => kind)).toEqual(['bound', 'text', 'reply']);
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: '上海天气很热' });
  });

  it('says why it failed in words alone', async () => {
    const { agents, agent } = await replayed('reactive-card.body', { 'message/send': 'reactive-send-failed.body' });
    const reply = lastReply(await gather(agents.send(unaryOf(agent), callFor('x'), [], never)));
    expect(reply).toMatchObject({ state: 'failed', content: 'the model is down' });
  });

  it('says by an error of its own that it knows no such task', async () => {
    const { agents, agent } = await replayed('reactive-card.body', { ...answers, 'tasks/get': 'reactive-get-unknown.body' });
    expect(await agents.get(agent, callFor('x', { taskId: 't1' }), never)).toBeNull();
  });
});

/** An agent that answers each request in this way, with the id of the request. */
async function sloppy(answer: (id: unknown) => { readonly body: string; readonly type?: string }, card: Partial<AgentCard> = {}) {
  let origin = '';
  const answering: Answering = async (request, response) => {
    if (request.method === 'GET')
      return json(response, { name: 'Sloppy', url: origin, capabilities: { streaming: card.streaming === true } });
    const { body, type } = answer(JSON.parse(await request.text()).id);
    response.writeHead(200, type === undefined ? {} : { 'Content-Type': type });
    response.end(body);
  };
  ({ origin } = await keep(serve(answering)));
  const { agents, agent } = await agentAt(`${origin}/agent.json`);
  return { agents, agent: { ...agent, card: { ...agent.card, ...card } } };
}

const status = (state: unknown, words = 'done') => ({ state, message: { role: 'agent', parts: [{ kind: 'text', text: words }] } });

describe('an agent that answers in one piece', () => {
  const sent = async (body: (id: unknown) => unknown, type?: string) => {
    const write = (id: unknown) => (typeof body(id) === 'string' ? String(body(id)) : JSON.stringify(body(id)));
    const { agents, agent } = await sloppy((id) => ({ body: write(id), ...(type ? { type } : {}) }));
    return lastReply(await gather(agents.send(agent, callFor('x'), [], never)));
  };
  const result = (said: unknown) => (id: unknown) => ({ jsonrpc: '2.0', id, result: said });

  it.each(['input_required', 'INPUT_REQUIRED', 'InputRequired', 'TASK_STATE_INPUT_REQUIRED', 'TaskState.input_required'])(
    'may spell a state %s',
    async (state) => {
      expect(await sent(result({ id: 't', status: status(state, 'where?') }))).toMatchObject({
        state: 'input_required',
        content: 'where?',
      });
    },
  );

  it('may be at work in a state that nobody knows', async () => {
    for (const state of ['thinking', null, 7, {}, ['completed']])
      expect(await sent(result({ id: 't', status: { state } }))).toMatchObject({ state: 'working' });
  });

  it('may say each field that it leaves out to be null, its error too', async () => {
    const task = {
      id: 't',
      contextId: null,
      status: { ...status('completed'), timestamp: null },
      artifacts: null,
      history: null,
      metadata: null,
    };
    expect(await sent((id) => ({ jsonrpc: '2.0', id, result: task, error: null }))).toMatchObject({ state: 'completed', content: 'done' });
  });

  it('may answer under another id, or in no envelope', async () => {
    const task = { id: 't', status: status('completed') };
    expect(await sent(() => ({ jsonrpc: '2.0', id: 'another', result: task }))).toMatchObject({ content: 'done' });
    expect(await sent(() => task)).toMatchObject({ content: 'done' });
  });

  it('may hold its task or its message as v1.0 does', async () => {
    const task = {
      id: 't',
      status: { state: 'TASK_STATE_COMPLETED', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'done' }] } },
    };
    expect(await sent(result({ task }))).toMatchObject({ state: 'completed', content: 'done', taskId: 't' });
    expect(await sent(result({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }))).toMatchObject({
      content: 'hi',
    });
  });

  it('may write fields with underscores', async () => {
    const artifacts = [{ artifact_id: 'a', parts: [{ kind: 'file', file: { bytes: 'AAE=', mime_type: 'x/y' } }] }];
    const reply = await sent(result({ id: 't', context_id: 'c', status: { state: 'completed' }, artifacts }));
    expect(reply).toMatchObject({ contextId: 'c', parts: [{ kind: 'bytes', bytes: Uint8Array.of(0, 1), media_type: 'x/y' }] });
  });

  it('may declare no type, or a wrong one, and begin with stray bytes', async () => {
    const task = { id: 't', status: status('completed') };
    const body = (id: unknown) => `\ufeff\x1e${JSON.stringify({ jsonrpc: '2.0', id, result: task })}\x00`;
    for (const type of [undefined, 'text/plain', 'text/html', 'application/octet-stream']) {
      expect(await sent(body, type)).toMatchObject({ content: 'done' });
    }
  });

  it('may stream although it was not asked to', async () => {
    const line = (id: unknown, said: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: said })}\n\n`;
    const body = (id: unknown) =>
      line(id, { taskId: 't', status: status('working', 'wait'), final: false }) +
      line(id, { taskId: 't', status: status('completed'), final: true });
    expect(await sent(body, 'text/event-stream')).toMatchObject({ state: 'completed', content: 'done', taskId: 't' });
  });

  it('may put a kind of part that nobody knows among others', async () => {
    const parts = [
      'bare',
      { type: 'function_call', name: 'f' },
      null,
      7,
      { kind: 'text' },
      { kind: 'data', data: null },
      { text: 'shown' },
    ];
    const reply = await sent(result({ id: 't', status: { state: 'completed' }, artifacts: [{ parts }] }));
    expect(reply.content).toBe('bareshown');
    expect(reply.parts).toContainEqual({ kind: 'data', data: { type: 'function_call', name: 'f' } });
  });

  it('is refused when what it says is nothing of the protocol', async () => {
    const bodies = [
      'null',
      '[]',
      '"x"',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","result":{}}',
      '{"jsonrpc":"2.0","result":[1]}',
      '{',
      '',
      '<h1>',
    ];
    for (const body of bodies) {
      const { agents, agent } = await sloppy(() => ({ body, type: 'application/json' }));
      expect((await faultOf(gather(agents.send(agent, callFor('x'), [], never)))).code).toBe('agent_invalid');
    }
  });

  it('is heard in errors of words alone', async () => {
    for (const error of ['no', { message: 'no' }, { code: '-32603', message: null }]) {
      const { agents, agent } = await sloppy((id) => ({ body: JSON.stringify({ jsonrpc: '2.0', id, error }) }));
      const fault = await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
      expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { code: -32603 }]);
    }
  });
});

describe('an agent that streams', () => {
  const heard = async (body: (id: unknown) => string, type = 'text/event-stream') => {
    const { agents, agent } = await sloppy((id) => ({ body: body(id), type }), { streaming: true });
    return gather(agents.send(agent, callFor('x'), [], never));
  };
  const said = (id: unknown, result: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result });
  const done = (id: unknown) => said(id, { taskId: 't', status: status('completed'), final: true });

  it.each([
    ['lines that end in any way', (id: unknown) => `data: ${done(id)}\r\rdata: ${done(id)}\r\n\r\n`],
    ['no blank line at the end', (id: unknown) => `data:${done(id)}`],
    [
      'heartbeats and a mark of its end',
      (id: unknown) => `: ping\n\ndata: ping\n\ndata: {"type":"ping"}\n\ndata: ${done(id)}\n\ndata: [DONE]\n\n`,
    ],
    ['stray control characters and marks of byte order', (id: unknown) => `\ufeff\x1edata: \x00\ufeff\x1e${done(id)}\n\n`],
    [
      'one event over several lines',
      (id: unknown) => `data: ${JSON.stringify(JSON.parse(done(id)), null, 1).replaceAll('\n', '\ndata: ')}\n\n`,
    ],
    ['lines of JSON without a field', (id: unknown) => `\x1e${done(id)}\n`],
    ['another id', () => `data: ${done('another')}\n\n`],
    ['an event that is named', (id: unknown) => `event: status-update\nid: 7\nretry: 1\ndata: ${done(id)}\n\n`],
  ])('may send %s', async (_, body) => {
    expect(lastReply(await heard(body))).toMatchObject({ state: 'completed', content: 'done', taskId: 't' });
  });

  it('may declare no type, or a wrong one', async () => {
    for (const type of ['text/plain', 'application/json', 'application/octet-stream']) {
      expect(lastReply(await heard((id) => `data: ${done(id)}\n\n`, type))).toMatchObject({ content: 'done' });
    }
  });

  it('may answer in one piece after all', async () => {
    const events = await heard((id) => said(id, { id: 't', status: status('completed') }), 'application/json');
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: 'done', taskId: 't' });
  });

  it('may begin with a status, and say its kind nowhere', async () => {
    const events = await heard((id) =>
      [
        { taskId: 't', contextId: 'c', status: { state: 'WORKING' } },
        { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text: '上海' }] } },
        { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text: '很热' }] }, append: true, lastChunk: true },
        { taskId: 't', contextId: 'c', status: { state: 'COMPLETED' }, final: true },
      ]
        .map((result) => `data: ${said(id, result)}\n\n`)
        .join(''),
    );
    expect(textsOf(events)).toBe('上海很热');
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: '上海很热', contextId: 'c' });
  });

  it('is refused when one event is too large, whatever lines it has', async () => {
    const large = 'x'.repeat(5_000_000);
    for (const body of [`data: {"a":"${large}`, `data: ${large}\n`, 'data: x\n'.repeat(4_300_000)]) {
      expect((await faultOf(heard(() => body))).code).toBe('agent_invalid');
    }
  });

  it('is refused when it nests without end', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const fault = await faultOf(
      heard(
        (id) =>
          `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"id":"t","status":{"state":"completed"},"metadata":{"a":${deep}}}}\n\n`,
      ),
    );
    expect(fault.code).toBe('agent_invalid');
  });
});

describe('an agent of v1.0', () => {
  it('may spell its states as the older versions do', async () => {
    const { agents, agent } = await sloppy((id) => ({
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        error: null,
        result: {
          task: {
            id: 't',
            status: { state: 'input-required', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'where?' }] } },
          },
        },
      }),
    }));
    const { interfaces } = agent.card;
    const newer: Agent = { ...agent, card: { ...agent.card, interfaces: interfaces.map((way) => ({ ...way, version: '1.0' })) } };
    expect(lastReply(await gather(agents.send(newer, callFor('x'), [], never)))).toMatchObject({
      state: 'input_required',
      content: 'where?',
    });
  });
});

// The port Agents against agents of the original protocol, and of v0.2: over real HTTP, and with bytes that real ones sent.

import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Agent } from '../../src/agent/card.ts';
import { readPush, verifyPush } from '../../src/agent/push.ts';
import type { RawPart } from '../../src/agent/reply.ts';
import { json, type Site, serve } from '../support/a2a-peer.ts';
import { agentAt, callFor, faultOf, gather, lastReply, never, textsOf } from '../support/agent-call.ts';
import { replay } from '../support/captured.ts';
import { serveFirst } from '../support/first-agent.ts';

const pushKey = 'a key of the service';
const open: Site[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((site) => site.close()));
});

async function keep<Started extends Site>(site: Promise<Started>): Promise<Started> {
  const started = await site;
  open.push(started);
  return started;
}

async function replayed(card: string, answers: Readonly<Record<string, string>>) {
  const { origin } = await keep(replay(card, answers));
  return agentAt(`${origin}/agent.json`);
}

async function meet(options: Parameters<typeof serveFirst>[0], publicUrl: string | null = null) {
  const site = await keep(serveFirst(options));
  return { site, ...(await agentAt(site.origin, { publicUrl, pushSecrets: [pushKey] })) };
}

function sentTo(site: Site, method: string) {
  return site.requests.map(({ body }) => (body === '' ? {} : JSON.parse(body))).filter((request) => request.method === method);
}

describe.each([{ streaming: true }, { streaming: false }])('an agent of v0.1, streaming $streaming', ({ streaming }) => {
  it('is known by its card', async () => {
    const { agent, site } = await meet({ streaming });
    expect(agent.cardUrl).toBe(`${site.origin}/.well-known/agent.json`);
    expect(agent.card.interfaces).toEqual([{ url: `${site.origin}/`, binding: 'JSONRPC', version: '0.1' }]);
    expect(agent.card.skills.map(({ name }) => name)).toEqual(['Weather']);
  });

  it('answers with an artifact in chunks, on the task that we named', async () => {
    const { agents, agent, site } = await meet({ streaming });
    const events = await gather(agents.send(agent, callFor('上海天气如何'), [], never));
    const taskId = 'message-上海天气如何';
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: '上海天气很热', taskId, contextId: taskId });
    expect(events[0]).toEqual({ kind: 'bound', taskId, contextId: taskId });
    if (streaming) expect(textsOf(events)).toBe('Let me see\n上海天气很热');
    const [sent] = sentTo(site, streaming ? 'tasks/sendSubscribe' : 'tasks/send');
    expect(sent.params).toMatchObject({ id: taskId, message: { role: 'user', parts: [{ type: 'text', text: '上海天气如何' }] } });
    expect(JSON.stringify(sent)).not.toContain('kind');
  });

  it('answers in its status alone', async () => {
    const { agents, agent } = await meet({ streaming });
    const reply = lastReply(await gather(agents.send(agent, callFor('hello'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', content: 'Hello World' });
  });

  it('asks back, and is answered on the same task and session', async () => {
    const { agents, agent, site } = await meet({ streaming });
    const question = lastReply(await gather(agents.send(agent, callFor('weather', { contextId: 'session-1' }), [], never)));
    expect(question).toMatchObject({ state: 'input_required', taskId: 'message-weather', contextId: 'session-1' });
    expect(question.content).toContain('您问到哪里的天气');
    const { taskId, contextId, fingerprint } = question;
    const answering = callFor('上海', { taskId, contextId, staleFingerprint: fingerprint });
    const answer = lastReply(await gather(agents.send(agent, answering, [], never)));
    expect(answer).toMatchObject({ state: 'completed', taskId, contextId });
    expect(answer.content).toContain('上海天气很热');
    const sent = sentTo(site, streaming ? 'tasks/sendSubscribe' : 'tasks/send');
    expect(sent.map(({ params }) => [params.id, params.sessionId])).toEqual([
      ['message-weather', 'session-1'],
      ['message-weather', 'session-1'],
    ]);
  });

  it('gets and gives back every kind of part', async () => {
    const { agents, agent } = await meet({ streaming });
    const parts: RawPart[] = [
      { kind: 'bytes', bytes: Uint8Array.of(0, 255, 10), name: 'b.bin', media_type: 'application/octet-stream', metadata: { k: 'v' } },
      { kind: 'link', url: 'https://files.example/a', name: 'a.png', media_type: 'image/png' },
      { kind: 'data', data: { nested: [1, { two: null }] }, metadata: { m: 1 } },
    ];
    const reply = lastReply(await gather(agents.send(agent, callFor('echo'), parts, never)));
    expect(reply.parts.filter(({ kind }) => kind !== 'text')).toEqual(parts);
  });

  it('is asked for the task when the reply was lost, which we can name without it', async () => {
    const { agents, agent } = await meet({ streaming, lost: true });
    const call = callFor('上海天气如何');
    const fault = await faultOf(gather(agents.send(agent, call, [], never)));
    expect([fault.code, fault.notes]).toMatchObject(['agent_down', { sent: true }]);
    expect(await agents.get(agent, call, never)).toMatchObject({ state: 'completed', content: '上海天气很热', taskId: call.messageId });
    expect(await agents.get(agent, callFor('never sent'), never)).toBeNull();
  });

  it('cancels what is at work, and says so of what is over or was never there', async () => {
    const { agents, agent, site } = await meet({ streaming });
    const call = callFor('slow');
    const sending = gather(agents.send(agent, call, [], never));
    for (let look = 0; look < 500 && (await agents.get(agent, call, never)) === null; look++);
    expect(await agents.cancel(agent, call, never)).toBe('canceled');
    site.release();
    expect(lastReply(await sending).state).toBe('canceled');
    expect(await agents.cancel(agent, call, never)).toBe('finished');
    expect(await agents.cancel(agent, callFor('never sent'), never)).toBe('gone');
  });

  it('tells by push that the task has moved', async () => {
    const heard: { readonly headers: Headers; readonly body: unknown }[] = [];
    const receiver = await keep(
      serve(async (request, response) => {
        heard.push({ headers: request.headers, body: await request.json() });
        response.writeHead(202).end();
      }),
    );
    const { agents, agent } = await meet({ streaming, push: true }, receiver.origin);
    const call = callFor('hello');
    await gather(agents.send(agent, call, [], never));
    await vi.waitFor(() => expect(heard).toHaveLength(1));
    expect(receiver.requests.map(({ path }) => path)).toEqual([`/a2a/push/${call.id}`]);
    for (const { headers, body } of heard) {
      expect(await verifyPush([pushKey], call.id, headers)).toBe(true);
      expect(readPush(body)).toEqual({ taskId: call.messageId });
    }
  });

  it('is heard again by whoever subscribes', async () => {
    const { agents, agent, site } = await meet({ streaming });
    const call = callFor('slow');
    const sending = gather(agents.send(agent, call, [], never));
    for (let look = 0; look < 500 && (await agents.get(agent, call, never)) === null; look++);
    const again = agents.subscribe(agent, { ...call, taskId: call.messageId }, never)[Symbol.asyncIterator]();
    expect((await again.next()).value).toMatchObject({ kind: 'bound', taskId: call.messageId });
    site.release();
    expect(lastReply(await sending)).toMatchObject({ state: 'completed' });
    let last = await again.next();
    for (let next = last; !next.done; next = await again.next()) last = next;
    expect(last.value).toMatchObject({ kind: 'reply', reply: { state: 'completed', taskId: call.messageId } });
  });
});

describe('a card that does not say the version', () => {
  it.each(['tasks/send', 'message/send'])('may be of an agent that only knows %s', async (only) => {
    let origin = '';
    const asked: string[] = [];
    const site = await keep(
      serve(async (request, response) => {
        // With `authentication` a card counts as v0.1, without it as v0.3: here either is wrong.
        const sign = only === 'tasks/send' ? {} : { authentication: null };
        if (request.method === 'GET') return json(response, { name: 'Old', url: origin, capabilities: {}, skills: [], ...sign });
        const { id, method } = JSON.parse(await request.text());
        asked.push(method);
        if (method !== only) return json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
        const status = { state: 'completed', message: { role: 'agent', parts: [{ type: 'text', text: 'done' }] } };
        return json(response, { jsonrpc: '2.0', id, result: { id: 't1', status } });
      }),
    );
    ({ origin } = site);
    const { agents, agent } = await agentAt(origin);
    const reply = lastReply(await gather(agents.send(agent, callFor('x'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', content: 'done', taskId: 't1' });
    expect(asked).toEqual([only === 'tasks/send' ? 'message/send' : 'tasks/send', only]);
  });

  it('of an agent that knows neither way is asked in each once', async () => {
    const site = await keep(
      serve(async (request, response) => {
        if (request.method === 'GET') return json(response, { name: 'Odd', url: '/', capabilities: {}, skills: [] });
        const { id } = JSON.parse(await request.text());
        return json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
      }),
    );
    const { agents, agent } = await agentAt(site.origin);
    const fault = await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
    expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { code: -32601 }]);
    expect(site.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  });
});

describe('the server of a2a-agent-coder', () => {
  const answers = {
    'tasks/send': 'coder-send.body',
    'tasks/sendSubscribe': 'coder-stream.sse',
    'tasks/get': 'coder-get.body',
    'tasks/cancel': 'coder-cancel-over.body',
    'message/send': 'coder-message-send.body',
  };

  it('streams one file after another in its status messages', async () => {
    const { agents, agent } = await replayed('coder-card.body', answers);
    expect(agent.card).toMatchObject({ name: 'Coder Agent', streaming: true, interfaces: [{ version: '0.1' }] });
    const reply = lastReply(await gather(agents.send(agent, callFor('fib'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', taskId: 'm-2', content: 'Generating code...\nCode generation completed.' });
    const files = reply.parts.filter((part) => part.kind === 'bytes').map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]);
    expect(files).toEqual([
      ['src/fib', ''],
      ['src/fib.py', '# fib\ndef fib(n):\n    return n if n < 2 else fib(n-1) + fib(n-2)\n'],
      ['index.html', '<button\n'],
    ]);
  });

  it('answers in one piece', async () => {
    const { agents, agent } = await replayed('coder-card.body', answers);
    const unary: Agent = { ...agent, card: { ...agent.card, streaming: false } };
    const reply = lastReply(await gather(agents.send(unary, callFor('fib'), [], never)));
    expect(reply).toMatchObject({ state: 'completed', taskId: 'm-1', contextId: 's-1', content: 'Code generation completed.' });
  });

  it('is looked up and canceled', async () => {
    const { agents, agent } = await replayed('coder-card.body', answers);
    expect(await agents.get(agent, callFor('fib'), never)).toMatchObject({ state: 'completed', taskId: 'm-2' });
    expect(await agents.cancel(agent, callFor('fib'), never)).toBe('finished');
  });

  it('says twice wrapped that it knows no such task, or no such method', async () => {
    const { agents, agent } = await replayed('coder-card.body', { ...answers, 'tasks/get': 'coder-get-unknown.body' });
    expect(await agents.get(agent, callFor('fib'), never)).toBeNull();
    const { interfaces } = agent.card;
    const mistaken: Agent = {
      ...agent,
      card: { ...agent.card, streaming: false, interfaces: interfaces.map((way) => ({ ...way, version: '0.3' })) },
    };
    expect(lastReply(await gather(agents.send(mistaken, callFor('fib'), [], never)))).toMatchObject({ taskId: 'm-1' });
  });
});

describe('the server of SDK 0.2.5', () => {
  const answers = { 'message/send': 'sdk-0.2.5-send.body', 'message/stream': 'sdk-0.2.5-stream.sse' };

  it('is spoken to as v0.3', async () => {
    const { agents, agent } = await replayed('sdk-0.2.5-card.body', answers);
    expect(agent.card.interfaces).toMatchObject([{ version: '0.3' }]);
    const events = await gather(agents.send(agent, callFor('x'), [], never));
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: '上海天气很热' });
    expect(textsOf(events)).toBe('Looking ...\n上海天气很热');
    const unary: Agent = { ...agent, card: { ...agent.card, streaming: false } };
    expect(lastReply(await gather(agents.send(unary, callFor('x'), [], never)))).toMatchObject({
      state: 'completed',
      content: '上海天气很热',
    });
  });
});

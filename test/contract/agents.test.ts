// The port Agents against real A2A servers on loopback, and against peers that misbehave.

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Agent, AgentCard, AgentSource } from '../../src/agent/card.ts';
import { readPush, verifyPush } from '../../src/agent/push.ts';
import type { AgentEvent, AgentReply, RawPart } from '../../src/agent/reply.ts';
import { createAgents } from '../../src/agent/sdk-client.ts';
import type { Call } from '../../src/intention/call.ts';
import { agentName } from '../../src/intention/message.ts';
import type { Agents } from '../../src/world.ts';
import { scriptedExecutor } from '../support/a2a-executor.ts';
import { type Answering, json, type PeerOptions, type Site, serve, servePeer } from '../support/a2a-peer.ts';
import { callFor, faultOf, gather, lastReply, never } from '../support/agent-call.ts';

const pushKey = 'a key of the service';
const open: Site[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((site) => site.close()));
});

async function keep(site: Promise<Site>): Promise<Site> {
  const started = await site;
  open.push(started);
  return started;
}

function agentsOf(agentSources: readonly AgentSource[] = [], publicUrl: string | null = null): Agents {
  return createAgents({ agentSources, publicUrl, pushSecrets: [pushKey] }, null);
}

/** A peer of the SDK, known by the card that we read from it. */
async function meet(options: Omit<PeerOptions, 'executor'>, publicUrl: string | null = null) {
  const executor = scriptedExecutor();
  const site = await keep(servePeer({ ...options, executor }));
  const source: AgentSource = { kind: 'card', url: `${site.origin}/agent` };
  const agents = agentsOf([source], publicUrl);
  const [reading] = await agents.read([source]);
  const found = reading?.agents[0];
  if (found === undefined) throw new Error(`no card: ${reading?.error}`);
  const agent: Agent = { ...usual, name: agentName(found.name), source: source.url, cardUrl: found.cardUrl, card: found.card };
  return { site, agents, agent, executor };
}

const usual = { id: 'a1', deduplicates: false, allowedMs: null, downUntilMs: null } as const;

/** A hand-made peer that is called at its root. */
async function rogue(answer: Answering, card: Partial<AgentCard> = {}, headers?: Record<string, string>) {
  const site = await keep(serve(answer));
  const source: AgentSource = { kind: 'card', url: site.origin, ...(headers ? { headers } : {}) };
  const interfaces = [{ url: `${site.origin}/`, binding: 'JSONRPC', version: '1.0' }] as const;
  const about = { name: 'Rogue', description: '', version: '', interfaces, streaming: false, pushNotifications: false, skills: [] };
  const agent: Agent = { ...usual, name: agentName('rogue'), source: source.url, cardUrl: site.origin, card: { ...about, ...card } };
  return { site, agents: agentsOf([source]), agent };
}

/** The reply to a send; of one that only began, the reply when it is over. */
async function finish(agents: Agents, agent: Agent, call: Call, parts: readonly RawPart[] = []): Promise<AgentReply> {
  let reply = lastReply(await gather(agents.send(agent, call, parts, never)));
  const isOld = () => reply.state === 'working' || reply.fingerprint === call.staleFingerprint;
  for (let look = 0; isOld() && look < 200; look++) {
    await turnOfTheLoop();
    reply = (await agents.get(agent, { ...call, taskId: reply.taskId }, never)) ?? reply;
  }
  return reply;
}

const ways = [
  { binding: 'JSONRPC', version: '1.0', streaming: true },
  { binding: 'JSONRPC', version: '1.0', streaming: false },
  { binding: 'JSONRPC', version: '0.3', streaming: true },
  { binding: 'JSONRPC', version: '0.3', streaming: false },
  { binding: 'HTTP+JSON', version: '1.0', streaming: true },
  { binding: 'HTTP+JSON', version: '1.0', streaming: false },
] as const;

describe.each(ways)('an agent that speaks $binding $version, streaming $streaming', (way) => {
  it('is understood from its card', async () => {
    const { agent, site } = await meet(way);
    expect(agent.card.interfaces).toEqual([{ url: `${site.origin}/agent`, binding: way.binding, version: way.version }]);
    expect(agent.card.streaming).toBe(way.streaming);
  });

  it('answers with artifacts, told as they come where it streams', async () => {
    const { agents, agent } = await meet(way);
    const events = await gather(agents.send(agent, callFor('上海天气如何'), [], never));
    if (way.streaming) {
      expect(events.map(({ kind }) => kind)).toEqual(['bound', 'text', 'text', 'text', 'reply']);
      expect(lastReply(events)).toMatchObject({ state: 'completed', content: '上海天气很热' });
    } else {
      expect(events.map(({ kind }) => kind)).toEqual(['bound', 'reply']);
      expect(await finish(agents, agent, callFor('上海天气如何 again'))).toMatchObject({ state: 'completed', content: '上海天气很热' });
    }
  });

  it('asks back, and is answered on the same task and context', async () => {
    const { agents, agent, site } = await meet(way);
    const question = await finish(agents, agent, callFor('天气如何'));
    expect(question).toMatchObject({ state: 'input_required', content: '您问到哪里的天气' });
    const { taskId, contextId, fingerprint } = question;
    const answer = await finish(agents, agent, callFor('上海天气如何', { taskId, contextId, staleFingerprint: fingerprint }));
    expect(answer).toMatchObject({ state: 'completed', taskId, contextId });
    expect(answer.content).toContain('上海天气很热');
    const sent = site.requests.findLast(({ body }) => body.includes('上海天气如何'));
    expect(JSON.stringify(JSON.parse(sent?.body ?? ''))).toContain(`"taskId":"${taskId}"`);
  });

  it('answers piece by piece in status messages', async () => {
    const { agents, agent } = await meet(way);
    expect((await finish(agents, agent, callFor('travel'))).content).toBe('先去故宫\n再去长城\n再去颐和园');
  });

  it('answers with a plain message', async () => {
    const { agents, agent } = await meet(way);
    const events = await gather(agents.send(agent, callFor('hello'), [], never));
    expect(lastReply(events)).toMatchObject({ state: 'completed', content: 'Hello World', taskId: null });
    expect(events.some(({ kind }) => kind === 'bound')).toBe(false);
  });

  it('gets and gives back every kind of part byte for byte', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, place) => (place * 31) % 256);
    const v1 = way.version === '1.0';
    const parts: RawPart[] = [
      { kind: 'bytes', bytes, name: 'b.bin', media_type: 'application/octet-stream', metadata: { k: 'v' } },
      { kind: 'link', url: 'https://files.example/a b?c=1', name: 'a.png', media_type: 'image/png' },
      // v0.3 has no file name and no media type on these.
      {
        kind: 'data',
        data: { nested: [1, 'zwei', { drei: null }] },
        metadata: { m: 1 },
        ...(v1 ? { media_type: 'application/json' } : {}),
      },
      { kind: 'data', data: ['bare', 1] },
      { kind: 'text', text: 'naïve 🌧\n', metadata: { lang: 'en' }, ...(v1 ? { name: 'n.md', media_type: 'text/markdown' } : {}) },
    ];
    const { agents, agent } = await meet(way);
    const reply = await finish(agents, agent, callFor('echo'), parts);
    expect(reply.parts).toEqual([{ kind: 'text', text: 'echo' }, ...parts]);
  });

  it('is told nothing of the user but the message', async () => {
    const { agents, agent, site } = await meet(way);
    await gather(agents.send(agent, callFor('上海', { referenceTaskIds: [] }), [], never));
    const sent = site.requests.find(({ method }) => method === 'POST');
    expect(sent?.body).toContain('message-上海');
    expect(sent?.body).not.toContain('secret-owner');
    expect(sent?.body).not.toContain('pushNotificationConfig');
  });

  it('knows nothing of a task it never had', async () => {
    const { agents, agent } = await meet(way);
    expect(await agents.get(agent, callFor('x', { taskId: 'no-such-task' }), never)).toBeNull();
    expect(await agents.cancel(agent, callFor('x', { taskId: 'no-such-task' }), never)).toBe('gone');
  });

  it('cancels what is at work, and says so of what is over', async () => {
    const { agents, agent, executor } = await meet(way);
    const call = callFor('slow');
    const reader = agents.send(agent, call, [], never)[Symbol.asyncIterator]();
    const bound = await reader.next();
    if (bound.done || bound.value.kind !== 'bound') throw new Error('the task is not known');
    const known = { ...call, taskId: bound.value.taskId };
    expect(await agents.cancel(agent, known, never)).toBe('canceled');
    expect((await agents.get(agent, known, never))?.state).toBe('canceled');
    executor.release();
    const done = await finish(agents, agent, callFor('上海'));
    expect(await agents.cancel(agent, callFor('上海', { taskId: done.taskId }), never)).toBe('finished');
  });

  it('tells by push that the task has moved, with the secret of the call', async () => {
    // The SDK's sender reports each notification.
    vi.spyOn(console, 'info').mockImplementation(() => undefined);
    const heard: { readonly headers: Headers; readonly body: unknown }[] = [];
    const receiver = await keep(
      serve(async (request, response) => {
        heard.push({ headers: request.headers, body: await request.json() });
        response.writeHead(202).end();
      }),
    );
    const { agents, agent } = await meet({ ...way, push: true }, `${receiver.origin}/`);
    const call = callFor('上海天气如何');
    const done = await finish(agents, agent, call);
    while (heard.length === 0) await turnOfTheLoop();
    expect(receiver.requests[0]?.path).toBe(`/a2a/push/${call.id}`);
    for (const { headers, body } of heard) {
      expect(await verifyPush([pushKey], call.id, headers)).toBe(true);
      expect(await verifyPush([pushKey], 'another-call', headers)).toBe(false);
      expect(readPush(body)).toEqual({ taskId: done.taskId });
    }
  });
});

describe('a task', () => {
  it('is heard again by whoever subscribes', async () => {
    const { agents, agent, executor } = await meet({ binding: 'JSONRPC', version: '1.0', streaming: true });
    const call = callFor('slow');
    const first = agents.send(agent, call, [], never)[Symbol.asyncIterator]();
    const bound = await first.next();
    if (bound.done || bound.value.kind !== 'bound') throw new Error('the task is not known');
    const again = agents.subscribe(agent, { ...call, taskId: bound.value.taskId }, never)[Symbol.asyncIterator]();
    expect((await again.next()).value).toMatchObject({ kind: 'bound', taskId: bound.value.taskId });
    executor.release();
    const rest: AgentEvent[] = [];
    for (let next = await again.next(); !next.done; next = await again.next()) rest.push(next.value);
    expect(lastReply(rest)).toMatchObject({ state: 'completed', content: 'released' });
  });

  it('is found by our message when its id was lost', async () => {
    const { agents, agent } = await meet({ binding: 'JSONRPC', version: '1.0', streaming: true });
    const call = callFor('上海天气如何');
    const { taskId } = lastReply(await gather(agents.send(agent, call, [], never)));
    expect(await agents.get(agent, call, never)).toMatchObject({ taskId, state: 'completed' });
    expect(await agents.get(agent, callFor('never sent'), never)).toBeNull();
  });

  it('of an agent on v0.3 over HTTP+JSON is read too', async () => {
    const message = { message_id: 'm1', role: 'ROLE_AGENT', content: [{ text: '很热' }] };
    const task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED', update: message } };
    const { agents, agent, site } = await rogue((_, response) => json(response, { task }, 201));
    const legacy: Agent = { ...agent, card: { ...agent.card, interfaces: [{ url: site.origin, binding: 'HTTP+JSON', version: '0.3' }] } };
    expect(lastReply(await gather(agents.send(legacy, callFor('x'), [], never)))).toMatchObject({
      taskId: 't1',
      state: 'completed',
      content: '很热',
    });
    expect(site.requests[0]?.path).toBe('/v1/message:send');
  });
});

/** Until the other side has had enough. */
async function endless(response: ServerResponse, chunk: string): Promise<void> {
  const chunks = function* () {
    while (true) yield chunk;
  };
  await pipeline(chunks, response).catch(() => undefined);
}

describe('a peer that misbehaves', () => {
  const sending = async (answer: Answering, card: Partial<AgentCard> = {}) => {
    const { agents, agent } = await rogue(answer, card);
    return faultOf(gather(agents.send(agent, callFor('x'), [], never)));
  };
  const shapes = [{ streaming: false }, { streaming: true }] as const;

  it.each(shapes)('refuses by status, streaming $streaming', async (card) => {
    for (const status of [400, 401, 403, 404, 501]) {
      const fault = await sending((_, response) => json(response, { detail: 'no' }, status), card);
      expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { status, agent: 'rogue', sent: true }]);
    }
  });

  it.each(shapes)('is down for now by status, streaming $streaming', async (card) => {
    for (const [status, sent] of [
      [408, true],
      [429, false],
      [500, true],
      [503, true],
      [521, false],
    ] as const) {
      const fault = await sending((_, response) => void response.writeHead(status, { 'Retry-After': '7' }).end('<h1>no</h1>'), card);
      expect([fault.code, fault.notes, fault.retryAfterSeconds]).toMatchObject(['agent_down', { status, sent }, 7]);
    }
  });

  it.each(shapes)('refuses by an error of the protocol, streaming $streaming', async (card) => {
    for (const status of [200, 400, 500]) {
      const refusal = async (request: Request) => ({
        jsonrpc: '2.0',
        id: JSON.parse(await request.text()).id,
        error: { code: -32602, message: 'no' },
      });
      const fault = await sending(async (request, response) => json(response, await refusal(request), status), card);
      expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { code: -32602 }]);
    }
  });

  it.each(shapes)('answers with a page instead, streaming $streaming', async (card) => {
    const fault = await sending(
      (_, response) => void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Log in</h1>'),
      card,
    );
    expect(fault.code).toBe('agent_invalid');
  });

  it.each(shapes)('answers with JSON that is not A2A, streaming $streaming', async (card) => {
    expect((await sending((_, response) => json(response, { hello: 'world' }), card)).code).toBe('agent_invalid');
  });

  it.each(shapes)('redirects, and is not followed, streaming $streaming', async (card) => {
    const elsewhere = await keep(serve((_, response) => json(response, {})));
    const fault = await sending((_, response) => void response.writeHead(307, { Location: elsewhere.origin }).end(), card);
    expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { status: 307 }]);
    expect(elsewhere.requests).toEqual([]);
  });

  it('answers without end', async () => {
    const fault = await sending(async (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      await endless(response, 'x'.repeat(65_536));
    });
    expect(fault.code).toBe('agent_invalid');
  });

  it('streams without end', async () => {
    const fault = await sending(
      async (request, response) => {
        const { id } = JSON.parse(await request.text());
        const result = {
          artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: 'x'.repeat(65_536) }] }, append: true },
        };
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        await endless(response, `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      },
      { streaming: true },
    );
    expect(fault.code).toBe('agent_invalid');
  });

  const working = (id: unknown) =>
    `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } })}\n\n`;

  it('breaks off or ends its stream too early: there is no reply, and no fault', async () => {
    for (const end of ['destroy', 'end'] as const) {
      const { agents, agent } = await rogue(
        async (request, response) => {
          response.writeHead(200, { 'Content-Type': 'text/event-stream' });
          response.write(working(JSON.parse(await request.text()).id), () => response[end]());
        },
        { streaming: true },
      );
      expect(await gather(agents.send(agent, callFor('x'), [], never))).toEqual([{ kind: 'bound', taskId: 't', contextId: 'c' }]);
    }
  });

  it('reports an error in the middle of its stream', async () => {
    const fault = await sending(
      async (request, response) => {
        const { id } = JSON.parse(await request.text());
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.end(`${working(id)}data: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'boom' } })}\n\n`);
      },
      { streaming: true },
    );
    expect([fault.code, fault.notes]).toMatchObject(['agent_refused', { code: -32603 }]);
  });

  it('breaks off a plain answer: it was sent, and is not known to be done', async () => {
    const fault = await sending((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' });
      response.write('{"jsonrpc"', () => response.destroy());
    });
    expect([fault.code, fault.notes]).toMatchObject(['agent_down', { sent: true }]);
  });

  it('is not there: nothing was sent, for certain', async () => {
    const { agents, agent, site } = await rogue(() => undefined);
    await site.close();
    const fault = await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
    expect([fault.code, fault.notes]).toMatchObject(['agent_down', { sent: false }]);
  });

  it('is not there, as whoever knocks first finds out', async () => {
    const { agent, site } = await rogue((_, response) => json(response, {}));
    const agents = createAgents({ agentSources: [], publicUrl: null, pushSecrets: [pushKey] }, async () => false);
    const fault = await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
    expect([fault.code, fault.notes]).toMatchObject(['agent_down', { sent: false }]);
    expect(site.requests).toEqual([]);
  });

  it.each(shapes)('never answers, until we stop listening, streaming $streaming', async (card) => {
    const stop = new AbortController();
    const { agents, agent } = await rogue(() => stop.abort(), card);
    expect((await faultOf(gather(agents.send(agent, callFor('x'), [], stop.signal)))).code).toBe('aborted');
    expect((await faultOf(gather(agents.send(agent, callFor('x'), [], stop.signal)))).notes).toMatchObject({ sent: false });
  });

  it('falls silent in the middle of its stream, until we stop listening', async () => {
    const stop = new AbortController();
    const { agents, agent } = await rogue(
      async (request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(working(JSON.parse(await request.text()).id));
      },
      { streaming: true },
    );
    const reader = agents.send(agent, callFor('x'), [], stop.signal)[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ kind: 'bound' });
    stop.abort();
    expect((await faultOf(reader.next())).code).toBe('aborted');
  });
});

describe('credentials of a source', () => {
  it('go to its own origin alone', async () => {
    const answer: Answering = (_, response) => json(response, {}, 500);
    const { agents, agent, site } = await rogue(answer, {}, { Authorization: 'Bearer secret' });
    const elsewhere = await keep(serve(answer));
    await faultOf(gather(agents.send(agent, callFor('x'), [], never)));
    const moved = {
      ...agent,
      card: { ...agent.card, interfaces: [{ url: elsewhere.origin, binding: 'JSONRPC', version: '1.0' }] },
    } as const;
    await faultOf(gather(agents.send(moved, callFor('x'), [], never)));
    expect(site.requests.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer secret']);
    expect(elsewhere.requests.map(({ headers }) => headers.get('authorization'))).toEqual([null]);
  });
});

describe('sources', () => {
  const card = (origin: string, path = '/') => ({ name: 'Old Weather', url: `${origin}${path}`, capabilities: {}, skills: [] });

  it('are cards at their address, or at either well-known place', async () => {
    let origin = '';
    const site = await keep(
      serve((request, response) => {
        const { pathname } = new URL(request.url);
        const there = ['/cards/weather.json', '/old/.well-known/agent.json', '/new/.well-known/agent-card.json'].includes(pathname);
        return there ? json(response, card(origin)) : json(response, {}, 404);
      }),
    );
    ({ origin } = site);
    const urls = ['/cards/weather.json', '/old', '/old/', '/new'].map((path) => `${origin}${path}`);
    const readings = await agentsOf().read(urls.map((url) => ({ kind: 'card', url })));
    expect(readings.map(({ source, error }) => [source, error])).toEqual(urls.map((url) => [url, null]));
    expect(readings.map(({ agents }) => agents[0]?.cardUrl.slice(origin.length))).toEqual([
      '/cards/weather.json',
      '/old/.well-known/agent.json',
      '/old/.well-known/agent.json',
      '/new/.well-known/agent-card.json',
    ]);
    expect(readings[0]?.agents[0]).toMatchObject({ namespace: 'default', name: 'old-weather' });
  });

  it('may name their agent', async () => {
    const site = await keep(serve((_, response) => json(response, card(''))));
    const named = (name: string) => ({ kind: 'card', url: `${site.origin}/a.json`, name }) as const;
    const readings = await agentsOf().read([named('天气'), named('ops/weather'), named('plan')]);
    expect(readings.map(({ agents }) => [agents[0]?.namespace, agents[0]?.name])).toEqual([
      ['default', '天气'],
      ['ops', 'weather'],
      ['default', 'plan-agent'],
    ]);
  });

  it('are lists of agents on their own origin', async () => {
    let origin = '';
    const site = await keep(
      serve((_, response) =>
        json(response, [
          { namespace: 'default', name: 'weather', card: card(origin.replace('127.0.0.1', 'localhost'), '/default/weather/') },
          { namespace: 'ops', name: 'disk', card: card(origin, '/ops/disk') },
          { namespace: 'ops', name: 'evil', card: card('http://evil.example', '/ops/evil') },
          { namespace: 'ops', name: 'broken', card: null },
        ]),
      ),
    );
    ({ origin } = site);
    const [reading] = await agentsOf().read([{ kind: 'list', url: origin }]);
    expect(reading?.error).toBeNull();
    expect(reading?.agents.map(({ namespace, name, cardUrl }) => [namespace, name, new URL(cardUrl).pathname])).toEqual([
      ['default', 'weather', '/default/weather/.well-known/agent-card.json'],
      ['ops', 'disk', '/ops/disk/.well-known/agent-card.json'],
    ]);
  });

  it('say how long they stay fresh', async () => {
    const fresh = async (cacheControl?: string) => {
      const site = await keep(
        serve(
          (_, response) =>
            void response.writeHead(200, cacheControl ? { 'Cache-Control': cacheControl } : {}).end(JSON.stringify(card(''))),
        ),
      );
      const [reading] = await agentsOf().read([{ kind: 'card', url: `${site.origin}/a.json` }]);
      return reading?.freshForMs;
    };
    const told = [undefined, 'public, max-age=600', 'max-age=1', 'max-age=999999', 'no-store'];
    expect(await Promise.all(told.map(fresh))).toEqual([300_000, 600_000, 30_000, 3_600_000, 30_000]);
  });

  it('say what is wrong, each for itself', async () => {
    const broken = async (answer: Answering) => (await keep(serve(answer))).origin;
    const gone = await serve(() => undefined);
    await gone.close();
    const urls = [
      await broken((_, response) => json(response, {}, 401)),
      await broken((_, response) => void response.end('<h1>hi</h1>')),
      await broken((_, response) => json(response, {})),
      await broken((_, response) => void response.end(`"${'x'.repeat(1_100_000)}"`)),
      gone.origin,
      'ftp://127.0.0.1/',
      `${(await keep(serve((_, response) => json(response, card(''))))).origin}/a.json`,
    ];
    const readings = await agentsOf().read(urls.map((url) => ({ kind: 'card', url })));
    expect(readings.map(({ error }) => error)).toEqual([
      'it answered HTTP 401',
      'it answered with something that is not JSON',
      'the card names no address of the agent',
      'it answered with more than 1048576 bytes',
      'it cannot be reached',
      'its address is not one we call',
      null,
    ]);
    expect(readings.map(({ freshForMs }) => freshForMs)).toEqual([15_000, 15_000, 15_000, 15_000, 15_000, 15_000, 300_000]);
    const [list] = await agentsOf().read([{ kind: 'list', url: urls[2] ?? '' }]);
    expect(list?.error).toBe('it is not a list of agents, each with namespace, name and card');
  });
});

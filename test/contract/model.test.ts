// The planner's port over a real socket, against the bytes of many servers. Effects: loopback.

import { afterEach, expect, test } from 'vitest';
import { Fault } from '../../src/fault.ts';
import { createPlanner, type PlannerLimits } from '../../src/plan/ai-sdk.ts';
import type { Prompt, RawDecision } from '../../src/plan/plan.ts';
import {
  callsAgents,
  chunk,
  done,
  frame,
  type ModelReply,
  type ModelRequest,
  type ModelServer,
  refuses,
  reports,
  startModelServer,
  usage,
} from '../support/model-server.ts';

const quick: Partial<PlannerLimits> = { backoffBaseMs: 1, backoffCapMs: 2 };

const prompt: Prompt = {
  instructions: 'Plan.',
  turns: [{ role: 'user', text: '天气如何' }],
  tools: [
    {
      name: 'call_agent',
      description: 'Asks an agent.',
      parameters: {
        type: 'object',
        properties: { agent: { type: 'string', enum: ['weather'] }, query: { type: 'string' } },
        required: ['agent', 'query'],
      },
    },
  ],
  forced: false,
};

let server: ModelServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(script: readonly ModelReply[] | ((request: ModelRequest) => ModelReply)): Promise<ModelServer> {
  let served = 0;
  server = await startModelServer((request) => (typeof script === 'function' ? script(request) : (script[served++] ?? refuses(418))));
  return server;
}

interface Asked {
  readonly decision: RawDecision | null;
  readonly fault: Fault | null;
  readonly heard: string;
}

async function ask(
  { url }: ModelServer,
  about: Prompt = prompt,
  limits: Partial<PlannerLimits> = {},
  signal = new AbortController().signal,
): Promise<Asked> {
  const planner = createPlanner({ baseUrl: url, apiKey: 'secret', name: 'scripted', standIn: false }, { ...quick, ...limits });
  let heard = '';
  try {
    const decision = await planner.decide(
      about,
      (text) => {
        heard += text;
      },
      signal,
    );
    return { decision, fault: null, heard };
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return { decision: null, fault: thrown, heard };
  }
}

/** Every byte in a write of its own. */
const bytewise = (writes: readonly string[]) => [...new TextEncoder().encode(writes.join(''))].map((byte) => Uint8Array.of(byte));
const weatherCall = { agent: 'weather', query: '上海天气如何' };
const spread = (...pieces: readonly string[]) =>
  pieces.map((piece, index) =>
    chunk({
      tool_calls: [
        {
          index: 0,
          ...(index === 0 ? { id: 'call_1', type: 'function' } : {}),
          function: { ...(index === 0 ? { name: 'call_agent' } : {}), arguments: piece },
        },
      ],
    }),
  );

test('a report is heard as it is made and comes whole with what it cost', async () => {
  const asked = await ask(await serve([reports('上海天气很热', 2)]));
  expect(asked.heard).toBe('上海天气很热');
  expect(asked.decision).toEqual({
    text: '上海天气很热',
    toolCalls: [],
    finish: 'stop',
    usage: { model: 'scripted', input_tokens: 100, output_tokens: 20, cached_tokens: 64 },
  });
});

test('the transcript goes over the wire as what it was', async () => {
  const running = await serve([reports('ok')]);
  await ask(running, {
    ...prompt,
    turns: [
      { role: 'user', text: '天气如何' },
      { role: 'calls', note: '', calls: [{ id: 'c1', tool: 'call_agent', input: { agent: 'weather', query: '天气如何' } }] },
      { role: 'results', results: [{ id: 'c1', tool: 'call_agent', text: 'input_required: 您问到哪里的天气' }] },
      { role: 'user', text: '上海' },
    ],
  });
  expect(running.requests[0]).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer secret' },
    body: {
      model: 'scripted',
      stream: true,
      tool_choice: 'auto',
      messages: [
        { role: 'system', content: 'Plan.' },
        { role: 'user', content: '天气如何' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'call_agent', arguments: '{"agent":"weather","query":"天气如何"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'input_required: 您问到哪里的天气' },
        { role: 'user', content: '上海' },
      ],
      tools: [{ type: 'function', function: { name: 'call_agent', parameters: prompt.tools[0]?.parameters } }],
    },
  });
});

test('a forced report keeps the tools in sight and calls none', async () => {
  const running = await serve([reports('ok')]);
  await ask(running, { ...prompt, forced: true });
  expect(running.requests[0]?.body).toMatchObject({ tool_choice: 'none', tools: [{}] });
});

test('without tools neither tools nor a choice are sent', async () => {
  const running = await serve([reports('ok')]);
  await ask(running, { ...prompt, tools: [], forced: true });
  expect(running.requests[0]?.body.tools).toBeUndefined();
  expect(running.requests[0]?.body.tool_choice).toBeUndefined();
});

test.each<[string, ModelReply, Partial<RawDecision>]>([
  ['arguments in one chunk', callsAgents(weatherCall), { finish: 'tool-calls' }],
  [
    'arguments in many chunks',
    { status: 200, writes: [...spread('{"agent":"wea', 'ther","query":"上', '海天气如何"}'), chunk({}, 'tool_calls'), done] },
    { finish: 'tool-calls' },
  ],
  [
    'no call id',
    {
      status: 200,
      writes: [
        chunk({ tool_calls: [{ index: 0, type: 'function', function: { name: 'call_agent', arguments: JSON.stringify(weatherCall) } }] }),
        chunk({}, 'tool_calls'),
        done,
      ],
    },
    { finish: 'tool-calls' },
  ],
  ['finish_reason stop', { status: 200, writes: [...spread(JSON.stringify(weatherCall)), chunk({}, 'stop'), done] }, { finish: 'stop' }],
  [
    'no usage',
    { status: 200, writes: [...spread(JSON.stringify(weatherCall)), chunk({}, 'tool_calls'), done] },
    { usage: { model: 'scripted' } },
  ],
  [
    'text before the call',
    { status: 200, writes: [chunk({ content: '我来查一下' }), ...spread(JSON.stringify(weatherCall)), chunk({}, 'tool_calls'), done] },
    { text: '我来查一下' },
  ],
  [
    'reasoning before the call',
    { status: 200, writes: [chunk({ reasoning_content: 'Hm.' }), ...spread(JSON.stringify(weatherCall)), chunk({}, 'tool_calls'), done] },
    { text: '' },
  ],
  [
    'bytes cut inside a character',
    { status: 200, writes: [...bytewise(spread(JSON.stringify(weatherCall))), chunk({}, 'tool_calls'), done] },
    {},
  ],
])('a call is understood with %s', async (_, reply, expected) => {
  const { decision } = await ask(await serve([reply]));
  expect(decision).toMatchObject({ toolCalls: [{ name: 'call_agent', input: weatherCall }], ...expected });
  expect(decision?.toolCalls[0]?.id).not.toBe('');
  expect(decision?.toolCalls).toHaveLength(1);
});

test('two calls come in order, although one was enough', async () => {
  const { decision } = await ask(await serve([callsAgents(weatherCall, { agent: 'weather', query: '北京天气如何' })]));
  expect(decision?.toolCalls.map((call) => call.input)).toMatchObject([{ query: '上海天气如何' }, { query: '北京天气如何' }]);
});

test.each<[string, string, string]>([
  ['cut arguments', 'call_agent', '{"agent":"wea'],
  ['a tool that is not there', 'look_up', '{}'],
])('%s are told from good calls', async (_, name, input) => {
  const reply = {
    status: 200,
    writes: [
      chunk({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name, arguments: input } }] }),
      chunk({}, 'tool_calls'),
      done,
    ],
  };
  const { decision } = await ask(await serve([reply]));
  expect(decision?.toolCalls).toMatchObject([{ name, invalid: expect.any(String) }]);
});

test.each<[string, readonly string[]]>([
  ['in a field of its own', [chunk({ reasoning_content: 'secret thought' })]],
  ['in the text', [chunk({ content: '<thi' }), chunk({ content: 'nk>secret thought</th' }), chunk({ content: 'ink>' })]],
])('what the model thinks %s is dropped', async (_, thought) => {
  const asked = await ask(
    await serve([{ status: 200, writes: [...thought, chunk({ content: '上海天气很热' }), chunk({}, 'stop'), done] }]),
  );
  expect(asked.decision?.text).toBe('上海天气很热');
  expect(asked.heard).toBe('上海天气很热');
});

test('a call although none was allowed is no report', async () => {
  const { decision } = await ask(await serve([callsAgents(weatherCall)]), { ...prompt, forced: true });
  expect(decision).toMatchObject({ finish: 'tool-calls', toolCalls: [{ invalid: expect.any(String) }] });
});

test.each([
  ['length', 'length'],
  ['content_filter', 'content-filter'],
  ['eos', 'other'],
] as const)('finish_reason %s is passed on', async (reason, finish) => {
  const { decision } = await ask(await serve([{ status: 200, writes: [chunk({ content: 'half' }), chunk({}, reason), done] }]));
  expect(decision).toMatchObject({ text: 'half', finish });
});

test.each([
  [false, undefined, 1],
  [true, undefined, 0],
] as const)('a server that refuses tool_choice is asked once more without it (forced: %s)', async (forced, choice, tools) => {
  const running = await serve([refuses(400, '"auto" tool choice requires --enable-auto-tool-choice'), reports('ok')]);
  const { decision } = await ask(running, { ...prompt, forced });
  expect(decision?.text).toBe('ok');
  expect(running.requests[1]?.body.tool_choice).toBe(choice);
  expect(running.requests[1]?.body.tools?.length ?? 0).toBe(tools);
});

test('a server that refuses it twice has refused', async () => {
  const running = await serve(() => refuses(400, 'tool_choice is not supported'));
  expect((await ask(running)).fault).toMatchObject({ code: 'model_refused', notes: { status: 400 } });
  expect(running.requests).toHaveLength(2);
});

test.each([400, 401, 403, 404])('status %i is final, and the fault tells the status and nothing of the prompt', async (status) => {
  const running = await serve(() => refuses(status, 'no'));
  const { fault } = await ask(running);
  expect(fault).toMatchObject({ code: 'model_refused', notes: { status } });
  expect(fault?.cause).toBeUndefined();
  expect(running.requests).toHaveLength(1);
});

test('HTML instead of a stream is final', async () => {
  const running = await serve(() => ({ status: 200, headers: { 'content-type': 'text/html' }, writes: ['<html>Please log in</html>'] }));
  expect((await ask(running)).fault?.code).toBe('model_refused');
  expect(running.requests).toHaveLength(1);
});

test.each<[string, ModelReply]>([
  ['429', refuses(429, 'slow down', { 'retry-after': '0' })],
  ['500', refuses(500)],
  ['a stream that ends before it began', { status: 200, writes: [] }],
  ['an error frame', { status: 200, writes: [frame({ error: { message: 'overloaded', type: 'server_error' } })] }],
  ['a socket that breaks before any text', { status: 200, writes: [chunk({ role: 'assistant', content: '' }), 'destroy'] }],
])('%s is asked again', async (_, reply) => {
  const running = await serve([reply, reports('ok')]);
  expect(await ask(running)).toMatchObject({ decision: { text: 'ok' }, heard: 'ok' });
  expect(running.requests).toHaveLength(2);
});

test('after three attempts the model is down', async () => {
  const running = await serve(() => refuses(500));
  expect((await ask(running)).fault).toMatchObject({ code: 'model_down', notes: { status: 500 } });
  expect(running.requests).toHaveLength(3);
});

test('a server that wants a long pause is down, and the fault tells how long', async () => {
  const running = await serve(() => refuses(429, 'quota', { 'retry-after': '60' }));
  expect((await ask(running)).fault).toMatchObject({ code: 'model_down', retryAfterSeconds: 60 });
  expect(running.requests).toHaveLength(1);
});

test('the pause that a server asks for is kept', async () => {
  const timesMs: number[] = [];
  const running = await serve(() => {
    timesMs.push(performance.now());
    return timesMs.length === 1 ? refuses(429, 'slow down', { 'retry-after': '1' }) : reports('ok');
  });
  await ask(running);
  const [first = 0, second = 0] = timesMs;
  expect(second - first).toBeGreaterThan(950);
});

test.each<[string, ModelReply['writes'][number]]>([
  ['a broken socket', 'destroy'],
  ['a stall', 'hang'],
  ['an error frame', frame({ error: { message: 'overloaded', type: 'server_error' } })],
])('%s after text was heard is not asked again', async (_, end) => {
  const running = await serve(() => ({ status: 200, writes: [chunk({ content: '上海' }), { pauseMs: 20 }, end] }));
  expect(await ask(running, prompt, { idleMs: 200 })).toMatchObject({ heard: '上海', fault: { code: 'model_down' } });
  expect(running.requests).toHaveLength(1);
});

test('a stream that merely ends is no report', async () => {
  const { decision } = await ask(await serve([{ status: 200, writes: [chunk({ content: '上海天气' })] }]));
  expect(decision).toMatchObject({ text: '上海天气', finish: 'interrupted' });
});

test.each<[string, ModelReply]>([
  ['no headers', { status: null, writes: [] }],
  ['headers and no byte', { status: 200, writes: ['hang'] }],
])('a silent server (%s) is asked again, then down', async (_, reply) => {
  const running = await serve(() => reply);
  expect((await ask(running, prompt, { firstByteMs: 60, maxAttempts: 2 })).fault).toMatchObject({
    code: 'model_down',
    notes: { why: 'no first byte' },
  });
  expect(running.requests).toHaveLength(2);
});

test('a server that keeps the line alive is waited for', async () => {
  const alive = Array.from({ length: 6 }, () => [': keep-alive\n\n', { pauseMs: 60 }]).flat();
  const asked = await ask(await serve([{ status: 200, writes: [...alive, chunk({ content: 'ok' }), chunk({}, 'stop'), done] }]), prompt, {
    idleMs: 200,
  });
  expect(asked.decision?.text).toBe('ok');
});

test('one decision takes no longer than its total, pauses included', async () => {
  const running = await serve(() => ({ status: null, writes: [] }));
  expect((await ask(running, prompt, { totalMs: 100 })).fault?.code).toBe('model_down');
  expect(running.requests).toHaveLength(1);
});

test('an endless stream is left', async () => {
  const running = await serve(() => ({
    status: 200,
    writes: [...Array.from({ length: 50 }, () => chunk({ content: 'more and more' })), 'hang'],
  }));
  expect((await ask(running, prompt, { maxBytes: 4_096 })).fault).toMatchObject({ code: 'model_down', notes: { why: 'too long' } });
});

test('a signal ends the decision at once, in mid-stream and in a pause', async () => {
  const abort = new AbortController();
  const streaming = await serve(() => ({ status: 200, writes: [chunk({ content: 'half' }), { pauseMs: 20 }, 'hang'] }));
  const planner = createPlanner({ baseUrl: streaming.url, apiKey: '', name: 'scripted', standIn: false });
  await expect(planner.decide(prompt, () => abort.abort(), abort.signal)).rejects.toMatchObject({ code: 'aborted' });
  await streaming.close();
  const later = new AbortController();
  const pausing = await serve(() => {
    setTimeout(() => later.abort(), 50);
    return refuses(429, 'slow down', { 'retry-after': '15' });
  });
  expect((await ask(pausing, prompt, {}, later.signal)).fault?.code).toBe('aborted');
});

test('without a key the server may still answer', async () => {
  const running = await serve([{ status: 200, writes: [chunk({ content: 'ok' }), chunk({}, 'stop'), usage, done] }]);
  const planner = createPlanner({ baseUrl: running.url, apiKey: '', name: 'scripted', standIn: false });
  expect((await planner.decide(prompt, () => {}, new AbortController().signal)).text).toBe('ok');
});

// The stand-in for a model: as an OpenAI-compatible server to the AI SDK, and as the planner's model.

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, streamText } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, serveStandIn } from '../../src/local/stand-in/server.ts';
import { createPlanner } from '../../src/plan/ai-sdk.ts';
import { parse } from '../../src/plan/parse.ts';
import { render } from '../../src/plan/prompt.ts';
import type { StepContext } from '../../src/step/context.ts';
import { agent, call, elsewhere, outcome, query, question, report, stepContext, user } from '../support/step-context.ts';

let served: Served;
beforeAll(async () => {
  served = await serveStandIn({ delayMs: 0 });
});
afterAll(() => served.close());

const model = () => createOpenAI({ baseURL: `${served.url}/v1`, apiKey: 'any' }).chat('stand-in');

const tools = {
  call_agent: {
    description: 'Asks an agent.',
    inputSchema: jsonSchema<{ agent: string; query: string }>({
      type: 'object',
      properties: { agent: { type: 'string', enum: ['weather'] }, query: { type: 'string' } },
    }),
  },
};
const agents = '<agents>\n- weather: Tells the weather.\n  skill: Forecast: of a city; examples: 上海天气如何\n</agents>';

describe('as a server', () => {
  it('streams text in pieces, with its reason to stop and its usage', async () => {
    const deltas: string[] = [];
    const { stream } = streamText({ model: model(), prompt: `${agents}\n\nhello`, tools, maxRetries: 0 });
    for await (const part of stream) {
      if (part.type === 'text-delta') deltas.push(part.text);
      if (part.type !== 'finish') continue;
      expect(part.finishReason).toBe('stop');
      expect(part.totalUsage.inputTokens).toBeGreaterThan(0);
      expect(part.totalUsage.outputTokens).toBeGreaterThan(0);
    }
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.join('')).toMatch(/^Hello![\s\S]*weather/u);
  });

  it('streams a tool call with its arguments in pieces', async () => {
    const { stream } = streamText({ model: model(), prompt: `${agents}\n\n上海天气如何`, tools, maxRetries: 0 });
    let pieces = 0;
    for await (const part of stream) {
      if (part.type === 'tool-input-delta') pieces += 1;
      if (part.type === 'tool-call') expect(part.input).toMatchObject({ agent: 'weather', query: '上海天气如何' });
      if (part.type === 'finish') expect(part.finishReason).toBe('tool-calls');
    }
    expect(pieces).toBeGreaterThan(3);
  });

  it('answers whole when no stream is asked for, and calls nothing when told so', async () => {
    const called = await generateText({ model: model(), prompt: `${agents}\n\n上海天气如何`, tools });
    expect(called.toolCalls).toMatchObject([{ toolName: 'call_agent', input: { agent: 'weather' } }]);
    const told = await generateText({ model: model(), prompt: `${agents}\n\n上海天气如何`, tools, toolChoice: 'none' });
    expect(told.finishReason).toBe('stop');
    expect(told.text).not.toBe('');
  });

  it('names its model, and refuses what it cannot read', async () => {
    expect(await (await fetch(`${served.url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'stand-in' }] });
    const url = `${served.url}/v1/chat/completions`;
    for (const body of ['not json', '{}', '{"messages":[]}']) {
      const response = await fetch(url, { method: 'POST', body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    }
    expect((await fetch(`${served.url}/v1/nothing`)).status).toBe(404);
  });
});

const weather = agent('weather', 'Tells the weather of a city.', ['上海天气如何', 'Weather in Paris?']);
const people = agent('people', 'Says who a historical figure was: 曹操 Cao Cao.', ['曹操是谁', 'Who was Cao Cao?']);

describe("as the planner's model", () => {
  /** The planner's own prompt, adapter and parser around the stand-in. */
  async function plan(given: Partial<StepContext>) {
    const context = stepContext({ agents: [weather, people], ...given });
    const { prompt, offer } = render(context, {
      today: '2026-11-21',
      planInstructions: '',
      maxSteps: 8,
      maxCalls: 8,
      maxTokens: 200_000,
      forced: false,
    });
    const planner = createPlanner({ baseUrl: `${served.url}/v1`, apiKey: 'any', name: 'stand-in', standIn: true });
    const raw = await planner.decide(prompt, () => {}, new AbortController().signal);
    const parsed = parse(raw, offer);
    if (parsed.kind !== 'plan') throw new Error(`expected a plan, got ${JSON.stringify(parsed)}`);
    return parsed.plan;
  }

  const asked = [
    user(1, '天气如何'),
    query(2, 1, 0, 'c1', 'weather', '天气如何'),
    outcome(3, 'input_required', 'c1', 'weather', '您问到哪里的天气'),
  ];
  const open = {
    calls: [call('c1', 'weather', 'input_required')],
    questions: [question('c1', 'weather', '您问到哪里的天气', '天气如何')],
  };

  it('asks weather, passes the answer on as a complete sentence, and reports its words', async () => {
    expect(await plan({ messages: [user(1, '天气如何')] })).toMatchObject({
      kind: 'call',
      calls: [{ agent: 'weather', query: '天气如何' }],
    });

    const answered = await plan({ messages: [...asked, user(4, '上海')], ...open });
    expect(answered).toMatchObject({ kind: 'call', calls: [{ agent: 'weather', query: '上海天气如何', answers: 'c1' }] });

    const messages = [
      ...asked,
      user(4, '上海'),
      query(5, 2, 0, 'c2', 'weather', '上海天气如何'),
      outcome(6, 'answer', 'c2', 'weather', '上海天气很热'),
    ];
    const calls = [call('c1', 'weather', 'resumed'), call('c2', 'weather')];
    expect(await plan({ messages, calls })).toEqual({ kind: 'report', text: '上海天气很热' });
  });

  it('lets another question start something new', async () => {
    expect(await plan({ messages: [...asked, user(4, '曹操是谁')], ...open })).toMatchObject({ kind: 'reassign', to: 'new' });
    const moved = user(4, '曹操是谁', { movedTo: stepContext({}).intentionId });
    const called = await plan({ messages: [moved], history: [user(1, '天气如何')] });
    expect(called).toMatchObject({ kind: 'call', calls: [{ agent: 'people', query: '曹操是谁' }] });
  });

  it('moves a late answer to the question it answers', async () => {
    const given = {
      messages: [user(8, '上海')],
      history: [user(1, '天气如何'), user(4, '曹操是谁'), report(7, '曹操是东汉末年的政治家。')],
      questions: [question('c1', 'weather', '您问到哪里的天气', '天气如何', elsewhere)],
    };
    expect(await plan(given)).toMatchObject({ kind: 'reassign', to: 'c1' });
  });

  it('reports when it must, naming what is missing', async () => {
    const messages = [user(1, '曹操是谁'), query(2, 1, 0, 'c1', 'people', '曹操是谁'), outcome(3, 'error', 'c1', 'people', '忙')];
    const told = await plan({ messages, calls: [call('c1', 'people', 'failed')], step: 7 });
    expect(told).toMatchObject({ kind: 'report', text: 'people 没有完成：忙\n因此“曹操是谁”没有得到回答。' });
  });
});

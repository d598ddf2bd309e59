// Parts of the world that are away: the database, the model, every agent. Nothing accepted is lost.

import { describe, expect, it } from 'vitest';
import { clientOf } from '../support/client.ts';
import { refuses } from '../support/model-server.ts';
import { standIn, useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather'] });

describe('while the database is away', () => {
  it('callers are told to come back, and a question accepted before gets its answer', async () => {
    const { client, database, model } = town();
    const asked = Promise.withResolvers<void>();
    const away = Promise.withResolvers<void>();
    model.follow(async (request) => {
      asked.resolve();
      await away.promise;
      return standIn(request);
    });
    const { conversation_id, intention_id } = await client.tell(null, '上海天气如何');
    await asked.promise;
    await database.stop();
    away.resolve();
    for (const [method, path] of [
      ['GET', '/healthz'],
      ['GET', '/v1/conversations'],
      ['GET', `/v1/conversations/${conversation_id}/messages`],
      ['POST', `/v1/conversations/${conversation_id}/messages`],
      ['POST', '/v1/chat'],
    ] as const) {
      const init = method === 'POST' ? { body: '{"content":"x","query":"x"}', headers: { 'content-type': 'application/json' } } : {};
      const body = path === '/v1/chat' || method === 'GET' ? init : { ...init, body: '{"content":"x"}' };
      const response = await client.send(path, { method, ...body });
      expect([path, response.status]).toEqual([path, 503]);
      expect(await response.json()).toMatchObject({ code: 'database_down' });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await database.start();
    while ((await client.status(conversation_id, intention_id)) !== 'answered') await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await client.rows(conversation_id)).map(({ content }) => content)).toEqual([
      '上海天气如何',
      '上海天气如何',
      '上海天气很热',
      '上海天气很热',
    ]);
  });
});

describe('while the model is away', () => {
  it.each([
    ['answers 500', () => refuses(500), 'cannot be reached'],
    ['is busy', () => refuses(429, 'slow down', { 'retry-after': '0' }), 'cannot be reached'],
    ['does not know us', () => refuses(401), 'refused'],
    ['talks rubbish', () => ({ status: 200, writes: ['data: {"choices": 7}\n\n', 'data: [DONE]\n\n'] }), 'cannot be reached'],
  ] as const)('since it %s, the question ends in words that say so', async (_, script, words) => {
    town().model.follow(script);
    const answered = await town().client.say(null, 'how is the weather?');
    expect(answered.status).toBe('failed');
    expect(answered.answer).toContain(words);
    const rows = await town().client.rows(answered.conversation_id);
    expect(rows.at(-1)).toMatchObject({ role: 'assistant', type: 'error', content: answered.answer });
  });

  it('for a moment, nobody notices', async () => {
    let failures = 1;
    town().model.follow((request) => (failures-- > 0 ? refuses(503) : standIn(request)));
    expect(await town().client.say(null, '上海天气如何')).toMatchObject({ status: 'answered', answer: '上海天气很热' });
  });
});

describe('without any agent', () => {
  it('the answer says that none can be reached, and the sources are named with their errors', async () => {
    const { url } = await town().neighbour({ A2A_AGENTS: '["http://127.0.0.1:1/.well-known/agent-card.json"]' });
    const lonely = clientOf(url);
    const answered = await lonely.say(null, '上海天气如何');
    expect(answered.status).toBe('answered');
    expect(answered.answer).toBe('现在没有可用的智能体。');
    const agents = await (await lonely.send('/v1/agents')).json();
    expect(agents).toMatchObject({ data: [], errors: [{ origin: 'http://127.0.0.1:1', error: expect.any(String) }] });
  });
});

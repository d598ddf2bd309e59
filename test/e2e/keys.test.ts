// Who may call, what each owner sees, and a service that is not configured.

import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, clientOf } from '../support/client.ts';
import { useTown } from '../support/town.ts';

const town = useTown({
  agents: ['weather', 'coder'],
  bindings: { API_KEYS: 'ann=the key of ann, bob=the-key-of-bob,lonely-key', ALLOW_ANONYMOUS: '' },
});

const unknown = '0198a000-0000-7000-8000-000000000000';
const guarded = [
  ['POST', '/v1/chat'],
  ['GET', '/v1/conversations'],
  ['POST', '/v1/conversations'],
  ['GET', `/v1/conversations/${unknown}`],
  ['DELETE', `/v1/conversations/${unknown}`],
  ['GET', `/v1/conversations/${unknown}/messages`],
  ['POST', `/v1/conversations/${unknown}/messages`],
  ['GET', `/v1/conversations/${unknown}/events`],
  ['GET', `/v1/conversations/${unknown}/intentions/${unknown}`],
  ['POST', `/v1/conversations/${unknown}/intentions/${unknown}/cancel`],
  ['GET', `/v1/files/${unknown}`],
  ['GET', '/v1/agents'],
] as const;

const by = (key: string): Client => clientOf(town().service.url, { authorization: `Bearer ${key}` });

describe('a key', () => {
  it.each(guarded)('is needed for %s %s', async (method, path) => {
    for (const authorization of [null, 'Bearer wrong', 'Bearer', 'Basic dGhlLWtleS1vZi1ib2I=', 'Bearer ', 'the-key-of-bob']) {
      const response = await town().client.send(path, { method, headers: authorization === null ? {} : { authorization } });
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({ code: 'unauthorized', status: 401 });
    }
  });

  it('is not needed to see whether the service is well', async () => {
    const response = await town().client.send('/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'ok' });
  });

  it('may stand without a name, and its scheme in any case', async () => {
    const response = await town().client.send('/v1/conversations', { headers: { authorization: 'bearer lonely-key' } });
    expect(response.status).toBe(200);
  });
});

describe('two owners', () => {
  let bob: Client;
  let lonely: Client;
  let conversation: string;
  let intention: string;
  let file: string;
  beforeAll(async () => {
    bob = by('the-key-of-bob');
    lonely = by('lonely-key');
    const said = await bob.say(null, 'write hello world in python');
    conversation = said.conversation_id;
    intention = said.intention_id;
    const parts = (await bob.rows(conversation)).flatMap((row) => (Array.isArray(row.parts) ? row.parts : []));
    file = parts.find(({ kind }) => kind === 'file')?.url ?? '';
    expect(file).toMatch(/^\/v1\/files\//);
  });

  it('do not see each other', async () => {
    expect((await (await bob.send('/v1/conversations')).text()).includes(conversation)).toBe(true);
    expect((await (await lonely.send('/v1/conversations')).text()).includes(conversation)).toBe(false);
    const own = `/v1/conversations/${conversation}`;
    for (const [method, path, status] of [
      ['GET', own, 200],
      ['GET', `${own}/messages`, 200],
      ['GET', `${own}/intentions/${intention}`, 200],
      ['POST', `${own}/intentions/${intention}/cancel`, 200],
      ['GET', file, 200],
    ] as const) {
      expect([path, (await lonely.send(path, { method })).status]).toEqual([path, 404]);
      expect([path, (await bob.send(path, { method })).status]).toEqual([path, status]);
    }
    expect((await lonely.post(`${own}/messages`, { content: 'thanks' })).status).toBe(404);
    expect((await lonely.send(`${own}/events`)).status).toBe(404);
    expect((await lonely.send(own, { method: 'DELETE' })).status).toBe(404);
    expect(await bob.rows(conversation)).not.toHaveLength(0);
  });

  it('get a conversation each where one names that of the other on the original route', async () => {
    const text = await (await lonely.post('/v1/chat', { query: 'thanks', conversation_id: conversation })).text();
    expect(text).toContain('"event": "start"');
    expect(text).not.toContain(conversation);
  });

  it('may use the same Idempotency-Key', async () => {
    const both = await Promise.all(
      [bob, lonely].map((owner) => owner.post('/v1/conversations', { content: 'thanks' }, { 'idempotency-key': 'k' })),
    );
    const [one, other] = await Promise.all(both.map((response) => response.json()));
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect(one).not.toEqual(other);
  });
});

describe('without keys, and without leave to go without', () => {
  it('every route says so, but the page, pushes and the state of health', async () => {
    const open = clientOf((await town().neighbour({ API_KEYS: '', ALLOW_ANONYMOUS: '' })).url);
    for (const [method, path] of guarded) {
      const response = await open.send(path, { method, headers: { authorization: 'Bearer x' } });
      expect([path, response.status]).toEqual([path, 503]);
      expect(await response.json()).toMatchObject({ code: 'auth_not_configured' });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await open.send('/healthz')).status).toBe(200);
    expect((await open.send(`/a2a/push/${unknown}`, { method: 'POST', body: '{}' })).status).toBe(401);
  });
});

describe('a configuration that is wrong', () => {
  it('is told by every route, all of it at once, without its values', async () => {
    const values = {
      DATABASE_URL: 'mysql://secret1',
      OPENAI_BASE_URL: 'secret2',
      A2A_AGENTS: '["secret3"]',
      PUSH_SECRET: 'secret4',
      MAX_STEPS: 'secret5',
    };
    const broken = clientOf((await town().neighbour({ ...values, OPENAI_API_KEY: '' })).url);
    for (const [method, path] of [...guarded, ['GET', '/healthz'], ['POST', `/a2a/push/${unknown}`]] as const) {
      const response = await broken.send(path, { method });
      const text = await response.text();
      expect([path, response.status, response.headers.get('content-type')]).toEqual([path, 503, 'application/problem+json']);
      expect(JSON.parse(text)).toMatchObject({ code: 'misconfigured' });
      for (const name of [...Object.keys(values), 'OPENAI_API_KEY']) expect(text).toContain(name);
      expect(text).not.toContain('secret');
    }
  });
});

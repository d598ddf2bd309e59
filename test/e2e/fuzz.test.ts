// Random requests, from a printed seed: whatever comes, the answer is soon, and never an error of ours.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather'] });

const runs = 300;
const seed = 20_261_121;
/** All that is asked here is answered without waiting for anybody. */
const soonMs = 10_000;

const id = fc.oneof(fc.uuid(), fc.string({ maxLength: 40 }), fc.constantFrom('', '..', '%', 'null', '0'));
const segment = fc.oneof(id, fc.constantFrom('chat', 'conversations', 'messages', 'events', 'intentions', 'cancel', 'files', 'agents'));
const path = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('/v1/chat', '/v1/conversations', '/v1/agents', '/healthz', '/a2a/push/x', '/v1/conversations/:id/messages'),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(id, fc.constantFrom('', '/messages', '/events'))
      .map(([own, rest]) => `/v1/conversations/${encodeURIComponent(own)}${rest}`),
  },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 6 }).map((parts) => `/v1/${parts.map(encodeURIComponent).join('/')}`) },
);
const query = fc.dictionary(
  fc.constantFrom('limit', 'cursor', 'after', 'wait', 'x'),
  fc.oneof(fc.string({ maxLength: 30 }), fc.integer().map(String), fc.base64String({ maxLength: 40 })),
  { maxKeys: 3 },
);
const field = fc.constantFrom(
  'content',
  'query',
  'parts',
  'message',
  'answer_to',
  'on_busy',
  'agents',
  'conversation_id',
  '__proto__',
  'kind',
  'text',
  'data',
  'bytes',
  'url',
  'name',
  'metadata',
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom('thanks', 'text', 'data', 'bytes', 'file', 'enqueue', 'parallel', null, true, 0, -1, 1e308),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(field, tie('tree'), { maxKeys: 5 }),
  ),
}));
const words = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.constant('thanks'));
const about = { name: words, media_type: words, metadata: tree };
const part = fc.oneof(
  fc.record({ kind: fc.constant('text'), text: words, ...about }, { requiredKeys: ['kind', 'text'] }),
  fc.record({ kind: fc.constant('data'), data: tree, ...about }, { requiredKeys: ['kind', 'data'] }),
  fc.record({ kind: fc.constant('bytes'), bytes: fc.base64String({ maxLength: 40 }), ...about }, { requiredKeys: ['kind', 'bytes'] }),
  fc.record({ kind: fc.constant('file'), url: fc.webUrl(), ...about }, { requiredKeys: ['kind', 'url'] }),
);
const extras = {
  on_busy: fc.constantFrom('enqueue', 'interrupt', 'parallel', 'reject'),
  answer_to: fc.oneof(fc.uuid(), fc.constant(null)),
  agents: fc.array(words, { maxLength: 3 }),
};
const likelyBody = fc
  .oneof(
    fc.record({ content: words, ...extras }, { requiredKeys: ['content'] }),
    fc.record({ parts: fc.array(part, { minLength: 1, maxLength: 3 }), ...extras }, { requiredKeys: ['parts'] }),
    fc.record({ query: words, conversation_id: id }, { requiredKeys: ['query'] }),
  )
  .map((value) => JSON.stringify(value));
const anyBody = fc.oneof(
  tree.map((value) => JSON.stringify(value) ?? ''),
  fc.string({ unit: 'binary', maxLength: 200 }),
);
const header = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30 }),
  fc.constantFrom('application/json', 'text/plain', '0', '-1', '18446744073709551616', 'Bearer x', '*/*'),
);
const headers = fc.dictionary(
  fc.constantFrom('content-type', 'accept', 'idempotency-key', 'last-event-id', 'x-request-id', 'a2a-version'),
  header.map((text) => text.trim() || 'x'),
  { maxKeys: 3 },
);
const request = fc.oneof(
  fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'),
    path,
    query,
    headers,
    body: anyBody,
  }),
  fc.record({
    method: fc.constant('POST'),
    path: fc.constantFrom('/v1/chat', '/v1/conversations', '/v1/conversations/:id/messages'),
    query: fc.constant({}),
    headers: fc.constant({}),
    body: fc.oneof({ weight: 4, arbitrary: likelyBody }, { weight: 1, arbitrary: anyBody }),
  }),
);

it(`${runs} of them`, async () => {
  const { client } = town();
  const { conversation_id } = await client.say(null, 'thanks');
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const url = `${given.path.replace(':id', conversation_id)}?${new URLSearchParams(given.query)}`;
      const hasBody = given.method !== 'GET' && given.method !== 'HEAD';
      const response = await client.send(url, {
        method: given.method,
        headers: { 'content-type': 'application/json', ...given.headers },
        ...(hasBody ? { body: given.body } : {}),
        signal: AbortSignal.timeout(soonMs),
      });
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      const text = isStream ? '' : await response.text();
      if (isStream) await response.body?.cancel();
      expect(response.status, text).toBeLessThan(500);
      if (response.status < 400 || given.method === 'HEAD') return;
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(JSON.parse(text)).toMatchObject({
        type: expect.any(String),
        title: expect.any(String),
        status: response.status,
        code: expect.any(String),
      });
    }),
    { numRuns: runs, seed },
  );
});

it('the service is well afterwards', async () => {
  expect(await town().client.say(null, '上海天气如何')).toMatchObject({ status: 'answered', answer: '上海天气很热' });
});

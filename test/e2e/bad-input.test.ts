// What callers get wrong: every answer is a problem with a code, soon, and never an error of ours.

import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { standIn, useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather', 'people'] });

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  code: z.string(),
  detail: z.string().optional(),
});
type Problem = z.infer<typeof problemSchema>;

/** Sends, and expects a problem of the caller's; gives its code with the status. */
async function problem(path: string, init: RequestInit): Promise<Problem> {
  const response = await town().client.send(path, init);
  const text = await response.text();
  expect(response.headers.get('content-type'), text).toBe('application/problem+json');
  const parsed = problemSchema.parse(JSON.parse(text));
  expect(parsed.status).toBe(response.status);
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(response.status).toBeLessThan(500);
  return parsed;
}

const json = { 'content-type': 'application/json' };
const post = (body: NonNullable<RequestInit['body']>, headers: Readonly<Record<string, string>> = json): RequestInit => ({
  method: 'POST',
  body,
  headers,
});
const unknown = '0198a000-0000-7000-8000-000000000000';

let conversation: string;
let intention: string;
beforeAll(async () => {
  const said = await town().client.say(null, 'thanks');
  conversation = said.conversation_id;
  intention = said.intention_id;
});
const at = (path: string) => path.replace(':id', conversation).replace(':intention', intention);

const postRoutes = ['/v1/chat', '/v1/conversations', '/v1/conversations/:id/messages'] as const;
const nativeRoutes = ['/v1/conversations', '/v1/conversations/:id/messages'] as const;
const whole = (path: string, more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify(path === '/v1/chat' ? { query: 'thanks', ...more } : { content: 'thanks', ...more });

describe.each(postRoutes)('a body for %s', (path) => {
  it.each([
    ['cut off', '{"content": "x", "query": '],
    ['not JSON', 'hello'],
    ['two values', '{}{}'],
    ['not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['only white space', ' '],
  ])('that is %s is malformed', async (_, body) => {
    expect(await problem(at(path), post(body))).toMatchObject({ status: 400, code: 'malformed_json' });
  });

  it.each([
    ['null', 'null'],
    ['a list', '[]'],
    ['a number', '1e400'],
    ['a text', '"hello"'],
    ['with a number for the words', '{"content": 1, "query": 1}'],
    ['with nothing for the words', '{"content": null, "query": null}'],
    ['with white space for the words', '{"content": " \\n\\u3000", "query": " \\n\\u3000"}'],
    ['with NUL alone for the words', '{"content": "\\u0000", "query": "\\u0000"}'],
  ])('that is %s has the wrong fields', async (_, body) => {
    expect(await problem(at(path), post(body))).toMatchObject({ status: 422, code: 'validation_failed' });
  });

  it.each([
    ['none', {}],
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['something like JSON', { 'content-type': 'application/jsonp' }],
  ])('needs its media type: %s is not it', async (_, headers) => {
    const bytes = new TextEncoder().encode(whole(path));
    expect(await problem(at(path), post(bytes, headers))).toMatchObject({ status: 415, code: 'unsupported_media_type' });
  });

  it('may say its charset', async () => {
    const response = await town().client.send(at(path), post(whole(path), { 'content-type': 'Application/JSON; charset=utf-8' }));
    expect(response.status).toBeLessThan(300);
    await response.body?.cancel();
  });

  it('of 64 KiB is taken, and one byte more is too large', async () => {
    const max = 64 * 1024;
    const filled = (bytes: number) => {
      const [key, rest] = path === '/v1/chat' ? ['query', '","x":"'] : ['content', ''];
      const head = `{"${key}":"thanks${rest}`;
      return `${head}${'!'.repeat(bytes - head.length - 2)}"}`;
    };
    expect(await problem(at(path), post(filled(max + 1)))).toMatchObject({ status: 413, code: 'body_too_large' });
    const response = await town().client.send(at(path), post(filled(max)));
    expect(response.status).toBeLessThan(300);
    await response.body?.cancel();
  });

  it('that is sent in chunks is measured all the same', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(16_384));
    const body = () => ReadableStream.from(Array.from({ length: 8 }, () => chunk));
    const send = () => problem(at(path), { ...post(body()), ...{ duplex: 'half' } }).catch(() => null);
    // Who refuses early closes the door on what is still on its way, and the answer may be lost with it.
    await expect.poll(send, { timeout: 10_000 }).toMatchObject({ status: 413 });
  });

  it('nested 10,000 levels deep does no harm', async () => {
    const deep = `${'['.repeat(10_000)}1${']'.repeat(10_000)}`;
    const parts = `[{"kind":"text","text":"x"},{"kind":"data","data":${deep}}]`;
    const body = path === '/v1/chat' ? `{"query":"thanks","parts":${parts}}` : `{"parts":${parts}}`;
    const response = await town().client.send(at(path), post(body));
    expect(response.status).toBe(path === '/v1/chat' ? 200 : 422);
    await response.body?.cancel();
  });
});

describe.each(nativeRoutes)('the fields of %s', (path) => {
  it.each([
    ['unknown', { user: 'me' }, ''],
    ['answer_to', { answer_to: 'the weather' }, '/answer_to'],
    ['answer_to', { answer_to: 7 }, '/answer_to'],
    ['on_busy', { on_busy: 'wait' }, '/on_busy'],
    ['agents', { agents: [] }, '/agents'],
    ['agents', { agents: 'weather' }, '/agents'],
    ['agents', { agents: [''] }, '/agents/0'],
    ['content beside parts', { parts: [{ kind: 'text', text: 'x' }] }, '/content'],
  ])('%s, wrong, are pointed at', async (_, more, pointer) => {
    const response = await town().client.send(at(path), post(whole(path, more)));
    expect(response.status).toBe(422);
    const body = z
      .object({ code: z.literal('validation_failed'), errors: z.array(z.object({ pointer: z.string(), detail: z.string() })) })
      .parse(await response.json());
    expect(body.errors.map((error) => error.pointer)).toContain(pointer === '' ? '/' : pointer);
  });

  it.each([
    ['an empty list', []],
    ['no list', {}],
    ['an unknown kind', [{ kind: 'image', url: 'https://example.com/a.png' }]],
    ['a file without an address', [{ kind: 'file' }]],
    ['a file by another scheme', [{ kind: 'file', url: 'file:///etc/passwd' }]],
    ['a file by a script', [{ kind: 'file', url: 'javascript:alert(1)' }]],
    ['bytes that are not base64', [{ kind: 'bytes', bytes: '%%%' }]],
    ['an unknown field', [{ kind: 'text', text: 'x', filename: 'x' }]],
    ['a text without text', [{ kind: 'text' }]],
    ['51 parts', Array.from({ length: 51 }, () => ({ kind: 'text', text: 'x' }))],
  ])('parts that are %s are refused', async (_, parts) => {
    expect(await problem(at(path), post(JSON.stringify({ parts })))).toMatchObject({ status: 422, code: 'validation_failed' });
  });

  it.each(['0', '26', '-1', '1.5', 'abc', '', '1e1', '٣'])('wait=%s is no number of seconds', async (wait) => {
    const asked = await problem(`${at(path)}?wait=${encodeURIComponent(wait)}`, post(whole(path)));
    expect(asked).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it.each(['', ' ', 'a b', 'x'.repeat(256), 'schlüssel'])('Idempotency-Key "%s" is refused', async (key) => {
    const response = await town().client.send(at(path), post(whole(path), { ...json, 'idempotency-key': key }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_request' });
  });
});

describe('an Idempotency-Key', () => {
  const keyed = (path: string, content: string, key: string) =>
    town()
      .client.post(path, { content }, { 'idempotency-key': key })
      .then(async (response) => ({ response, body: await response.json() }));

  it.each(nativeRoutes)('on %s gives a repeated message the first answer', async (path) => {
    const key = `repeat-${path}`;
    const first = await keyed(at(path), 'thanks', key);
    const second = await keyed(at(path), 'thanks', key);
    expect(first.response.status).toBe(202);
    expect(second.response.status).toBe(202);
    expect(second.body).toEqual(first.body);
    expect(second.response.headers.get('idempotency-replayed')).toBe('true');
  });

  it.each(nativeRoutes)('on %s with another body is refused', async (path) => {
    const key = `other-${path}`;
    await keyed(at(path), 'thanks', key);
    const { response, body } = await keyed(at(path), 'bye', key);
    expect(response.status).toBe(422);
    expect(body).toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('makes one message of two that come at once', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => keyed('/v1/conversations', 'thanks', 'at-once')));
    expect(new Set(answers.map(({ response }) => response.status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });
});

describe('an id', () => {
  const paths = [
    ['GET', '/v1/conversations/X'],
    ['DELETE', '/v1/conversations/X'],
    ['GET', '/v1/conversations/X/messages'],
    ['POST', '/v1/conversations/X/messages'],
    ['GET', '/v1/conversations/X/events'],
    ['GET', '/v1/conversations/:id/intentions/X'],
    ['POST', '/v1/conversations/:id/intentions/X/cancel'],
    ['GET', `/v1/conversations/X/intentions/${unknown}`],
    ['POST', `/v1/conversations/X/intentions/${unknown}/cancel`],
    ['POST', '/v1/conversations/:id/calls/X/resolve'],
    ['POST', `/v1/conversations/X/calls/${unknown}/resolve`],
    ['POST', '/v1/agents/X/probe'],
    ['GET', '/v1/files/X'],
  ] as const;
  const bodies = [
    ['/messages', '{"content":"thanks"}'],
    ['/resolve', '{"action":"leave"}'],
    ['/probe', '{"text":"thanks"}'],
  ] as const;
  const ids = [unknown, 'x', "' or 1=1 --", '%00', '%2e%2e', '{}', '１２３', 'a'.repeat(3000), unknown.replace('-', '')];

  it.each(paths)('that is unknown or none is not found by %s %s', async (method, path) => {
    for (const id of ids) {
      const target = at(path).replace('X', id.startsWith('%') ? id : encodeURIComponent(id));
      const body = bodies.find(([end]) => path.endsWith(end))?.[1];
      const init = method === 'POST' && body !== undefined ? post(body) : { method };
      expect(await problem(target, init), id).toMatchObject({ status: 404, code: 'not_found' });
    }
  });
});

describe('a method', () => {
  const allowed = {
    '/v1/chat': ['POST'],
    '/v1/conversations': ['GET', 'POST'],
    '/v1/conversations/:id': ['GET', 'DELETE'],
    '/v1/conversations/:id/messages': ['GET', 'POST'],
    '/v1/conversations/:id/events': ['GET'],
    '/v1/conversations/:id/intentions/:intention': ['GET'],
    '/v1/conversations/:id/intentions/:intention/cancel': ['POST'],
    [`/v1/conversations/:id/calls/${unknown}/resolve`]: ['POST'],
    '/v1/agents/weather/probe': ['POST'],
    '/v1/files/:id': ['GET'],
    '/v1/agents': ['GET'],
    [`/a2a/push/${unknown}`]: ['POST'],
    '/healthz': ['GET'],
  };
  it.each(Object.entries(allowed))('that %s does not have is refused, and those it has are named', async (path, methods) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter((each) => !methods.includes(each))) {
      const response = await town().client.send(at(path), { method });
      expect([method, response.status]).toEqual([method, 405]);
      expect(
        response.headers
          .get('allow')
          ?.split(', ')
          .filter((each) => each !== 'HEAD')
          .toSorted(),
      ).toEqual(methods.toSorted());
      expect(await response.json()).toMatchObject({ code: 'method_not_allowed' });
    }
  });

  it('on a path that is not there finds nothing', async () => {
    for (const path of ['/v1', '/v1/', '/v2/chat', '/v1/chat/', '/v1/conversations//messages', '/a2a/push', '/.env'])
      expect(await problem(path, { method: 'POST' }), path).toMatchObject({ status: 404 });
  });
});

describe('a page', () => {
  const lists = ['/v1/conversations', '/v1/conversations/:id/messages'] as const;
  const cursors = [
    '',
    'x',
    '!!!',
    'bnVsbA',
    'e30',
    'LTE',
    'MS41',
    'eyJhdE1zIjoxZTMwLCJpZCI6IjAifQ',
    btoa(`{"atMs":1e30,"id":"${unknown}"}`),
    btoa(`{"atMs":-9e15,"id":"${unknown}"}`),
    btoa('1e300'),
    btoa('9007199254740991'),
    'a'.repeat(4000),
  ];

  it.each(lists)('of %s takes a limit within its bounds', async (path) => {
    for (const limit of ['0', '-1', '1000', '1.5', 'x', '', '99999999999999999999'])
      expect(await problem(`${at(path)}?limit=${limit}`, {}), limit).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it.each(lists)('of %s takes no cursor but its own', async (path) => {
    for (const cursor of cursors) {
      const response = await town().client.send(`${at(path)}?cursor=${encodeURIComponent(cursor)}`);
      expect(response.status, `${cursor}: ${await response.text()}`).toBeLessThan(500);
    }
    for (const cursor of ['x', '!!!', 'e30', 'LTE', 'MS41'])
      expect(await problem(`${at(path)}?cursor=${encodeURIComponent(cursor)}`, {}), cursor).toMatchObject({ code: 'invalid_request' });
  });

  it('leads to the next until all is seen', async () => {
    const { client } = town();
    const seen: number[] = [];
    const page = z.object({ data: z.array(z.object({ seq: z.number() })), has_more: z.boolean(), next_cursor: z.string().nullable() });
    const { conversation_id } = await client.say(null, '上海天气如何');
    for (let cursor: string | null = null, more = true; more; ) {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const read = page.parse(await (await client.send(`/v1/conversations/${conversation_id}/messages?limit=1${query}`)).json());
      seen.push(...read.data.map(({ seq }) => seq));
      cursor = read.next_cursor;
      more = read.has_more;
      expect(cursor === null).toBe(!more);
    }
    expect(seen).toEqual([1, 2, 3, 4]);
  });
});

describe('text', () => {
  it('is kept without NUL and without halves of characters', async () => {
    const { client } = town();
    const response = await client.send(
      '/v1/conversations?wait=25',
      post('{"content":"\\u0000上海\\ud83d天气\\udc00如何 👩‍👩‍👧 \\u202e\\u0007"}'),
    );
    const { conversation_id } = z.object({ conversation_id: z.string() }).parse(await response.json());
    const [first] = await client.rows(conversation_id);
    expect(first?.content).toBe('上海\ufffd天气\ufffd如何 👩‍👩‍👧 \u202e\u0007');
    expect((await client.rows(conversation_id)).at(-1)).toMatchObject({ role: 'assistant' });
  });

  it('may hold such characters in a part as well', async () => {
    const part = '{"kind":"data","data":{"a\\u0000b":"\\u0000\\ud800"},"name":"\\u0000n","metadata":{"\\udc00":"\\u0000"}}';
    const response = await town().client.send(
      '/v1/conversations?wait=25',
      post(`{"parts":[{"kind":"text","text":"上海天气如何"},${part}]}`),
    );
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"answered"')]);
  });

  it.each(['media_type', 'name'])('may hold NUL in the %s of a file', async (field) => {
    const parts = [
      { kind: 'text', text: '上海天气如何' },
      { kind: 'bytes', bytes: 'AAEC', [field]: 'a\u0000b' },
    ];
    const response = await town().client.post('/v1/conversations?wait=25', { parts });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"answered"')]);
  });

  it('may hold NUL in an address and in the name of an agent', async () => {
    const parts = [
      { kind: 'text', text: 'thanks' },
      { kind: 'file', url: 'https://example.com/a\u0000b' },
    ];
    const response = await town().client.post('/v1/conversations?wait=25', { parts, agents: ['wea\u0000ther'] });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"answered"')]);
  });

  it('of 5,000 pasted characters is answered', async () => {
    const pasted = '这是一段很长的文字，里面什么都有。'.repeat(295).slice(0, 5_000);
    const answered = await town().client.say(null, pasted);
    expect(answered.status).toBe('answered');
    expect((await town().client.rows(answered.conversation_id))[0]?.content).toBe(pasted);
  });
});

describe('the same question twice at once', () => {
  it('is answered twice, in order, and neither is lost', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'thanks');
    const answers = await Promise.all([client.say(conversation_id, '上海天气如何'), client.say(conversation_id, '上海天气如何')]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 'answered', answer: '上海天气很热' });
    expect(answers[0].intention_id).not.toBe(answers[1].intention_id);
    const rows = await client.rows(conversation_id);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.filter(({ role }) => role === 'assistant')).toHaveLength(3);
  });

  it('is refused where the caller wants it to be', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'thanks');
    const held = Promise.withResolvers<void>();
    town().model.follow(async (request) => {
      await held.promise;
      return standIn(request);
    });
    const first = await client.tell(conversation_id, 'thanks');
    const response = await client.post(client.messagesOf(conversation_id), { content: 'bye', on_busy: 'reject' });
    held.resolve();
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'conversation_busy' });
    const last = await client.say(conversation_id, 'bye');
    expect(await client.status(conversation_id, first.intention_id)).toBe('answered');
    expect(last.status).toBe('answered');
  });
});

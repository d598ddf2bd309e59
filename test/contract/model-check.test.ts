// What is found out about a configured model at start-up, against a server that answers as real ones do.

import http from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { checkModel } from '../../src/local/model-check.ts';
import { freePort, listen, loopback } from '../../src/local/ports.ts';

const servers: http.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function check(status: number, body: unknown) {
  const seen: { url?: string | undefined; key?: string | undefined }[] = [];
  const server = http.createServer((request, response) => {
    seen.push({ url: request.url, key: request.headers.authorization });
    response.writeHead(status, { connection: 'close' }).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  servers.push(server);
  const port = await listen(server, 0);
  const state = await checkModel(
    { baseUrl: `http://${loopback}:${port}/v1/`, apiKey: 'key', name: 'some-function-model', standIn: false },
    new AbortController().signal,
  );
  expect(seen).toEqual([{ url: '/v1/chat/completions', key: 'Bearer key' }]);
  return state;
}

const toolCall = { id: 'c', type: 'function', function: { name: 'weather', arguments: '{}' } };

test.each([
  ['calls the tool', 200, { choices: [{ message: { content: null, tool_calls: [toolCall] } }] }, 'ready'],
  ['answers in words', 200, { choices: [{ message: { content: 'sunny' } }] }, 'no_tools'],
  ['refuses tools', 400, { error: { message: 'some-function-model does not support tools' } }, 'no_tools'],
  ['refuses the key', 401, { error: { message: 'bad key' } }, 'key_refused'],
  ['forbids', 403, 'no', 'key_refused'],
  ['has no such model', 404, { error: { message: 'no such model' } }, 'unknown'],
  ['calls the model invalid', 400, { error: { message: 'some-function-model is not a model' } }, 'unknown'],
  ['wants a pause', 429, '', 'overloaded'],
  ['is a web page', 200, '<html>Sign in</html>', 'not_compatible'],
  ['is broken', 502, '', 'refused'],
])('a server that %s', async (_, status, body, kind) => {
  expect(await check(status, body)).toMatchObject({ kind });
});

test('nobody there', async () => {
  const port = await freePort();
  expect(
    await checkModel({ baseUrl: `http://${loopback}:${port}/v1`, apiKey: 'key', name: 'm', standIn: false }, new AbortController().signal),
  ).toEqual({
    kind: 'unreachable',
  });
});

import { exports } from 'cloudflare:workers';
import { expect, test } from 'vitest';

test('a message without agents is answered, through alarms, the ledger and the model', async () => {
  const response = await exports.default.fetch('http://service/v1/conversations?wait=20', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'hi' }),
  });
  expect([response.status, await response.json()]).toEqual([
    200,
    expect.objectContaining({ status: 'answered', answer: expect.stringContaining('Hello') }),
  ]);
});

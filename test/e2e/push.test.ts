// An agent that works for long: nobody holds a connection, it tells by push, and where pushes are lost it is looked up.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedExecutor } from '../support/a2a-executor.ts';
import { type Site, servePeer } from '../support/a2a-peer.ts';
import { type Client, clientOf, collect, type Receipt } from '../support/client.ts';
import { callsAgents, reports } from '../support/model-server.ts';
import { heard, useTown } from '../support/town.ts';

const executor = scriptedExecutor();
let peer: Site;
const town = useTown(async () => {
  peer = await servePeer({ binding: 'JSONRPC', version: '1.0', streaming: false, push: true, executor });
  return { agents: ['slow'], others: [{ url: `${peer.origin}/agent/.well-known/agent-card.json`, name: 'peer' }] };
});
afterAll(() => peer.close());

const configured = z.object({
  params: z.object({
    configuration: z.object({
      returnImmediately: z.literal(true),
      taskPushNotificationConfig: z.object({
        url: z.string(),
        token: z.string(),
        authentication: z.object({ scheme: z.literal('Bearer'), credentials: z.string() }),
      }),
    }),
  }),
});

/** What the agent was told of where to push, of the newest send. */
function pushTarget() {
  const sends = peer.requests.filter(({ body }) => body.includes('"SendMessage"'));
  const { params } = configured.parse(JSON.parse(sends.at(-1)?.body ?? 'null'));
  return params.configuration.taskPushNotificationConfig;
}

const looks = () => heard(peer).filter(({ method }) => method === 'GetTask').length;

/** Looks every few milliseconds; the test's own time limit ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** A call to the agent that works until it is released. */
async function begin(client: Client): Promise<Receipt> {
  const script = [callsAgents({ agent: 'peer', query: 'slow' }), reports('the peer is done')];
  town().model.follow(() => script.shift() ?? reports('again?'));
  const sent = heard(peer).length;
  const receipt = await client.tell(null, 'something slow');
  await until(() => heard(peer).length > sent);
  return receipt;
}

const answered = (client: Client, { conversation_id }: Receipt) =>
  collect(client.events(conversation_id), ({ event, data }) => event === 'status' && data.includes('answered'));

describe('an agent that pushes', () => {
  it('is asked to return at once, and its answer comes long before it would be looked up again', async () => {
    const { client } = town();
    const before = looks();
    const receipt = await begin(client);
    // After the second look the next is three seconds off, or more.
    await until(() => looks() === before + 2);
    const released = performance.now();
    executor.release();
    await answered(client, receipt);
    expect(performance.now() - released).toBeLessThan(2_500);
    const rows = await client.rows(receipt.conversation_id);
    expect(rows.map(({ content }) => content)).toEqual(['something slow', 'slow', 'released', 'the peer is done']);
  });

  it('may be the slow one of the samples', async () => {
    expect(await town().client.say(null, 'wait 1 second')).toMatchObject({ status: 'answered', answer: 'done after 1 s' });
  });
});

describe('an agent whose pushes are lost', () => {
  it('is looked up', async () => {
    const { url } = await town().neighbour({ PUBLIC_URL: 'http://127.0.0.1:1' });
    const client = clientOf(url);
    const before = looks();
    const receipt = await begin(client);
    await until(() => looks() === before + 1);
    executor.release();
    await answered(client, receipt);
    expect((await client.rows(receipt.conversation_id)).at(-1)).toMatchObject({ role: 'assistant', content: 'the peer is done' });
  });
});

describe('the webhook', () => {
  let receipt: Receipt;
  let target: ReturnType<typeof pushTarget>;
  const good = JSON.stringify({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } });
  const push = (init: RequestInit & { readonly secret?: string | null }): Promise<Response> => {
    const { secret = target.token, ...rest } = init;
    return fetch(target.url, {
      method: 'POST',
      body: good,
      ...rest,
      headers: { 'content-type': 'application/json', ...(secret === null ? {} : { 'x-a2a-notification-token': secret }) },
    });
  };
  beforeAll(async () => {
    receipt = await begin(town().client);
    target = pushTarget();
  });

  it('has an address and a secret for each call', () => {
    expect(target.url).toMatch(new RegExp(`^${town().service.url}/a2a/push/[0-9a-f-]{36}$`));
    expect(target.authentication.credentials).toBe(target.token);
    expect(target.token.length).toBeGreaterThan(40);
  });

  it.each([
    ['none', null],
    ['a forged one', 'A'.repeat(43)],
    ['half of it', 'half'],
  ])('with %s for a secret refuses', async (_, secret) => {
    const response = await push({ secret: secret === 'half' ? target.token.slice(0, 20) : secret });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toMatchObject({ code: 'unauthorized' });
  });

  it('does not tell a call that is not there from one whose secret is wrong', async () => {
    const url = target.url.replace(/[^/]+$/, '0198a000-0000-7000-8000-000000000000');
    const headers = { 'x-a2a-notification-token': target.token };
    expect((await fetch(url, { method: 'POST', body: good, headers })).status).toBe(401);
    expect((await fetch(target.url.replace(/[^/]+$/, 'x'), { method: 'POST', body: good, headers })).status).toBe(401);
  });

  it.each(['GET', 'PUT', 'DELETE'])('takes no %s', async (method) => {
    const response = await push({ method, ...(method === 'GET' ? { body: null } : {}) });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'task done'],
    ['cut off', good.slice(0, 30)],
    ['JSON of something else', '{"hello":"world"}'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('refuses a body that is %s', async (_, body) => {
    expect((await push({ body })).status).toBe(400);
  });

  it('refuses a body that is too large', async () => {
    expect((await push({ body: `${good.slice(0, -1)},"x":"${'x'.repeat(1_048_577)}"}` })).status).toBe(413);
  });

  it('has changed nothing by all that', async () => {
    expect(await town().client.rows(receipt.conversation_id)).toHaveLength(2);
    expect(await town().client.status(receipt.conversation_id, receipt.intention_id)).toBe('calling');
  });

  it('asks the agent, whatever the notification says, and no more than once a second', async () => {
    const before = looks();
    const began = performance.now();
    const responses = await Promise.all(Array.from({ length: 40 }, () => push({})));
    for (const response of responses) expect(response.status).toBe(202);
    await until(() => looks() > before);
    const seconds = (performance.now() - began) / 1000;
    // One at the start, then one a second; polling may add its own.
    expect(looks() - before).toBeLessThanOrEqual(2 + seconds);
    expect(await town().client.status(receipt.conversation_id, receipt.intention_id)).toBe('calling');
  });

  it('takes a notification for a call that is over, and does nothing', async () => {
    executor.release();
    await answered(town().client, receipt);
    const before = { rows: await town().client.rows(receipt.conversation_id), looks: looks() };
    for (let repeat = 0; repeat < 3; repeat++) expect((await push({})).status).toBe(200);
    expect({ rows: await town().client.rows(receipt.conversation_id), looks: looks() }).toEqual(before);
  });
});

// Agents that fail: the answer names the agent and what it said, and nothing is sent again unless that is known to be safe.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type Site, serve } from '../support/a2a-peer.ts';
import { type Answered, clientOf, collect, table } from '../support/client.ts';
import { messagesTo, useTown } from '../support/town.ts';

const town = useTown({ agents: ['flaky', 'weather'] });

const ask = (content: string, conversation: string | null = null): Promise<Answered> => town().client.say(conversation, content);

describe('an agent that', () => {
  it.each([
    ['fails', 'flaky fail', 'failed, as you asked'],
    ['rejects', 'flaky reject', 'rejected, as you asked'],
    ['fails in Chinese', '让 flaky 失败', '按您的要求失败了'],
  ])('%s is quoted', async (_, content, said) => {
    const answered = await ask(content);
    expect(answered.status).toBe('answered');
    expect(answered.answer).toContain('flaky');
    expect(answered.answer).toContain(said);
    expect(table(await town().client.rows(answered.conversation_id))).toEqual([
      ['i1', 'user', null, content, null],
      ['i1', 'agent', 'query', content, 'plan'],
      ['i1', 'agent', 'error', said, 'flaky'],
      ['i1', 'assistant', null, answered.answer, null],
    ]);
  });

  it('sends something that is not A2A is named with that', async () => {
    const answered = await ask('flaky rubbish');
    expect(answered.status).toBe('answered');
    expect(answered.answer).toContain('flaky could not do it: The agent failed: it answered with something that is not A2A');
  });

  it('is cut off in mid-stream is looked up, and what it did meanwhile is reported', async () => {
    const { length } = messagesTo(town().agent('flaky'));
    const answered = await ask('flaky cut');
    expect(answered).toMatchObject({ status: 'answered', answer: 'done after the cut' });
    expect(messagesTo(town().agent('flaky'))).toHaveLength(length + 1);
  });

  it('hangs can be stopped: the intention ends at once and the task is canceled', async () => {
    const { client } = town();
    const { conversation_id, intention_id } = await client.tell(null, 'flaky hang');
    await collect(client.events(conversation_id), ({ event, data }) => event === 'status' && data.includes('calling'));
    await until(() => messagesTo(town().agent('flaky')).some((message) => message.parts[0]?.text === 'flaky hang'));
    const cancel = () => client.post(`/v1/conversations/${conversation_id}/intentions/${intention_id}/cancel`, {});
    expect(await (await cancel()).json()).toEqual({ id: intention_id, status: 'canceled', ended: true });
    expect(await (await cancel()).json()).toEqual({ id: intention_id, status: 'canceled', ended: true });
    const rows = await client.rows(conversation_id);
    expect(rows.filter(({ type }) => type === 'canceled')).toHaveLength(1);
  });
});

describe('whose answer never comes back', () => {
  let site: Site;
  let client: ReturnType<typeof clientOf>;
  const about = {
    name: 'oracle',
    description: 'Oracle: foretells the future.',
    version: '1',
    defaultInputModes: [],
    defaultOutputModes: [],
  };
  const skills = [{ id: 's', name: 'Oracle', description: 'Foretells.', tags: ['oracle'], examples: ['ask the oracle'] }];

  beforeAll(async () => {
    site = await serve(({ url }, response) => {
      if (!new URL(url).pathname.startsWith('/.well-known/')) return void response.destroy();
      const supportedInterfaces = [{ url: `${site.origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
      json(response, { ...about, skills, capabilities: { streaming: true }, supportedInterfaces });
    });
    const { url } = await town().neighbour({ A2A_AGENTS: JSON.stringify([`${site.origin}/.well-known/agent-card.json`]) });
    client = clientOf(url);
  });
  afterAll(() => site?.close());

  it('the user is told that it may have happened, and asked whether to try again', async () => {
    const before = messagesTo(site).length;
    const asked = await client.say(null, 'ask the oracle');
    expect(asked.status).toBe('input_required');
    expect(asked.question?.agent).toBe('plan');
    expect(asked.question?.content).toContain('It may or may not have happened. I did not try again.');
    expect(messagesTo(site)).toHaveLength(before + 1);

    const left = await client.say(asked.conversation_id, 'leave it');
    expect(left).toMatchObject({ status: 'answered', intention_id: asked.intention_id });
    expect(messagesTo(site)).toHaveLength(before + 1);
  });

  it('it is asked again when the user says so, and only then', async () => {
    const before = messagesTo(site).length;
    const asked = await client.say(null, 'ask the oracle');
    const again = await client.say(asked.conversation_id, 'try again');
    expect(again).toMatchObject({ status: 'input_required', intention_id: asked.intention_id });
    expect(messagesTo(site)).toHaveLength(before + 2);
  });
});

describe('an agent that answers 500', () => {
  it('may or may not have done it: the user is asked', async () => {
    const asked = await ask('flaky 500');
    expect(asked.status).toBe('input_required');
    expect(asked.question).toMatchObject({ agent: 'plan' });
    expect(asked.question?.content).toContain('flaky');
  });
});

describe('an agent that is gone', () => {
  it('is named as one that could not be reached', async () => {
    await ask('hi');
    await town().agent('weather').close();
    const answered = await ask('上海天气如何');
    expect(answered.status).toBe('answered');
    expect(answered.answer).toContain('weather 没有完成：该智能体失败：无法连接');
  });
});

/** Looks every few milliseconds; the test's own time limit ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

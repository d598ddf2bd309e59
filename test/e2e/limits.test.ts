// What keeps the planner from calling: agents that are down, and tokens that are used up. The report says so.

import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Client, clientOf } from '../support/client.ts';
import { callsAgents, type ModelRequest, reports } from '../support/model-server.ts';
import { type Oracle, startOracle } from '../support/oracle.ts';
import { messagesTo, standIn, useTown } from '../support/town.ts';

let oracle: Oracle;
const town = useTown(async () => {
  oracle = await startOracle('oracle');
  return { agents: ['weather'], others: [`${oracle.origin}/.well-known/agent-card.json`] };
});
afterAll(() => oracle?.close());

const listed = z.object({ data: z.array(z.object({ name: z.string(), down_until: z.iso.datetime().nullable() })) });
const downUntil = async (client: Client): Promise<string | null | undefined> =>
  listed.parse(await (await client.send('/v1/agents')).json()).data.find(({ name }) => name === 'oracle')?.down_until;

const prompt = z.object({
  tool_choice: z.string().optional(),
  messages: z.array(z.object({ content: z.string().nullish() }).loose()),
  tools: z
    .array(
      z.object({
        function: z.object({
          parameters: z.object({ properties: z.record(z.string(), z.object({ enum: z.array(z.string()).optional() })) }),
        }),
      }),
    )
    .optional(),
});
const asked = (request: ModelRequest | undefined) => {
  const { messages, tools, tool_choice } = prompt.parse(request?.body);
  return {
    forced: tool_choice === 'none',
    note: messages.at(-1)?.content ?? '',
    callable: tools?.[0]?.function.parameters.properties['agent']?.enum,
  };
};

test('an agent that cannot be reached five times in a row is left alone, and the model is told until when', async () => {
  const { client, model } = town();
  const doubts = [];
  for (let times = 1; times <= 5; times++) {
    expect(await downUntil(client)).toBeNull();
    doubts.push(await client.say(null, 'ask the oracle'));
  }
  expect(doubts.map(({ status }) => status)).toEqual(doubts.map(() => 'input_required'));
  const until = await downUntil(client);
  const time = until?.slice(11, 19);
  expect(messagesTo(oracle)).toHaveLength(5);

  expect(await client.say(null, 'ask the oracle')).toMatchObject({ status: 'answered' });
  expect(asked(model.requests.at(-1))).toEqual({
    forced: false,
    note: expect.stringContaining(`[oracle is down until ${time} UTC and cannot be called before then.]`),
    callable: ['weather'],
  });
  expect(messagesTo(oracle)).toHaveLength(5);

  // A model that calls it all the same is told off, and then has to report.
  model.follow((request) => (asked(request).forced ? reports('The oracle is down.') : callsAgents({ agent: 'oracle', query: 'Rain?' })));
  expect(await client.say(null, 'ask the oracle')).toMatchObject({ status: 'answered', answer: 'The oracle is down.' });
  expect(messagesTo(oracle)).toHaveLength(5);

  // Its user has decided: that call is made, and one that reaches it ends the pause.
  model.follow(standIn);
  oracle.mood = 'answering';
  const [doubt] = doubts;
  const retried = await client.post(`/v1/conversations/${doubt?.conversation_id}/calls/${doubt?.question?.call_id}/resolve`, {
    action: 'retry',
  });
  expect(retried.status).toBe(202);
  await expect.poll(() => downUntil(client), { timeout: 20_000, interval: 50 }).toBeNull();
  expect(messagesTo(oracle)).toHaveLength(6);
  expect(await client.say(null, 'ask the oracle')).toMatchObject({ status: 'answered', answer: 'It will rain.' });
});

test('when all agents are down the report is made at once, and says so', async () => {
  const { url } = await town().neighbour({ A2A_AGENTS: JSON.stringify([`${oracle.origin}/.well-known/agent-card.json`]) });
  const client = clientOf(url);
  oracle.mood = 'silent';
  for (let times = 1; times <= 5; times++) await client.say(null, 'ask the oracle');
  town().model.follow((request) => reports(asked(request).forced ? 'All are down.' : 'free'));
  expect(await client.say(null, 'ask the oracle')).toMatchObject({ status: 'answered', answer: 'All are down.' });
  expect(asked(town().model.requests.at(-1)).note).toMatch(
    /\[oracle is down until [\d:]{8} UTC and cannot be called before then\.\nNo agent can be called now, since all are down\. Report now/,
  );
});

test('when the tokens are used up the report is made with what there is', async () => {
  const { url } = await town().neighbour({
    A2A_AGENTS: JSON.stringify([`${town().agent('weather').origin}/.well-known/agent-card.json`]),
    MAX_TOKENS: '1000',
    MAX_STEPS: '50',
    MAX_CALLS: '50',
  });
  // Each of its answers takes 120 tokens: after nine of them the tenth is the last.
  town().model.follow((request) =>
    asked(request).forced ? reports('That is all.') : callsAgents({ agent: 'weather', query: '上海天气如何' }),
  );
  const before = town().model.requests.length;
  const said = await clientOf(url).say(null, '上海天气如何');
  expect(said).toMatchObject({ status: 'answered', answer: 'That is all.' });
  expect(town().model.requests.length - before).toBe(10);
  expect(asked(town().model.requests.at(-1)).note).toBe(
    '[The limit of 1000 tokens is reached. Report now with what is known, and say what is missing.]',
  );
});

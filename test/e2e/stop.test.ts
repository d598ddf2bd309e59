// What becomes of the agents' work when a question is stopped: each agent's outcome is told, and kept.

import { expect, it } from 'vitest';
import { z } from 'zod';
import { collect } from '../support/client.ts';
import { heard, messagesTo, useTown } from '../support/town.ts';

const town = useTown({ agents: ['slow', 'weather'] });

const shown = z.object({
  status: z.string(),
  calls: z.array(z.object({ agent: z.string(), state: z.string(), cancel: z.string().nullable() })),
});

it.each([
  [
    'canceled by its caller',
    (conversation: string, intention: string) => `/v1/conversations/${conversation}/intentions/${intention}/cancel`,
    {},
  ],
  [
    'interrupted by another question',
    (conversation: string) => `/v1/conversations/${conversation}/messages`,
    { content: '上海天气如何', on_busy: 'interrupt' },
  ],
])('a question that is %s ends at once, its task is canceled, and whoever watches is told what came of it', async (_, path, body) => {
  const { client } = town();
  const slow = town().agent('slow');
  const before = messagesTo(slow).length;
  const { conversation_id, intention_id } = await client.tell(null, 'wait 60 seconds');
  const watching = Promise.withResolvers<void>();
  const told = collect(client.events(conversation_id), ({ event }) => {
    watching.resolve();
    return event === 'call';
  });
  await watching.promise;
  await expect.poll(() => messagesTo(slow).length, { timeout: 20_000, interval: 20 }).toBe(before + 1);
  expect((await client.post(path(conversation_id, intention_id), body)).status).toBeLessThan(300);

  const frames = await told;
  const call = JSON.parse(frames.at(-1)?.data ?? '');
  expect(call).toMatchObject({ intention_id, agent: 'slow', state: 'canceled', cancel: 'canceled' });
  expect(frames.at(-1)?.id).toBeUndefined();
  const ends = frames.filter(({ event, data }) => event === 'status' && data.includes(intention_id) && data.includes('canceled'));
  expect(ends).toHaveLength(1);
  const rows = (await client.rows(conversation_id)).filter((row) => row.intention_id === intention_id);
  expect(rows.map(({ type }) => type)).toEqual([null, 'query', 'canceled']);
  const found = shown.parse(await (await client.send(`/v1/conversations/${conversation_id}/intentions/${intention_id}`)).json());
  expect(found).toEqual({ status: 'canceled', calls: [{ agent: 'slow', state: 'canceled', cancel: 'canceled' }] });
  expect(heard(slow).filter(({ method }) => method === 'CancelTask').length).toBeGreaterThan(0);
});

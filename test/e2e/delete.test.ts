// A conversation that is deleted: its rows, files and keys are gone, and what was at work for it ends.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collect, frames } from '../support/client.ts';
import { messagesTo, useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather', 'coder', 'flaky'] });

const remove = (conversation: string) => town().client.send(`/v1/conversations/${conversation}`, { method: 'DELETE' });

describe('a deleted conversation', () => {
  it('is gone with all that it holds, and so it stays', async () => {
    const { client } = town();
    const { conversation_id, intention_id } = await client.say(null, 'write hello world in python');
    const parts = (await client.rows(conversation_id)).flatMap((row) => (Array.isArray(row.parts) ? row.parts : []));
    const file = parts.find(({ kind }) => kind === 'file')?.url ?? '';
    expect((await client.send(file)).status).toBe(200);

    const response = await remove(conversation_id);
    expect([response.status, await response.text()]).toEqual([204, '']);
    const own = `/v1/conversations/${conversation_id}`;
    for (const path of [own, `${own}/messages`, `${own}/events`, `${own}/intentions/${intention_id}`, file])
      expect([path, (await client.send(path)).status]).toEqual([path, 404]);
    expect((await client.post(`${own}/messages`, { content: 'thanks' })).status).toBe(404);
    expect((await remove(conversation_id)).status).toBe(404);
    expect(await (await client.send('/v1/conversations?limit=100')).text()).not.toContain(conversation_id);
  });

  it('frees the Idempotency-Key that opened it', async () => {
    const { client } = town();
    const open = async () => {
      const response = await client.post('/v1/conversations', { content: 'thanks' }, { 'idempotency-key': 'open' });
      return { status: response.status, text: await response.text() };
    };
    const first = await open();
    expect(await open()).toEqual(first);
    const { conversation_id } = z.object({ conversation_id: z.string() }).parse(JSON.parse(first.text));
    await remove(conversation_id);
    const second = await open();
    expect(second.status).toBe(202);
    expect(second.text).not.toContain(conversation_id);
  });

  it('lets its readers go', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'thanks');
    const response = await client.send(`/v1/conversations/${conversation_id}/events`);
    const reading = collect(
      frames(() => Promise.resolve(response)),
      () => false,
    );
    await remove(conversation_id);
    expect((await reading).at(-1)).toMatchObject({ event: 'reset' });
  });

  it('ends what is at work, without a trace of trouble', async () => {
    const { client, service } = town();
    const { conversation_id } = await client.tell(null, 'flaky hang');
    while (messagesTo(town().agent('flaky')).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const logged = service.log.length;
    expect((await remove(conversation_id)).status).toBe(204);
    expect(await client.say(null, '上海天气如何')).toMatchObject({ status: 'answered' });
    await service.tick();
    expect(service.log.slice(logged).filter((line) => /failed|swept|rror/.test(line))).toEqual([]);
  });

  it('leaves the others alone', async () => {
    const { client } = town();
    const [one, other] = [await client.say(null, '天气如何'), await client.say(null, '天气如何')];
    await remove(one.conversation_id);
    expect(await client.say(other.conversation_id, '上海')).toMatchObject({ status: 'answered', answer: '上海天气很热' });
  });
});

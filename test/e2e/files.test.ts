// Files, data and addresses on their way through: from an agent to the user, from the user to an agent, and back.

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { templateFor } from '../../src/local/agents/templates.ts';
import { scriptedExecutor } from '../support/a2a-executor.ts';
import { type Site, servePeer } from '../support/a2a-peer.ts';
import { callsAgents, reports } from '../support/model-server.ts';
import { messagesTo, useTown } from '../support/town.ts';

let peer: Site;
const town = useTown(async () => {
  peer = await servePeer({ binding: 'JSONRPC', version: '1.0', streaming: true, executor: scriptedExecutor() });
  return { agents: ['coder'], others: [{ url: `${peer.origin}/agent/.well-known/agent-card.json`, name: 'peer' }] };
});
afterAll(() => peer.close());

const fileSchema = z.object({ kind: z.literal('file'), url: z.string(), name: z.string().optional(), media_type: z.string().optional() });

async function partsOf(conversation: string, agent: string) {
  const row = (await town().client.rows(conversation)).find((each) => each.type === 'answer' && each.agent === agent);
  return Array.isArray(row?.parts) ? row.parts : [];
}

describe('the files of an agent', () => {
  it('come back byte for byte, as downloads that no browser runs', async () => {
    const { client } = town();
    const { conversation_id } = await client.say(null, 'make an html page');
    const files = (await partsOf(conversation_id, 'coder')).flatMap((part) => fileSchema.safeParse(part).data ?? []);
    const written = [...templateFor('make an html page')];
    expect(files.map(({ name }) => name)).toEqual(written.map(({ name }) => name));
    for (const [place, file] of files.entries()) {
      const response = await client.send(file.url);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(written[place]?.text);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': written[place]?.mediaType,
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(written[place]?.name ?? '')}`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, max-age=31536000, immutable',
      });
    }
  });
});

describe('the parts of a message', () => {
  const bytes = Uint8Array.from({ length: 4_096 }, (_, place) => (place * 7) % 256);
  const data = { 城市: '上海', list: [1, 2.5, -0.001, null, true, ''], deep: { 'a"b': { c: ['👩‍👩‍👧'] } } };
  const large = { rows: Array.from({ length: 900 }, (_, place) => ({ place, text: `row ${place}` })) };
  const url = 'https://files.example/some%20file?x=1&y=%E4%B8%8A#part';

  it('reach an agent as they were posted, and come back as it sent them', async () => {
    const { client, model } = town();
    const script = [callsAgents({ agent: 'peer', query: 'echo this' }), reports('done')];
    model.follow(() => script.shift() ?? reports('again?'));
    const base64 = Buffer.from(bytes).toString('base64');
    const response = await client.post('/v1/conversations?wait=25', {
      parts: [
        { kind: 'text', text: 'please echo this' },
        { kind: 'data', data, media_type: 'application/json', metadata: { origin: 'a form' } },
        { kind: 'data', data: large },
        { kind: 'bytes', bytes: base64, name: '报告 "1".bin', media_type: 'application/octet-stream' },
        { kind: 'file', url, name: 'elsewhere.pdf', media_type: 'application/pdf' },
      ],
    });
    const { conversation_id } = z.object({ conversation_id: z.string() }).parse(await response.json());

    expect(messagesTo(peer).at(-1)?.parts).toEqual([
      { text: 'echo this' },
      { data, mediaType: 'application/json', metadata: { origin: 'a form' } },
      { data: large },
      { raw: base64, filename: '报告 "1".bin', mediaType: 'application/octet-stream' },
      { url, filename: 'elsewhere.pdf', mediaType: 'application/pdf' },
    ]);

    const [text, small, big, file, link, ...more] = await partsOf(conversation_id, 'peer');
    expect(more).toEqual([]);
    expect(text).toEqual({ kind: 'text', text: 'echo this' });
    expect(small).toEqual({ kind: 'data', data, media_type: 'application/json', metadata: { origin: 'a form' } });
    expect(link).toEqual({ kind: 'file', url, name: 'elsewhere.pdf', media_type: 'application/pdf' });
    // Too large for a row.
    expect(await (await client.send(fileSchema.parse(big).url)).json()).toEqual(large);
    const returned = await client.send(fileSchema.parse(file).url);
    expect(new Uint8Array(await returned.arrayBuffer())).toEqual(bytes);
    expect(returned.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${encodeURIComponent('报告 "1".bin')}`);
  });

  it('are shown to whoever posted them', async () => {
    const { client } = town();
    const response = await client.post('/v1/conversations?wait=25', {
      parts: [
        { kind: 'text', text: 'thanks' },
        { kind: 'data', data },
      ],
    });
    const { conversation_id } = z.object({ conversation_id: z.string() }).parse(await response.json());
    const [first] = await client.rows(conversation_id);
    expect(first).toMatchObject({ role: 'user', content: 'thanks' });
    expect(first?.parts).toContainEqual({ kind: 'data', data });
  });
});

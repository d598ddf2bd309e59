// What real agents answered, byte for byte, and a server that answers it again. Effects: files, sockets.

import { readFileSync } from 'node:fs';
import { json, type Site, serve } from './a2a-peer.ts';

/**
 * The body of one answer in `captured/`, to a request with JSON-RPC id 1; only the models behind the agents were replaced.
 * `coder-*`: the server of a2a-agent-coder (v0.1). `sdk-0.2.5-*`: @a2a-js/sdk 0.2.5. `voltagent-*`: @voltagent/a2a-server 2.0.3,
 * its streams framed as @voltagent/server-hono 2.0.14 frames them. `reactive-*`: @reactive-agents/a2a 0.9.0.
 */
export function captured(name: string): string {
  return readFileSync(new URL(`captured/${name}`, import.meta.url), 'utf8');
}

/** The agent with this card, at its own address; by method, which capture it answers. What else it is asked is an error. */
export async function replay(card: string, answers: Readonly<Record<string, string>>): Promise<Site> {
  let origin = '';
  const site = await serve(async (request, response) => {
    if (request.method === 'GET') return json(response, { ...JSON.parse(captured(card)), url: origin });
    const { method } = JSON.parse(await request.text());
    const name = answers[method];
    if (name === undefined) return json(response, { detail: 'unexpected' }, 500);
    response.writeHead(200, { 'Content-Type': name.endsWith('.sse') ? 'text/event-stream' : 'application/json; charset=utf-8' });
    response.end(captured(name));
  });
  ({ origin } = site);
  return site;
}

// The service as the page sees it: requests with the key, and one stream of events that survives. Effects: fetch, sessionStorage.

import { words } from './words.js';

/** Why a request failed, in words for the user. */
export class Problem extends Error {
  constructor(status, title, detail) {
    super(detail ? `${title}: ${detail}` : title);
    this.status = status;
  }
}

const headers = (more) => {
  const key = sessionStorage.getItem('key');
  return { ...more, ...(key ? { authorization: `Bearer ${key}` } : {}) };
};

/** Answers below 400; anything else is thrown as a Problem, read from problem+json where it is. */
async function request(url, init) {
  const response = await fetch(url, init).catch((thrown) => {
    if (thrown.name === 'AbortError') throw thrown;
    throw new Problem(0, words.network);
  });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem.title ?? `HTTP ${response.status}`, problem.detail);
}

export async function post(url, body) {
  // One key for one press of the button: a repeat after a lost answer changes nothing.
  const init = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: headers({ 'content-type': 'application/json', 'idempotency-key': newKey() }),
  };
  const response = await request(url, init).catch((thrown) => (thrown.status === 0 ? request(url, init) : Promise.reject(thrown)));
  return response.json();
}

const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export const modelName = async () => (await (await request('/healthz')).json()).model;

export async function download(url, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await (await request(url, { headers: headers({}) })).blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * Calls `onEvent(kind, data)` for each event, over as many connections as it takes, each from the last row on; `onState` hears
 * `open` and `away`. Ends when aborted; rejects with a Problem that trying again does not mend (401, 404).
 * EventSource cannot send an Authorization header, hence fetch.
 */
export async function listen(url, signal, onEvent, onState) {
  let lastId = '0';
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const response = await request(url, { signal, headers: headers({ accept: 'text/event-stream', 'last-event-id': lastId }) });
      onState('open');
      let rest = '';
      for await (const text of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
        failures = 0;
        const frames = (rest + text).split('\n\n');
        rest = frames.pop();
        for (const frame of frames) {
          const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1];
          if (field('data') && field('event') !== 'reset') onEvent(field('event'), JSON.parse(field('data')));
          lastId = field('id') ?? lastId;
        }
      }
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof Problem && thrown.status >= 400 && thrown.status < 500) throw thrown;
      onState('away');
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(8000, 500 * 2 ** failures)));
  }
}

/** Not every browser can iterate over a stream. */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

// Questions posted at a steady concurrency, each a new conversation, each read to its end. Effects: HTTP to loopback.

import { reportEnd } from './question.ts';

/** A question that takes longer has failed. */
const questionTimeoutMs = 60_000;

export interface Load {
  /** Origin of the service. */
  readonly url: string;
  readonly content: string;
  readonly questions: number;
  readonly concurrency: number;
}

export interface Loaded {
  /** From the first request to the last byte of all. */
  readonly elapsedMs: number;
  /** Of each question, in the order of their ends. */
  readonly latenciesMs: readonly number[];
}

/** Rejects at the first question that is not answered in full, and when `signal` aborts. */
export async function load({ url, content, questions, concurrency }: Load, signal: AbortSignal): Promise<Loaded> {
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  let asked = 0;
  const lane = async () => {
    while (asked < questions) {
      asked += 1;
      latenciesMs.push(await ask(url, content, signal));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return { elapsedMs: performance.now() - startedAt, latenciesMs };
}

/** Milliseconds to the last byte. */
async function ask(url: string, content: string, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/conversations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ content }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(questionTimeoutMs)]),
  });
  const events = await response.text();
  if (!events.includes(reportEnd)) throw new Error(`a question was not answered: ${response.status} ${events.slice(-300)}`);
  return performance.now() - startedAt;
}

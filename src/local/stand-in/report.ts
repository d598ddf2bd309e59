// How far a question has got, and the report in the agents' own words. Pure.

import type { Language } from '../../plan/language.ts';
import { parts, type QuestionPart } from './match.ts';
import type { MadeCall, Scene } from './scene.ts';
import { sentences } from './sentences.ts';
import { lastOf, type Thread, threadsOf } from './threads.ts';

/** A part with the threads made for it: a second one only after the first failed. */
interface Worked {
  readonly query: string;
  readonly threads: readonly Thread[];
}

/** An agent that fits far less than the best is no help when that one fails. */
const leastShare = 0.4;
const maxThreads = 2;

interface Progress {
  /** What is to be asked next; null: the report is due. */
  readonly next: QuestionPart | null;
  /** Agents that have failed at it. */
  readonly tried: readonly string[];
  readonly worked: readonly Worked[];
}

/** Threads are laid on the parts in their order, as they were made. */
export function progress(scene: Scene): Progress {
  const threads = [...threadsOf(scene.calls)];
  const worked: Worked[] = [];
  for (const part of parts(scene.question, scene.agents)) {
    const own: Thread[] = [];
    while (threads.length > 0 && (own.length === 0 || mayRetry(part, own))) own.push(...threads.splice(0, 1));
    if (own.length === 0) return { next: part, tried: [], worked };
    worked.push({ query: part.query, threads: own });
    if (threads.length === 0 && mayRetry(part, own)) return { next: part, tried: own.map(([call]) => call.agent), worked };
  }
  // Calls that our rules would not have made are reported all the same.
  return { next: null, tried: [], worked: [...worked, ...threads.map((thread) => ({ query: thread[0].query, threads: [thread] }))] };
}

function mayRetry(part: QuestionPart, own: readonly Thread[]): boolean {
  const [best] = part.matches;
  const others = part.matches.filter(
    ({ agent, score }) => score >= (best?.score ?? 0) * leastShare && !own.some(([call]) => call.agent === agent.name),
  );
  return own.length < maxThreads && own.every((thread) => lastOf(thread).result.kind === 'failed') && others.length > 0;
}

/** One agent's words stand as they are; several are told apart by name. Failures and gaps are named. */
export function report(scene: Scene, language: Language): string {
  const { worked, next } = progress(scene);
  const own = sentences[language];
  const missing = next && !worked.some(({ query }) => query === next.query) ? [own.missing(next.query)] : [];
  const [only] = worked;
  if (worked.length === 1 && only && missing.length === 0) {
    const answer = answerOf(only);
    if (answer) return answer.result.text;
  }
  return [...worked.map((part) => told(part, language)), ...missing].join('\n\n');
}

function answerOf({ threads }: Worked): MadeCall | undefined {
  return threads.map(lastOf).find((call) => call.result.kind === 'answer');
}

function told(part: Worked, language: Language): string {
  const own = sentences[language];
  const answer = answerOf(part);
  if (answer) return own.block(answer.agent, answer.result.text);
  return [...part.threads.map((thread) => gap(lastOf(thread), language)), own.missing(part.query)].join('\n');
}

function gap({ agent, result }: MadeCall, language: Language): string {
  const own = sentences[language];
  switch (result.kind) {
    case 'asked':
      return own.asking(agent, result.text);
    case 'unsure':
      return own.unsure(agent);
    case 'none':
      return own.silent(agent);
    case 'answer':
    case 'failed':
      return own.failed(agent, result.text);
  }
}

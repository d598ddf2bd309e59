// Which calls belong together: an agent that asks back goes on in the next call to it. Pure.

import type { MadeCall } from './scene.ts';

/** The calls to one agent about one thing, in order. */
export type Thread = readonly [MadeCall, ...MadeCall[]];

/** Threads in the order of their beginnings. */
export function threadsOf(calls: readonly MadeCall[]): readonly Thread[] {
  const threads: Thread[] = [];
  for (const call of calls) {
    const going = threads.findIndex((thread) => thread[0].agent === call.agent && continues(thread));
    const thread = threads[going];
    if (thread) threads[going] = [...thread, call];
    else threads.push([call]);
  }
  return threads;
}

/** A thread that ended in a question is continued by the next call to the same agent. */
function continues(thread: Thread): boolean {
  const { kind } = lastOf(thread).result;
  return kind === 'asked' || kind === 'unsure' || kind === 'none';
}

export function lastOf(thread: Thread): MadeCall {
  return thread.at(-1) ?? thread[0];
}

// A2A agents in a process of their own, which note on disk each message that reaches them. Effects: HTTP, a file, pushes.

import { fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Agent } from '../../../src/local/agents/agent.ts';
import { executorOf } from '../../../src/local/agents/executor.ts';
import { type PeerOptions, servePeer } from '../a2a-peer.ts';

const given = z.object({ log: z.string(), ports: z.record(z.string(), z.number()) }).parse(JSON.parse(process.argv[2] ?? '{}'));

const log = openSync(given.log, 'a');
const message = z.object({ params: z.object({ message: z.object({ messageId: z.string() }) }) });

/** On the disk before the agent does anything about it. */
const noting = (agent: string) => (body: string) => {
  const heard = message.safeParse(JSON.parse(body));
  if (!heard.success) return;
  writeSync(log, `${agent} ${heard.data.params.message.messageId}\n`);
  fsyncSync(log);
};

/** In pieces, so that there is something to cut. */
const says = (piecePauseMs: number): Agent['answer'] =>
  async function* ({ text, signal }) {
    for (const piece of ['this is ', 'the answer', ' to ', text]) {
      await pause(piecePauseMs, undefined, { signal });
      yield { kind: 'artifact', name: 'answer', text: piece };
    }
    yield { kind: 'completed' };
  };
const asking: Agent['answer'] = async function* (heard) {
  if (heard.earlier.length === 0) yield { kind: 'input_required', text: 'which one?' };
  else yield* says(20)(heard);
};

const kinds: Readonly<Record<string, { readonly answer: Agent['answer'] } & Partial<PeerOptions>>> = {
  stream: { answer: says(150) },
  poll: { answer: says(150), streaming: false },
  push: { answer: says(250), streaming: false, push: true },
  old: { answer: says(150), version: '0.3' },
  asks: { answer: asking },
  /** Its task is written down while it works. */
  long: { answer: says(500) },
};

const never = new AbortController().signal;
for (const [name, port] of Object.entries(given.ports)) {
  const { answer, ...options } = kinds[name] ?? { answer: says(0) };
  const executor = executorOf(async function* (heard) {
    yield { kind: 'working' };
    yield* answer(heard);
  }, never);
  await servePeer({ binding: 'JSONRPC', version: '1.0', streaming: true, ...options, executor, port, hears: noting(name) });
}
process.stdout.write('listening\n');
// Whoever started it is gone: nobody needs it any more.
process.stdin.on('end', () => process.exit()).resume();

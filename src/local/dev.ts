// `npm run dev`: database, model, agents and service on one machine, until Ctrl-C. Effects: processes, files, HTTP, standard output.

import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { languageOf } from './language.ts';
import { type Options, readOptions } from './options.ts';
import { sentences } from './sentences.ts';
import { start } from './start.ts';

const say = sentences[languageOf(process.env)];

async function main(): Promise<number> {
  const devVars = existsSync('.dev.vars') ? parseEnv(readFileSync('.dev.vars', 'utf8')) : {};
  const read = readOptions(process.argv.slice(2), process.env, devVars);
  switch (read.kind) {
    case 'help':
      console.log(say.help);
      return 0;
    case 'wrong':
      console.error(say.wrong(read.reason));
      return 1;
    case 'options':
      return run(read.options);
  }
}

/** Returns the exit code once everything has ended: 0 when the user wanted that. */
async function run(options: Options): Promise<number> {
  const asked = new Error(say.stopping);
  const stopping = new AbortController();
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // Children are ended by the shells that guard them.
      if (++signals > 1) process.exit(1);
      stopping.abort(asked);
    });
  }
  const stack = new AsyncDisposableStack();
  const startedAt = performance.now();
  try {
    const ready = await start({
      options,
      say,
      stack,
      stopping: stopping.signal,
      fail: (reason) => stopping.abort(new Error(reason)),
      progress: (line) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${line}`),
      onLine: (name, line) => console.error(`[${name}] ${line}`),
    });
    console.log(say.ready(ready));
    await aborted(stopping.signal);
  } catch (thrown) {
    stopping.abort(thrown);
  }
  const { reason } = stopping.signal;
  if (reason === asked) console.log(`\n${say.stopping}`);
  else console.error(reason instanceof Error ? reason.message : String(reason));
  await stack.disposeAsync();
  return reason === asked ? 0 : 1;
}

/** Rejects with the signal's reason. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

process.exitCode = await main();

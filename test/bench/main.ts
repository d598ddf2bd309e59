// `npm run bench`: the built Worker beside a floor, on this machine alone. Effects: processes, HTTP to loopback, standard output, the exit code.

import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from './load.ts';
import { cpuMsOf, residentKibOf } from './measure.ts';
import { help, type Options, readOptions } from './options.ts';
import { quickQuestion, slowMs, slowQuestion } from './question.ts';
import { type Stage, setStage, type Worker } from './stage.ts';
import { type Compared, percentile, type Round, table } from './table.ts';

const rounds = 3;
/** Before anything is measured: compilers warm up on it, and the cards are read. */
const warmUp = { content: quickQuestion, questions: 200, concurrency: 8 };
/** Questions in flight at once while memory is measured. */
const inFlight = 200;

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  if ('wrong' in options) {
    console.error(options.wrong);
    return 2;
  }
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort(new Error('stopped')));
  await using stack = new AsyncDisposableStack();
  try {
    await bench(options, await setStage(stack), stopping.signal);
    return 0;
  } catch (thrown) {
    const reason = stopping.signal.aborted ? stopping.signal.reason : thrown;
    console.error(reason instanceof Error ? reason.message : String(reason));
    return 1;
  }
}

async function bench({ questions, concurrencies }: Options, stage: Stage, signal: AbortSignal): Promise<void> {
  const service = await stage.startService();
  await load({ url: service.url, ...warmUp }, signal);
  const before = await stage.counts();
  await load({ url: service.url, ...warmUp }, signal);
  const after = await stage.counts();
  const each = (count: keyof typeof after) => (after[count] - before[count]) / warmUp.questions;
  const floor = await stage.startFloor(Math.round(each('databaseRequests')));
  await load({ url: floor.url, ...warmUp }, signal);

  console.log(`${rounds} rounds of ${questions} questions, service and floor in turn: medians (lowest-highest).
A question asks two agents, one after the other, and streams a report of 200 tokens; model and agents answer at once.
Absolute times mean nothing beyond this machine (${availableParallelism()} CPUs): compare the ratios.\n`);
  const compared: Compared[] = [];
  for (const concurrency of concurrencies) {
    const results: Compared & { service: Round[]; floor: Round[] } = { concurrency, service: [], floor: [] };
    for (let round = 0; round < rounds; round++) {
      results.service.push(await measure(service, questions, concurrency, signal));
      results.floor.push(await measure(floor, questions, concurrency, signal));
    }
    compared.push(results);
  }
  console.log(table(compared));
  await service.stop();
  await floor.stop();

  console.log(`
Per question: ${each('databaseRequests').toFixed(1)} round trips to the database, ${each('modelRequests').toFixed(1)} model calls, \
${Math.round(each('modelRequestBytes') / 4)} input tokens (bytes of the request JSON / 4, tool schemas included).`);
  const used = await memory(await stage.startService(), stage, signal);
  const least = await memory(await stage.startFloor(Math.round(each('databaseRequests'))), stage, signal);
  console.log(`Memory per question in flight (${inFlight} at once, agents take ${slowMs / 1000} s, a new process each): \
service ${used.toFixed(0)} KiB, floor ${least.toFixed(0)} KiB, ratio x ${(used / least).toFixed(2)}; mostly garbage that waits for its collection.`);
}

async function measure({ url, pid }: Worker, questions: number, concurrency: number, signal: AbortSignal): Promise<Round> {
  const usedMs = await cpuMsOf(pid);
  const { elapsedMs, latenciesMs } = await load({ url, content: quickQuestion, questions, concurrency }, signal);
  // What a question leaves behind (alarms, closing streams) belongs to it.
  await delay(100);
  return {
    perSecond: (questions * 1_000) / elapsedMs,
    p50Ms: percentile(latenciesMs, 0.5),
    p95Ms: percentile(latenciesMs, 0.95),
    cpuMs: ((await cpuMsOf(pid)) - usedMs) / questions,
  };
}

/** KiB of resident memory that each question adds while all of them wait for an agent. */
async function memory({ url, pid, stop }: Worker, stage: Stage, signal: AbortSignal): Promise<number> {
  await load({ url, ...warmUp }, signal);
  const beforeKib = await residentKibOf(pid);
  const asked = load({ url, content: slowQuestion, questions: inFlight, concurrency: inFlight }, signal);
  const watched = (async () => {
    while ((await stage.counts()).waiting < inFlight) await delay(20, undefined, { signal });
    return residentKibOf(pid);
  })();
  const [reached] = await Promise.all([watched, asked]);
  await stop();
  return (reached - beforeKib) / inFlight;
}

process.exitCode = await main();

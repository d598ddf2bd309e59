// Puts the virtual clock, seeded chance and a prompt crypto in the place of the process's own. Effects: globals of this process.

import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Random } from './random.ts';
import type { Happening, Scheduler } from './scheduler.ts';

interface Surroundings {
  readonly scheduler: Scheduler;
  readonly chance: Random;
  /** How far the Worker's clock is from the database's. */
  readonly skewMs: number;
}

let around: Surroundings | null = null;

const realNow = Date.now;

export function surround(given: Surroundings): void {
  around = given;
}

function set(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

/** Once in a process, before the first schedule; nothing of ours runs outside of one. */
export function takeOver(): void {
  // As on the platform, where no code is made from text; and quicker for schemas that are used once.
  z.config({ jitless: true });
  set(Date, 'now', () => (around === null ? realNow() : around.scheduler.nowMs() + around.skewMs));
  set(Math, 'random', () => around?.chance.next() ?? 0.5);
  // An embedded database sets timers of its own, also when one of them rings.
  const { setTimeout, clearTimeout } = globalThis;
  let foreign = false;
  const abroad = (run: () => void) => () => {
    foreign = true;
    run();
    foreign = false;
  };
  set(globalThis, 'setTimeout', (run: () => void, inMs = 0) =>
    !foreign && around?.scheduler.inside() ? around.scheduler.at(inMs, around.scheduler.current(), run) : setTimeout(abroad(run), inMs),
  );
  set(globalThis, 'setInterval', (run: () => void, everyMs: number) => repeat(run, everyMs));
  set(globalThis, 'clearTimeout', (timer: Happening | NodeJS.Timeout | undefined) => {
    if (timer && 'tie' in timer) around?.scheduler.cancel(timer);
    else clearTimeout(timer);
  });
  set(globalThis, 'clearInterval', (timer: { happening: Happening } | undefined) => timer && around?.scheduler.cancel(timer.happening));
  const { subtle } = globalThis.crypto;
  set(subtle, 'digest', async (_: string, bytes: Uint8Array) => bufferOf(createHash('sha256').update(bytes).digest()));
  set(subtle, 'importKey', async (_: string, key: Uint8Array) => ({ key }));
  set(subtle, 'sign', async (_: string, { key }: { key: Uint8Array }, bytes: Uint8Array) =>
    bufferOf(createHmac('sha256', key).update(bytes).digest()),
  );
}

function repeat(run: () => void, everyMs: number): { happening: Happening } | undefined {
  if (around === null) return undefined;
  const { scheduler } = around;
  const owner = scheduler.current();
  const again = (): Happening =>
    scheduler.at(everyMs, owner, () => {
      timer.happening = again();
      run();
    });
  const timer = { happening: again() };
  return timer;
}

const bufferOf = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;

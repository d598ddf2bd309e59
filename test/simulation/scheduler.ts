// One thing happens at a time: a virtual clock, what is due on it, and invocations that can die or freeze. Effects: none but on itself.

import { Fault } from '../../src/fault.ts';
import type { Random } from './random.ts';

/** One run of our code on the platform: a request, an alarm, a tick of the cron. */
export interface Invocation {
  readonly name: string;
  alive: boolean;
  /** Nothing of it moves before then, its timers included. */
  frozenUntilMs: number;
  /** What waits for the scheduler. */
  parked: number;
  /** What is to happen to it. */
  scheduled: number;
  ended: boolean;
  readonly onDeath: () => void;
}

export interface Happening {
  atMs: number;
  tie: number;
  readonly owner: Invocation | null;
  readonly run: () => void;
  canceled: boolean;
  over: boolean;
  /** It happens for ever, and does not count as something to wait for. */
  readonly background: boolean;
}

export interface Scheduler {
  nowMs(): number;
  /** The invocation whose code runs; timers that are set belong to it. */
  current(): Invocation | null;
  at(inMs: number, owner: Invocation | null, run: () => void, background?: boolean): Happening;
  cancel(happening: Happening): void;
  /** Resolves when that time has passed. Never for an invocation that died. Rejects with Fault `aborted`. */
  pass(owner: Invocation | null, inMs: number, signal?: AbortSignal): Promise<void>;
  /** Real work that the next happening waits for. The clock moves on by a millisecond, so that no two have the same time. */
  external<T>(work: () => Promise<T>): Promise<T>;
  /** As `external`, when what happens now is over, and before anything else does. */
  afterwards(work: () => Promise<void>): void;
  /** False: nothing is left, but what happens for ever. */
  step(): Promise<boolean>;
  /** Whether our code runs now, and nothing of the store. */
  inside(): boolean;
  /** Whether anything but what happens for ever is to come. */
  idle(): boolean;
}

/** It waits for something that is not of the simulation. */
const isBusy = ({ alive, ended, parked, scheduled }: Invocation): boolean => alive && !ended && parked === 0 && scheduled === 0;
const longestTurns = 1_000_000;

/** Taken before anybody puts the virtual clock in its place. */
const nextTurn = globalThis.setImmediate;

export function scheduler(chance: Random, startMs: number): Scheduler {
  const heap: Happening[] = [];
  let nowMs = startMs;
  let current: Invocation | null = null;
  let pending = 0;
  let counted = 0;
  let stepping = false;
  let left: (() => Promise<void>)[] = [];

  const before = (one: Happening, other: Happening): boolean => one.atMs < other.atMs || (one.atMs === other.atMs && one.tie < other.tie);

  const push = (happening: Happening): void => {
    let place = heap.push(happening) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (!parent || !before(happening, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = happening;
  };

  const pop = (): Happening | undefined => {
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      let child = heap[left];
      if (!child) break;
      let childPlace = left;
      const right = heap[left + 1];
      if (right && before(right, child)) {
        child = right;
        childPlace = left + 1;
      }
      if (!before(child, last)) break;
      heap[place] = child;
      place = childPlace;
    }
    heap[place] = last;
    return first;
  };

  const at: Scheduler['at'] = (inMs, owner, run, background = false) => {
    const happening = { atMs: nowMs + Math.max(0, inMs), tie: chance.next(), owner, run, canceled: false, over: false, background };
    if (!background) counted += 1;
    if (owner) owner.scheduled += 1;
    push(happening);
    return happening;
  };

  const external: Scheduler['external'] = async (work) => {
    pending += 1;
    nowMs += 1;
    try {
      return await work();
    } finally {
      pending -= 1;
    }
  };

  const settle = async (): Promise<void> => {
    do await new Promise<void>((resolve) => nextTurn(resolve));
    while (pending > 0);
  };

  const cancel: Scheduler['cancel'] = (happening) => {
    if (happening.owner && !happening.canceled && !happening.over) happening.owner.scheduled -= 1;
    happening.canceled = true;
  };

  return {
    nowMs: () => nowMs,
    current: () => current,
    at,
    cancel,
    pass(owner, inMs, signal) {
      if (owner) owner.parked += 1;
      return new Promise((resolve, reject) => {
        const leave = (then: () => void) => () => {
          if (owner) owner.parked -= 1;
          then();
        };
        const refuse = leave(() => reject(new Fault('aborted')));
        if (signal?.aborted) {
          at(0, owner, refuse);
          return;
        }
        const abort = () => {
          if (happening) cancel(happening);
          at(0, owner, refuse);
        };
        const arrive = leave(() => {
          signal?.removeEventListener('abort', abort);
          resolve();
        });
        const happening = inMs === Number.POSITIVE_INFINITY ? null : at(inMs, owner, arrive);
        signal?.addEventListener('abort', abort, { once: true });
      });
    },
    external,
    afterwards: (work) => {
      left.push(work);
    },
    async step() {
      for (;;) {
        const happening = pop();
        if (!happening) return false;
        const { owner, canceled, atMs } = happening;
        if (canceled || owner?.alive === false) {
          if (!happening.background) counted -= 1;
          continue;
        }
        if (owner && owner.frozenUntilMs > Math.max(atMs, nowMs)) {
          happening.atMs = owner.frozenUntilMs;
          happening.tie = chance.next();
          push(happening);
          continue;
        }
        if (!happening.background) counted -= 1;
        happening.over = true;
        if (owner) owner.scheduled -= 1;
        nowMs = Math.max(nowMs, atMs);
        current = owner;
        stepping = true;
        happening.run();
        await settle();
        // A request's body is read by another thread.
        for (let turns = 0; owner && isBusy(owner); turns += 1) {
          if (turns > longestTurns) throw new Error(`${owner.name} waits for nothing that happens here`);
          await settle();
        }
        current = null;
        stepping = false;
        const now = left;
        left = [];
        for (const work of now) await external(work);
        return true;
      }
    },
    inside: () => stepping && pending === 0,
    idle: () => counted === 0,
  };
}

// One schedule: users, agents, a model and a platform around the shipped code, from a seed to rest. Effects: globals of this process, the store.

import { Fault } from '../../src/fault.ts';
import { isTerminal } from '../../src/intention/intention.ts';
import { sweepGraceMs } from '../../src/intention/limits.ts';
import { readSettings } from '../../src/settings.ts';
import { sweepDue } from '../../src/step/sweep.ts';
import type { Ids } from '../../src/world.ts';
import { newTown } from './agents.ts';
import { type Counts, crashPoints, faultKinds, faults } from './faults.ts';
import { surround } from './globals.ts';
import { check } from './invariants.ts';
import { platformOf } from './platform.ts';
import { worldOf } from './ports.ts';
import { mix, random } from './random.ts';
import { type Invocation, scheduler } from './scheduler.ts';
import { type Simulation, short } from './simulation.ts';
import type { Store } from './store/store.ts';
import { usersOf } from './users.ts';

export interface Result {
  readonly violations: readonly string[];
  /** The last events. */
  readonly trail: readonly string[];
  /** Of the whole trail. */
  readonly hash: number;
  readonly steps: number;
}

const hourMs = 3_600_000;
/** Questions expire after a day, and what only the sweep finds waits for it each time. */
const longestMs = 4 * 24 * hourMs;
const maxSteps = 40_000;
const trailLength = 60;
const startMs = Date.UTC(2026, 10, 21);

export const settings = readSettings({
  DATABASE_URL: 'postgres://simulated',
  OPENAI_API_KEY: 'none',
  PUBLIC_URL: 'https://us.example',
  PUSH_SECRET: 'the secret of the simulation',
  ALLOW_ANONYMOUS: '1',
});

export interface Shared {
  readonly store: Store;
  readonly token: { value: string };
  readonly fired: Counts;
}

/** Equal seed and number: equal schedule. */
export async function run({ store, token, fired }: Shared, seed: number, number: number, whole = false): Promise<Result> {
  const chance = random(mix(seed, `schedule ${number}`));
  const wanted = [...crashPoints, ...faultKinds];
  const clock = scheduler(chance, startMs);
  const drawn = faults(chance, wanted[number % wanted.length] ?? '', fired);
  const violations: string[] = [];
  const trail: string[] = [];
  const alive = new Set<Invocation>();
  let hash = 0;
  let made = 0;
  const ids: Ids = { next: () => `00000000-0000-7000-8000-${(++made).toString(16).padStart(12, '0')}` };
  surround({
    scheduler: clock,
    chance,
    skewMs: drawn.throughout('clocks apart', 0.05) ? chance.pick([-300_000, -20_000, 20_000, 300_000]) : 0,
  });
  await store.clear();
  const town = newTown();

  const tell = (text: string) => {
    const line = `${((clock.nowMs() - startMs) / 1_000).toFixed(3)} ${text}`;
    hash = mix(hash, line);
    trail.push(line);
    if (!whole && trail.length > 2 * trailLength) trail.splice(0, trailLength);
  };
  const kill = (own: Invocation) => {
    if (!own.alive || own.ended) return;
    own.alive = false;
    alive.delete(own);
    own.onDeath();
  };
  const simulation: Simulation = {
    scheduler: clock,
    chance,
    faults: drawn,
    store,
    settings,
    ids,
    token,
    away: { untilMs: 0 },
    conversations: new Set(),
    published: [],
    received: [],
    named: new Map(),
    cancels: [],
    garbled: new Set(),
    tell,
    violate: (text) => {
      tell(`VIOLATED: ${text}`);
      violations.push(text);
    },
    invoke(name, work, died = () => {}) {
      const own: Invocation = { name, alive: true, frozenUntilMs: 0, parked: 0, scheduled: 0, ended: false, onDeath: died };
      alive.add(own);
      const end = () => {
        own.ended = true;
        alive.delete(own);
      };
      clock.at(0, own, () => {
        work(worldOf(simulation, own, platform, town), own).then(end, (thrown: unknown) => {
          end();
          simulation.violate(`${short(name)} threw ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
        });
      });
      return own;
    },
    kill,
    crash(objects) {
      if (objects) platform.forget();
      for (const own of [...alive]) kill(own);
    },
  };
  const platform = platformOf(simulation, drawn.throughout('two workers', 0.1));
  const users = usersOf(simulation);
  let steps = 0;
  let resting = false;
  const tick = () => {
    clock.at(hourMs, null, tick, true);
    void clock.external(async () => {
      store.setNow(clock.nowMs());
      const found = await store.ledger.sweep(sweepGraceMs / 1_000, 1);
      // What finds nothing does nothing: once in a while is enough.
      if (found.length > 0 || chance.chance(drawn.isRare ? 0.5 : 0.05))
        simulation.invoke('cron', (world) => sweepDue(world).catch(forgiven));
    });
  };
  clock.at(hourMs / 2, null, tick, true);
  while (!resting) {
    if (clock.idle()) resting = await isAtRest(simulation);
    if (resting) break;
    await clock.step();
    steps += 1;
    if (steps > maxSteps || clock.nowMs() - startMs > longestMs) {
      simulation.violate(`no rest after ${steps} steps and ${Math.round((clock.nowMs() - startMs) / hourMs)} hours`);
      break;
    }
  }
  await check(simulation, users, town);
  return { violations, trail: whole ? trail : trail.slice(-trailLength), hash, steps };
}

/** The platform only notes that a tick failed. */
const forgiven = (thrown: unknown): void => {
  if (!(thrown instanceof Fault) || thrown.code !== 'database_down') throw thrown;
};

/** Nothing is on its way, and nothing is left to do. */
async function isAtRest({ store, conversations }: Simulation): Promise<boolean> {
  for (const id of conversations) {
    const { intentions, calls } = await store.snapshot(id);
    if (intentions.some(({ status }) => !isTerminal(status)) || calls.some(({ wakeAtMs }) => wakeAtMs !== null)) return false;
  }
  return true;
}

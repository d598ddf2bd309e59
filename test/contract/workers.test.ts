// The shipped steps among sixteen racing workers that respect nobody's alarm, on a Postgres that dies every few seconds: nothing is lost, nothing doubled.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { terminalStatuses } from '../../src/intention/intention.ts';
import { maxTransmissions } from '../../src/intention/limits.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { worker } from '../support/workers/alarms.ts';
import { type House, startHouse } from '../support/workers/house.ts';
import { broken } from '../support/workers/invariants.ts';
import { usersOf } from '../support/workers/users.ts';

const workers = 16;
const conversations = 150;
/** Each starts an intention; users who stray start some more. */
const messages = 500;
/** Time that passes for leases, looks and deadlines, for each second of ours. */
const secondsASecond = 8;
const restartEveryMs = 3_000;
/** Every fourth restart takes longer than the driver is patient. */
const longOutageMs = 1_500;
const maxMs = 150_000;

let postgres: PostgresServer;
let house: House;
/** Equal seeds give equal choices; what the machine makes of them is its own. */
const random = dice(20_261_121);
beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
  house = await startHouse(postgres, random);
});
afterAll(async () => {
  await house.close();
  await postgres.stop();
});

/** Source: mulberry32. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('500 intentions under 16 racing workers, while Postgres is restarted every few seconds', { timeout: maxMs + 30_000 }, async () => {
  const { world, alarms, town, logged, query } = house;
  const users = usersOf(house, random, messages, conversations);
  const over = new AbortController();
  const startedAtMs = performance.now();
  const every = async (ms: number, work: () => Promise<unknown>) => {
    while (!over.signal.aborted) {
      await pause(ms);
      await work();
    }
  };

  const ways = ['fast', 'killed', 'immediate'] as const;
  let restarts = 0;
  const restart = async () => {
    await postgres.restart(ways[restarts % ways.length] ?? 'fast', restarts % 4 === 3 ? longOutageMs : 0);
    restarts += 1;
  };
  const sweep = async () => {
    for (const name of await world.ledger.sweep(0, 200)) await world.runner.kick(name);
  };
  const running = [
    ...Array.from({ length: workers }, () => worker(world, alarms, over.signal)),
    every(300, users.answer),
    every(400, users.stop),
    // What the database does not take while it is away, it is asked again.
    every(500, () => sweep().catch(() => {})),
    every(1_000, () => house.shift(secondsASecond).catch(() => {})),
    every(restartEveryMs, restart),
  ];
  const ended = async () => {
    await users.speak();
    for (;;) {
      const [left] =
        await query(`select (select count(*) from intention where status not in ('${terminalStatuses.join(`', '`)}'))::int as intentions,
        (select count(*) from call where cancel = 'wanted' and wake_at is not null)::int as cancels`);
      if ((left?.['intentions'] === 0 && left['cancels'] === 0) || performance.now() - startedAtMs > maxMs) return left;
      await pause(200);
    }
  };
  try {
    const left = await Promise.race([ended(), ...running.map((each) => each.then(() => 'somebody left early'))]);
    expect(left, 'work that never ended').toEqual({ intentions: 0, cancels: 0 });
  } finally {
    over.abort();
    await Promise.allSettled(running);
  }

  const seconds = (performance.now() - startedAtMs) / 1_000;
  const statuses = await query('select status, count(*)::int as n from intention group by status order by status');
  console.log({
    seconds,
    statuses,
    restarts,
    said: users.accepted.size,
    sent: town.received.size,
    alarms: alarms.counts,
    refusals: Object.fromEntries(house.refusals),
  });
  const kept = await query<{ readonly id: string }>(`select id from message where role = 'user'`);
  const bugs = logged.filter(({ event, notes }) => event === 'work failed' && notes['code'] === 'internal');
  const again = [...town.received].filter(([, { agent, times }]) => times > (agent === 'knowing' ? maxTransmissions : 1));
  const deadlocks = house.refusals.get('40P01') ?? 0;
  expect({ deadlocks, 'broken laws': await broken(query), bugs, 'messages that reached their agent again': again }).toEqual({
    deadlocks: 0,
    'broken laws': {},
    bugs: [],
    'messages that reached their agent again': [],
  });
  // Some intentions fail in plain words: who takes a name beside another is one more claim without a decision, and the fourth is taken for poison.
  // `broken` holds that whatever is terminal has one final row, and every row an intention.
  expect(new Set(kept.map(({ id }) => id)), 'what users said').toEqual(new Set(users.accepted.keys()));
  expect(users.accepted.size).toBeGreaterThanOrEqual(messages);
  expect(restarts, 'restarts').toBeGreaterThan(3);
  expect(alarms.counts.together, 'names taken by two at once').toBeGreaterThan(50);
});

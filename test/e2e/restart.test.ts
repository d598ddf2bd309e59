// A killed service: whatever was accepted comes to its one end, by alarms, or by the sweep alone when those are lost too.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { clientOf } from '../support/client.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Service, stateFolder } from '../support/service.ts';
import { allAtRest, expectWhole, isAtRest, rowsOf, say, start, tell } from '../support/stories.ts';
import { type Plot, type Stop, type Story, type Street, startStreet } from '../support/street.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  // The agents' library reports each notification, and each that finds nobody.
  vi.spyOn(console, 'info').mockReturnValue();
  vi.spyOn(console, 'error').mockReturnValue();
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const sides = { database: ['before', 'after'], model: ['before', 'during'], agent: ['before', 'during'], user: ['before'] } as const;

/** Both sides of every trip that a story of this plot makes, from one that nothing stopped. */
async function stopsOf(street: Street, service: Service, plot: Plot): Promise<readonly Stop[]> {
  const story = street.begin(plot);
  await tell(street, service, story, AbortSignal.timeout(30_000));
  return (['database', 'model', 'agent', 'user'] as const).flatMap((place) =>
    street.tripsOf(story, place).flatMap((_, index) => sides[place].map((when): Stop => ({ place, nth: index + 1, when }))),
  );
}

/** Stories that stand still, one at each step of each plot, and the service killed under them. */
async function killedEverywhere(street: Street, state: string, kinds: readonly Plot[]): Promise<readonly Story[]> {
  const service = await start(street, state);
  const stops = await Promise.all(kinds.map((plot) => stopsOf(street, service, plot)));
  const stories = kinds.flatMap((plot, index) => (stops[index] ?? []).map((stop) => street.begin(plot, stop)));
  const leaving = new AbortController();
  const told = stories.map((story) => tell(street, service, story, leaving.signal).catch(() => undefined));
  await Promise.all(stories.map((story, index) => Promise.race([story.stopped, told[index]])));
  await service.kill();
  leaving.abort();
  street.release();
  return stories;
}

const due = `select 'intention' as kind, status as state from intention where wake_at is not null
  union all select 'call', state from call where wake_at is not null`;

test('killed between any two steps with all alarms lost, every message comes to one end by the sweep alone', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const [lost, fresh] = [await stateFolder(), await stateFolder()];
  try {
    const stories = await killedEverywhere(street, lost.path, ['stream', 'poll', 'push', 'old', 'asks', 'both']);
    await lost.forget();
    await street.shift(100);
    const service = await start(street, fresh.path);
    await service.tick();
    const leaving = AbortSignal.timeout(60_000);
    const told = stories.map((story) => tell(street, service, story, leaving).catch(() => undefined));
    await allAtRest(street, stories, 60);
    await Promise.all(told);

    // Nobody answers what was left in doubt: it expires.
    await street.shift(25 * 3600);
    await service.tick();
    await expect
      .poll(
        async () => {
          // Tasks to be canceled whose names nobody knows are looked for some more times, each twice as far off.
          await street.shift(100);
          await service.tick();
          return street.query(z.unknown(), due);
        },
        { timeout: 30_000, interval: 500 },
      )
      .toEqual([]);
    await expectWhole(street, stories);
    expect(
      await Promise.all(stories.map(async (story) => (await rowsOf(street, story)).filter(({ role }) => role === 'assistant').length)),
    ).toEqual(stories.map(() => 1));
    await service.stop();
  } finally {
    await street.close();
    await fresh.forget();
  }
});

test('killed between any two steps, every message goes on by the alarms alone', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const state = await stateFolder();
  try {
    const stories = await killedEverywhere(street, state.path, ['stream', 'poll', 'old', 'both']);
    const service = await start(street, state.path);
    const leaving = AbortSignal.timeout(60_000);
    const told = stories.map((story) => tell(street, service, story, leaving).catch(() => undefined));
    // Half a minute is for what is in doubt after a resumed task or a promised push; these are not.
    await allAtRest(street, stories, 25);
    await Promise.all(told);
    await expectWhole(street, stories);
    await service.stop();
  } finally {
    await street.close();
    await state.forget();
  }
});

test('a reader who comes back with the last id after each kill sees every row once, in order', async () => {
  const street = await startStreet(postgres, inject('bundle'));
  const state = await stateFolder();
  try {
    const story = street.begin('turns');
    const killAfter = [1, 3, 5];
    const seen: number[] = [];
    let service = await start(street, state.path);
    const conversation = await say(street, service, null, story.words, AbortSignal.timeout(10_000));
    while (!(await isAtRest(street, story)) || seen.length < (await rowsOf(street, story)).length) {
      const due = killAfter[0] ?? Number.POSITIVE_INFINITY;
      // Broken off by the kill, or by us after a second of silence.
      await read(service, conversation, seen, () => seen.length >= due).catch(() => undefined);
      if (seen.length < due) continue;
      await service.kill();
      killAfter.shift();
      service = await start(street, state.path);
    }
    expect(seen).toEqual((await rowsOf(street, story)).map(({ seq }) => seq));
    expect(killAfter.length).toBeLessThan(2);
    await service.stop();
  } finally {
    await street.close();
    await state.forget();
  }
});

/** Notes the ids of the rows after the last one noted; until `enough`, or a second passes without a frame. */
async function read(service: Service, conversation: string, seen: number[], enough: () => boolean): Promise<void> {
  const events = clientOf(service.url).events(conversation, { 'last-event-id': `${seen.at(-1) ?? 0}` });
  for (;;) {
    const next = await Promise.race([events.next(), pause(1_000, null)]);
    if (next === null || next.done) break;
    if (next.value.event === 'message') seen.push(Number(next.value.id));
    if (enough()) break;
  }
  void events.return().catch(() => undefined);
}

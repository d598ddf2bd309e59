// A deploy in mid-step: what the code before began, this code ends; and back, as after a rollback. One schema, the newest.

import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { buildBefore } from '../support/bundle.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { stateFolder } from '../support/service.ts';
import { allAtRest, expectWhole, rowsOf, start, tell } from '../support/stories.ts';
import { type Plot, type Stop, type Story, type Street, startStreet } from '../support/street.ts';

let postgres: PostgresServer;
let bundles: { readonly before: string; readonly now: string };
beforeAll(async () => {
  vi.spyOn(console, 'info').mockReturnValue();
  vi.spyOn(console, 'error').mockReturnValue();
  postgres = await startPostgres();
  const before = await buildBefore();
  // A checkout without history can only be deployed over itself.
  console.log(before ? `the code before: ${before.commit}` : 'no history: the same code stands for the one before');
  bundles = { before: before?.bundle ?? inject('bundle'), now: inject('bundle') };
});
afterAll(() => postgres.stop());

const plots: readonly Plot[] = ['stream', 'poll', 'push', 'old', 'asks', 'both', 'turns'];
/** Each side of the model's answer, of the agent's, and of what is written between them; and none: it may be anywhere. */
const stops: readonly (Stop | null)[] = [
  { place: 'model', nth: 1, when: 'during' },
  { place: 'agent', nth: 1, when: 'during' },
  { place: 'database', nth: 3, when: 'after' },
  { place: 'model', nth: 2, when: 'before' },
  null,
];

/** Stories begun on the running code, which is then gone in the middle of them. */
async function leftBehind(street: Street, state: string, bundle: string): Promise<readonly Story[]> {
  const service = await start(street, state, bundle);
  const stories = plots.flatMap((plot) => stops.map((stop) => street.begin(plot, stop)));
  const leaving = new AbortController();
  const told = stories.map((story) => tell(street, service, story, leaving.signal).catch(() => undefined));
  await Promise.all(stories.map((story, index) => Promise.race([story.stopped, told[index]])));
  await service.kill();
  leaving.abort();
  return stories;
}

/** All of them told to their end by the other code, which then takes new ones as well. */
async function goneOn(street: Street, state: string, bundle: string, stories: readonly Story[]): Promise<void> {
  const service = await start(street, state, bundle);
  const fresh = plots.map((plot) => street.begin(plot));
  const all = [...stories, ...fresh];
  const leaving = AbortSignal.timeout(80_000);
  const told = all.map((story) => tell(street, service, story, leaving).catch(() => undefined));
  await allAtRest(street, all, 80);
  await Promise.all(told);
  await expectWhole(street, all);
  for (const story of fresh) expect((await rowsOf(street, story)).at(-1)?.role).toBe('assistant');
  await service.stop();
}

test.each([
  ['this code goes on with what the code before began', 'before', 'now'],
  ['the code before goes on with what this code began', 'now', 'before'],
] as const)('%s', { timeout: 200_000 }, async (_name, from, to) => {
  const street = await startStreet(postgres, bundles.now);
  const state = await stateFolder();
  try {
    const stories = await leftBehind(street, state.path, bundles[from]);
    street.release();
    await goneOn(street, state.path, bundles[to], stories);
  } finally {
    await street.close();
    await state.forget();
  }
});

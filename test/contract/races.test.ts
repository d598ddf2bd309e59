// Rules that share rows, raced on a real Postgres: PGlite serialises everything and could not fail here.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LedgerUnderTest, newMessage, onPostgres } from '../support/ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { broken } from '../support/workers/invariants.ts';
import { anywhere, type Heard, hearFault, type RuleName, rules, silence, states } from '../support/workers/scenes.ts';

/** Of each pair of rules in each state, in different orders. */
const rounds = 2;
/** Rounds under way at once: with the two rules of each, one of them often told twice, sixteen connections and more are at work. */
const width = 8;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres.stop();
});

/** On a database of its own, which at the end must be as the rules leave it when they run one after another, in whatever order. */
async function raced(heard: Heard, work: (under: LedgerUnderTest) => readonly (() => Promise<void>)[]): Promise<void> {
  const under = await onPostgres(postgres);
  try {
    const waiting = work(under).values();
    await Promise.all(
      Array.from({ length: width }, async () => {
        for (const round of waiting) await round();
      }),
    );
    const kept = new Set((await under.query<{ readonly id: string }>('select id from message')).map(({ id }) => id));
    const [deadlocks] = await under.query('select deadlocks::int as n from pg_stat_database where datname = current_database()');
    expect({
      faults: heard.faults,
      'what Postgres refused': under.refusals(),
      deadlocks,
      'broken laws': await broken(under.query),
      'accepted, and gone': [...heard.accepted].filter(([id, conversation]) => !kept.has(id) && !heard.removed.has(conversation)),
      'transmissions handed out twice': [...heard.sends].filter(([, times]) => times > 1),
      'claims that decided twice': [...heard.decisions].filter(([, made]) => made.size > 1),
    }).toEqual({
      faults: new Map(),
      'what Postgres refused': new Map(),
      deadlocks: { n: 0 },
      'broken laws': {},
      'accepted, and gone': [],
      'transmissions handed out twice': [],
      'claims that decided twice': [],
    });
  } finally {
    await under.close();
  }
}

/** Each with each, with itself, and with what may come at any time: how those get on among themselves is raced where they are the state's own. */
const pairs = (names: readonly RuleName[]): readonly (readonly [RuleName, RuleName])[] => {
  const others = anywhere.filter((name) => !names.includes(name));
  return names.flatMap((one, place) => [...names.slice(place), ...others].map((other) => [one, other] as const));
};

/** One of the two is often told twice, as after a lost response. */
const orders = [
  ['first', 'second'],
  ['second', 'first', 'second'],
  ['second', 'first'],
  ['first', 'second', 'first'],
] as const;

test.each(Object.entries(states))(
  '%s: any two rules at once leave nothing asleep, doubled or lost',
  { timeout: 120_000 },
  async (name, state) => {
    const heard = silence();
    await raced(heard, (under) =>
      pairs(state.rules).flatMap(([one, other], pair) =>
        Array.from({ length: rounds }, (_, round) => async () => {
          const scene = await state.prepare(under, `${name}: ${one} x ${other}`);
          const racers = { first: rules[one](under, scene, heard), second: rules[other](under, scene, heard) };
          const order = orders[(pair + round) % orders.length] ?? orders[0];
          const settled = await Promise.allSettled(order.map((place) => racers[place]()));
          for (const result of settled) if (result.status === 'rejected') hearFault(heard, scene.title, result.reason);
        }),
      ),
    );
  },
);

test('the same key posted by four at once opens one conversation', { timeout: 120_000 }, async () => {
  await raced(silence(), (under) =>
    Array.from({ length: 50 }, (_, round) => async () => {
      const post = () =>
        under.ledger.accept(newMessage('hi', null, { idempotency: { scope: 'new', key: `key-${round}`, bodyHash: 'same' } }));
      const posts = await Promise.all(Array.from({ length: 4 }, post));
      expect(new Set(posts.map((each) => each.kind === 'accepted' && each.message.conversationId)).size).toBe(1);
    }),
  );
});

// Do the double and the SQL do the same? Random sequences of rules on both. Effects: an embedded Postgres, stdout, exit code.

import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Fault } from '../../../src/fault.ts';
import { conversationId } from '../../../src/intention/message.ts';
import { chanceFrom } from './chance.ts';
import { createDoubleStore } from './double.ts';
import { agents, nextStatement, nothingSeen } from './sequences.ts';
import { createSqlStore } from './sql-store.ts';
import type { Snapshot, Store } from './store.ts';

const startMs = Date.parse('2030-01-01T00:00:00Z');

export interface Difference {
  /** What repeats it. */
  readonly command: string;
  readonly statements: readonly string[];
  readonly at: string;
  readonly double: unknown;
  readonly sql: unknown;
}

export interface Compared {
  readonly sequences: number;
  readonly statements: number;
  /** How often each rule came out how, and each status and state was there at the end. */
  readonly marks: Readonly<Record<string, number>>;
  readonly difference: Difference | null;
}

interface Stores {
  readonly double: Store;
  readonly sql: Store;
  /** What both give as the next id. */
  use(token: string): void;
}

async function openStores(): Promise<Stores> {
  let token = '';
  const ids = { next: () => token };
  const double = createDoubleStore({ agents, ids });
  const sql = await createSqlStore({ agents, ids });
  return {
    double,
    sql,
    use: (next) => {
      token = next;
    },
  };
}

/** Stops at the first difference. Sequence number n depends on `seed + n` alone. */
export async function compare(seed: number, sequences: number): Promise<Compared> {
  const stores = await openStores();
  const marks: Record<string, number> = {};
  let statements = 0;
  try {
    for (let number = 0; number < sequences; number++) {
      const done = await compareOne(stores, seed + number, marks);
      statements += done.statements;
      if (done.difference) return { sequences: number + 1, statements, marks, difference: done.difference };
    }
    return { sequences, statements, marks, difference: null };
  } finally {
    await stores.sql.close();
  }
}

/** Most sequences are as long as an exchange with a question takes; some are longer. */
const lengths = [6, 8, 10, 12, 14, 20] as const;

async function compareOne(stores: Stores, seed: number, marks: Record<string, number>) {
  const chance = chanceFrom(seed);
  const seen = nothingSeen(chance.is(0.01));
  const both = [stores.double, stores.sql] as const;
  await Promise.all(both.map((store) => store.clear()));
  const length = seen.gloomy ? 40 : (chance.pick(lengths) ?? 8);
  const said: string[] = [];
  let nowMs = startMs;
  const differ = (at: string, double: unknown, sql: unknown) => ({
    statements: said.length,
    difference: {
      command: `node test/simulation/store/differ.ts --seed ${seed} --sequences 1`,
      statements: said,
      at,
      double,
      sql,
    },
  });
  for (let number = 0; number < length; number++) {
    const now = await stores.double.snapshot([...seen.conversations].at(chance.is(0.85) ? 0 : -1) ?? nowhere);
    const statement = nextStatement(chance, seen, now);
    nowMs += statement.passesMs;
    stores.use(statement.token);
    for (const store of both) store.setNow(nowMs);
    said.push(statement.name);
    const [double, sql] = await Promise.all([resultOf(statement.run(stores.double, seen)), resultOf(statement.run(stores.sql, null))]);
    if (!isDeepStrictEqual(double, sql)) return differ(`what ${statement.name} returned`, double, sql);
    count(marks, `${statement.name}: ${kindOf(double)}`);
  }
  for (const conversation of seen.conversations) {
    const [double, sql] = await Promise.all([stores.double.snapshot(conversation), stores.sql.snapshot(conversation)]);
    if (!isDeepStrictEqual(double, sql)) return differ('the rows', double, sql);
    markRows(marks, double);
  }
  return { statements: said.length, difference: null };
}

/** Of no conversation. */
const nowhere = conversationId('00000000-0000-7000-8000-000000000000');

/** What a rule gave, or how it refused; lists of Runners have no order. */
async function resultOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return unordered(await answer);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return { refused: thrown.code, constraint: thrown.notes['constraint'] };
  }
}

function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string') ? value.toSorted() : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, own]) => [key, key === 'wake' || key === 'stop' || key === 'stopped' ? unordered(own) : own]),
  );
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if ('refused' in value) return `refused ${'constraint' in value ? value.constraint : ''}`;
  for (const [key, own] of Object.entries(value)) if (typeof own === 'string' && (key === 'kind' || key === 'status')) return own;
  return Array.isArray(value) ? (value.length > 0 ? 'some' : 'none') : 'given';
}

function count(marks: Record<string, number>, mark: string): void {
  marks[mark] = (marks[mark] ?? 0) + 1;
}

function markRows(marks: Record<string, number>, { intentions, calls, messages, attempts, breakers }: Snapshot): void {
  for (const { status } of intentions) count(marks, `intention ${status}`);
  for (const { state, cancel, cancelOutcome } of calls) {
    count(marks, `call ${state}`);
    if (cancel) count(marks, `cancel ${cancel} ${cancelOutcome}`);
  }
  for (const { type, movedTo } of messages) {
    count(marks, `message ${type}`);
    if (movedTo) count(marks, 'message moved');
  }
  for (const { outcome, error } of attempts) count(marks, `attempt ${outcome}${error === 'late' ? ' late' : ''}`);
  if (breakers.some(({ downUntilMs }) => downUntilMs !== null)) count(marks, 'breaker open');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' }, sequences: { type: 'string', default: '100' } } });
  const compared = await compare(Number(values.seed), Number(values.sequences));
  console.log(JSON.stringify(compared, null, compared.difference ? 1 : 0));
  if (compared.difference) process.exitCode = 1;
}

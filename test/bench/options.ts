// What `npm run bench` is told. Pure.

import { parseArgs } from 'node:util';

export interface Options {
  /** Of one round at one concurrency, for each Worker. */
  readonly questions: number;
  readonly concurrencies: readonly number[];
}

export const help = `npm run bench -- [--questions N] [--concurrency A,B,...]

Measures the built Worker beside a floor: the least that a Worker can do for the same question.
Everything runs on this machine (Linux): a real Postgres, a model and two agents that answer at once.

  --questions N       of each round, at each concurrency (standard: 150, 10 to 5000)
  --concurrency LIST  questions at once, separated by commas (standard: 1,8,32; each 1 to 256)
  --help              this text
`;

/** A sentence when something is wrong. */
export function readOptions(args: readonly string[]): Options | 'help' | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        questions: { type: 'string', default: '150' },
        concurrency: { type: 'string', default: '1,8,32' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const questions = numberWithin(values.questions, 10, 5_000);
    if (questions === null) return { wrong: '--questions takes a number from 10 to 5000' };
    const concurrencies = values.concurrency.split(',').flatMap((text) => numberWithin(text, 1, 256) ?? []);
    if (concurrencies.length !== values.concurrency.split(',').length) return { wrong: '--concurrency takes numbers from 1 to 256' };
    return { questions, concurrencies };
  } catch (thrown) {
    return { wrong: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function numberWithin(text: string, least: number, most: number): number | null {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

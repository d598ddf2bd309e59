// Rounds into lines for a terminal: medians with their range, and ratios of medians. Pure.

/** One round of one Worker at one concurrency. */
export interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Of workerd, per question. */
  readonly cpuMs: number;
}

export interface Compared {
  readonly concurrency: number;
  readonly service: readonly Round[];
  readonly floor: readonly Round[];
}

const columns = [
  ['questions/s', (round: Round) => round.perSecond],
  ['p50 ms', (round: Round) => round.p50Ms],
  ['p95 ms', (round: Round) => round.p95Ms],
  ['CPU ms/question', (round: Round) => round.cpuMs],
] as const;

const width = 22;

export function table(compared: readonly Compared[]): string {
  const line = (first: string, second: string, cells: readonly string[]) =>
    [first.padEnd(13), second.padEnd(9), ...cells.map((cell) => cell.padEnd(width))].join('').trimEnd();
  return [
    line(
      'concurrency',
      '',
      columns.map(([name]) => name),
    ),
    ...compared.flatMap(({ concurrency, service, floor }) => [
      line(
        String(concurrency),
        'service',
        columns.map(([, value]) => spread(service.map(value))),
      ),
      line(
        '',
        'floor',
        columns.map(([, value]) => spread(floor.map(value))),
      ),
      line(
        '',
        'ratio',
        columns.map(([, value]) => `x ${(median(service.map(value)) / median(floor.map(value))).toFixed(2)}`),
      ),
    ]),
  ].join('\n');
}

function spread(values: readonly number[]): string {
  return `${short(median(values))} (${short(Math.min(...values))}-${short(Math.max(...values))})`;
}

const short = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

/** Of a list that is not empty: its middle, the upper one of two. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Of a list that is not empty, `share` from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

// What happens to fall out, the same for the same seed. Pure but for its own state.

/** Numbers from a seed, 0 up to 1. Source: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

export interface Chance {
  /** 0 up to `below`, whole. */
  number(below: number): number;
  /** True so often. */
  is(share: number): boolean;
  /** Undefined when there is nothing to pick from. */
  pick<T>(from: readonly T[]): T | undefined;
  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T | undefined;
  uuid(): string;
}

export function chanceFrom(seed: number): Chance {
  const random = randomFrom(seed);
  const number = (below: number) => Math.floor(random() * below);
  const hex = (digits: number) =>
    number(16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  return {
    number,
    is: (share) => random() < share,
    pick: (from) => from[number(from.length)],
    weighted: (from) => {
      let rest = random() * from.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of from) {
        rest -= weight;
        if (rest < 0) return value;
      }
      return undefined;
    },
    uuid: () => `${hex(8)}-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(8)}${hex(4)}`,
  };
}

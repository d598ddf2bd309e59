// Seeded chance: the same seed, the same choices in the same order. Pure.

export interface Chance {
  /** From `low` to below `high`. */
  between(low: number, high: number): number;
  of<Choice>(choices: readonly [Choice, ...Choice[]]): Choice;
}

/** Source: mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    between: (low, high) => low + next() * (high - low),
    of: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  };
}

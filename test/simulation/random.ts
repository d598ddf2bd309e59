// Chance that repeats itself: equal seeds give equal draws. Pure state.

export interface Random {
  /** 0 to 1, without 1. */
  next(): number;
  /** A whole number from 0, below `limit`. */
  below(limit: number): number;
  chance(probability: number): boolean;
  /** Throws when there is nothing to pick from. */
  pick<T>(items: readonly T[]): T;
  /** By weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
}

/** Source: mulberry32, public domain. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    below: (limit) => Math.floor(next() * limit),
    chance: (probability) => next() < probability,
    pick: <T>(items: readonly T[]): T => {
      for (const item of items.slice(Math.floor(next() * items.length))) return item;
      throw new Error('nothing to pick from');
    },
    weighted: <T extends string>(weights: Readonly<Record<T, number>>): T => {
      let left = next() * Object.values<number>(weights).reduce((sum, weight) => sum + weight, 0);
      for (const name in weights) {
        left -= weights[name];
        if (left < 0) return name;
      }
      throw new Error('nothing to pick from');
    },
  };
}

/** FNV-1a: spreads neighbouring schedules, and sums up a trail. */
export function mix(value: number, text: string): number {
  let hash = value >>> 0;
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  return hash >>> 0;
}

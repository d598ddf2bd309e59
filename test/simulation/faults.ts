// Which fault happens where: a few by chance, and one that this schedule is to show. Pure state.

import type { Random } from './random.ts';

const rules = [
  'accept',
  'claim',
  'claimCall',
  'decide',
  'observe',
  'bind',
  'again',
  'renew',
  'poke',
  'stop',
  'expire',
  'cancelled',
  'sweep',
] as const;
const places = [
  ...rules.map((rule) => `ledger.${rule}`),
  'agent.send',
  'agent.read',
  'agent.get',
  'agent.cancel',
  'agent.subscribe',
  'model.decide',
  'runner.arm',
  'runner.kick',
  'runner.stop',
  'runner.disarm',
  'archive.call',
  'stream.settled',
];

/** Where an invocation can end for good. */
export const crashPoints: readonly string[] = places.flatMap((place) => [`kill before ${place}`, `kill after ${place}`]);

/** Of the database, the platform, the model, the agents and their pushes. */
export const faultKinds = [
  'pause past the lease',
  'worker killed',
  'objects lost',
  'alarm lost',
  'alarm late',
  'alarm twice',
  'runner away',
  'two workers',
  'clocks apart',
  'database down',
  'repeated after commit',
  'down after commit',
  'model down',
  'model busy',
  'model refuses',
  'model silent',
  'model cut short',
  'model talks beside calls',
  'model calls nobody',
  'model calls badly',
  'model calls when forced',
  'model slow',
  'model hangs',
  'model wasteful',
  'agent not reached',
  'agent refuses',
  'agent 5xx',
  'agent reply lost',
  'agent silent',
  'agent invalid',
  'stream cut',
  'stream without end',
  'task of another call',
  'look lost',
  'look slow',
  'look invalid',
  'task vanishes',
  'cancel lost',
  'cancel not reached',
  'not cancelable',
  'push dropped',
  'push twice',
  'push late',
  'push forged',
  'push of a foreign task',
  'push before the reply',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** What agents and users do of their own accord. */
export const turns = [
  'completes',
  'asks',
  'asks for a sign-in',
  'fails',
  'rejects',
  'cancels itself',
  'too slow',
  'answers without a task',
  'asks for ever',
  'never ends',
  'is over twice',
  'lags behind',
  'recognises a repeat',
  'posts',
  'answers the last',
  'answers by name',
  'answers the intention',
  'posts twice at once',
  'posts another body',
  'stops',
  'checks',
  'retries',
  'leaves',
  'interrupts',
  'enqueues',
  'goes parallel',
  'goes only if free',
  'question expires',
  'moves a message',
  'names agents',
] as const;
export type Turn = (typeof turns)[number];

export type Counts = Map<string, number>;

export const count = (counts: Counts, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

/** What makes something rare likely: other faults, agents that are asked first, what users do when they can. */
interface Help {
  readonly faults?: readonly string[];
  readonly agents?: readonly string[];
  readonly turns?: readonly Turn[];
}

const pushing: Help = { agents: ['push', 'both', 'again'] };
const stopping: Help = { agents: ['stream', 'poll'], turns: ['stops'] };

const helps: readonly (readonly [wanted: RegExp, help: Help])[] = [
  [/ledger\.again$/, { faults: ['agent reply lost'], agents: ['twice', 'again'] }],
  [/archive\.call$/, { faults: ['agent reply lost'], agents: ['old'], turns: ['checks', 'retries', 'leaves'] }],
  [/agent\.subscribe$/, { faults: ['stream cut'], agents: ['stream', 'old', 'twice'] }],
  [/^model calls when forced$/, { faults: ['model wasteful'] }],
  [/^push |ledger\.poke$/, pushing],
  [/cancel|ledger\.stop$|runner\.stop$/, stopping],
  [/ledger\.(sweep|expire|renew)$/, {}],
  [/runner\.disarm$/, { turns: ['answers by name', 'answers the last', 'answers the intention'] }],
  [/^stream |^task of another|agent\.read$/, { agents: ['stream', 'old', 'twice'] }],
  [/^look |^task vanishes|agent\.get$|ledger\.bind$/, { agents: ['poll', 'push'] }],
];

export interface Faults {
  /** One of those that are possible here, or none. */
  draw<T extends string>(possible: readonly T[]): T | null;
  /** Whether this one happens, which is decided once for the whole schedule. */
  throughout(kind: FaultKind, probability: number): boolean;
  happened(turn: Turn): void;
  /** Something rare is to be shown: users come more often, and the cron more often finds nothing. */
  readonly isRare: boolean;
  /** Those of `possible` that help to show what is to be shown; all of them when none does. */
  favoured<T>(possible: readonly T[], nameOf: (each: T) => string): readonly T[];
}

/** `wanted` happens at one of its first occasions; the others as chance will have it, six at most. */
export function faults(chance: Random, wanted: string, fired: Counts): Faults {
  const known = helps.find(([pattern]) => pattern.test(wanted));
  const help = known?.[1] ?? {};
  let budget = chance.below(7);
  let helping = help.faults ? 4 : 0;
  const rate = 0.02 + chance.next() * 0.23;
  let occasions = known ? 0 : chance.pick([0, 0, 1, 2]);
  let isShown = false;
  return {
    draw(possible) {
      const target = isShown ? undefined : possible.find((name) => name === wanted);
      if (target !== undefined) {
        if (occasions === 0) {
          isShown = true;
          count(fired, target);
          return target;
        }
        occasions -= 1;
      }
      const helper = isShown || helping === 0 ? undefined : possible.find((name) => help.faults?.includes(name));
      if (helper !== undefined) {
        helping -= 1;
        count(fired, helper);
        return helper;
      }
      if (budget === 0 || !chance.chance(rate)) return null;
      budget -= 1;
      const drawn = chance.pick(possible);
      count(fired, drawn);
      return drawn;
    },
    throughout(kind, probability) {
      const happens = kind === wanted || chance.chance(probability);
      if (happens) count(fired, kind);
      return happens;
    },
    happened: (turn) => count(fired, turn),
    isRare: known !== undefined,
    favoured(possible, nameOf) {
      const helpful = possible.filter((each) => [...(help.agents ?? []), ...(help.turns ?? [])].some((name) => name === nameOf(each)));
      return helpful.length > 0 && chance.chance(0.7) ? helpful : possible;
    },
  };
}

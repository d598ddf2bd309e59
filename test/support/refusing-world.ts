// A world in which nobody may be asked for anything but what a test gives. Pure.

import { readSettings } from '../../src/settings.ts';
import type { World } from '../../src/world.ts';

const refuse = async (): Promise<never> => {
  throw new Error('nobody asks for this');
};

type Given = Pick<World, 'clock'> & {
  readonly ledger?: Partial<World['ledger']>;
  readonly archive?: Partial<World['archive']>;
  readonly files?: Partial<World['files']>;
  readonly planner?: World['planner'];
  readonly agents?: Partial<World['agents']>;
  readonly runner?: Partial<World['runner']>;
};

/** With push configured. The stream takes everything and tells nobody. */
export const refusingWorld = (given: Given): World => ({
  settings: readSettings({
    DATABASE_URL: 'postgres://x',
    OPENAI_API_KEY: 'x',
    PUBLIC_URL: 'https://chat.example',
    PUSH_SECRET: 'sixteen letters!',
  }),
  ledger: {
    open: refuse,
    accept: refuse,
    claim: refuse,
    claimCall: refuse,
    decide: refuse,
    observe: refuse,
    bind: refuse,
    again: refuse,
    renew: refuse,
    poke: refuse,
    stop: refuse,
    expire: refuse,
    cancelled: refuse,
    probed: refuse,
    keepAgents: refuse,
    agents: refuse,
    sweep: refuse,
    ...given.ledger,
  },
  archive: {
    conversation: refuse,
    conversations: refuse,
    messages: refuse,
    replay: refuse,
    intention: refuse,
    calls: refuse,
    call: refuse,
    remove: refuse,
    ping: refuse,
    ...given.archive,
  },
  files: { keep: refuse, restore: refuse, read: refuse, ...given.files },
  planner: given.planner ?? { decide: refuse },
  agents: { read: refuse, async *send() {}, async *subscribe() {}, get: refuse, cancel: refuse, ...given.agents },
  stream: { publish: () => {}, relay: () => ({ append: () => {}, end: () => {} }), close: () => {}, settled: async () => {} },
  subscriptions: { watch: refuse, async *events() {} },
  runner: { arm: refuse, kick: refuse, disarm: refuse, stop: refuse, ...given.runner },
  clock: given.clock,
  ids: { next: () => crypto.randomUUID() },
  log: () => {},
});

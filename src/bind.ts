// env into World: the bindings are parsed, the adapters are picked. Wiring.

import { v7 } from 'uuid';
import { knock } from './agent/knock.ts';
import { createAgents } from './agent/sdk-client.ts';
import { createArchive } from './db/archive.ts';
import { connect } from './db/database.ts';
import { createFiles } from './db/files.ts';
import { createLedger } from './db/ledger.ts';
import { createPlanner } from './plan/ai-sdk.ts';
import { readSettings } from './settings.ts';
import { createRunner } from './step/alarms.ts';
import { publisher } from './stream/publisher.ts';
import { subscriptions } from './stream/subscribe.ts';
import type { Ids, Log, World } from './world.ts';

const ids: Ids = { next: () => v7() };

/** One line of JSON; ids and numbers only. */
const log: Log = (event, notes) => console.log(JSON.stringify({ event, ...notes }));

/** A World for one invocation. Cheap: nothing is connected. Throws Fault `misconfigured`. */
export function bind(env: Env): World {
  const settings = readSettings({ ...env });
  const db = connect(settings.databaseUrl, settings.databaseEndpoint, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));
  return {
    settings,
    ledger: createLedger(db, settings, ids),
    archive: createArchive(db),
    files: createFiles(db, ids),
    planner: createPlanner(settings.model),
    agents: createAgents(settings, knock),
    stream: publisher((conversation) => env.CONVERSATION.getByName(conversation), log),
    subscriptions: subscriptions((conversation) => env.CONVERSATION.getByName(conversation)),
    runner: createRunner(env.RUNNER, settings.runnerLocation),
    clock: { nowMs: () => Date.now() },
    ids,
    log,
  };
}

// The Ledger port over the rules, one file each. Effects: Postgres.

import type { Settings } from '../settings.ts';
import type { Ids, Ledger } from '../world.ts';
import { accept, open } from './accept.ts';
import { claim } from './claim.ts';
import { cancelled, claimCall, poke } from './claim-call.ts';
import type { Database } from './database.ts';
import { decide } from './decide.ts';
import { again, bind, observe, renew } from './observe.ts';
import { keepAgents, probed, readRegistry } from './registry.ts';
import { expire, stop } from './stop.ts';
import { sweep } from './sweep.ts';

export function createLedger(db: Database, settings: Pick<Settings, 'agentSources'>, ids: Ids): Ledger {
  const sources = settings.agentSources;
  return {
    open: (owner, conversation, title) => open(db, owner, conversation, title),
    accept: (message) => accept(db, message),
    claim: (intention, by) => claim(db, intention, by, sources),
    claimCall: (call, by) => claimCall(db, call, by, ids.next(), sources),
    decide: (context, by, outcome) => decide(db, context, by, outcome),
    observe: (call, closing) => observe(db, call, closing),
    bind: (call, taskId, contextId, keeps) => bind(db, call, taskId, contextId, keeps),
    renew: (holder, by) => renew(db, holder, by),
    poke: (call, taskId) => poke(db, call, taskId),
    stop: (owner, conversation, intention) => stop(db, owner, conversation, intention),
    expire: (intention) => expire(db, intention),
    again: (call) => again(db, call),
    cancelled: (call, outcome) => cancelled(db, call, outcome),
    probed: (agentId, deduplicates) => probed(db, agentId, deduplicates),
    keepAgents: (readings) => keepAgents(db, readings, sources, ids),
    agents: () => readRegistry(db, sources),
    sweep: (graceSeconds, limit) => sweep(db, graceSeconds, limit),
  };
}

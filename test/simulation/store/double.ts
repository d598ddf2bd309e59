// The ledger and the archive in memory, after the same rules as the SQL: quick, deterministic, one rule at a time. Effects: none but on itself.

import type { ConversationId, Message, OwnerId } from '../../../src/intention/message.ts';
import type { Archive, Ledger } from '../../../src/world.ts';
import { accept, expire, open, stop } from './accept.ts';
import { claim, claimCall, poke, remove, renew, sweep } from './claim.ts';
import { decide } from './decide.ts';
import { again, bind, cancelled, observe } from './observe.ts';
import { agentOf, callOf, inOrder, isLive, isQuestion } from './shared.ts';
import type { Snapshot, Store, StoreOptions } from './store.ts';
import { type AgentRow, belongsTo, type CallRow, type ConversationRow, type Tables } from './tables.ts';

/** Its rules run whole before they return; what they return is settled already. A rule that breaks a unique index rejects with Fault `internal` and writes nothing. */
export function createDoubleStore({ agents, ids }: StoreOptions): Store {
  const tables: Tables = {
    nowMs: 0,
    conversations: new Map(),
    intentions: new Map(),
    calls: new Map(),
    places: new Map(),
    keys: new Map(),
    agents: new Map(),
    ids: 0,
  };
  const sorted = [...agents].sort((a, b) => byName(a.name, b.name));
  const install = () => {
    for (const agent of sorted) tables.agents.set(agent.id, agentRow(agent));
  };
  install();
  return {
    ledger: ledgerOver(tables, ids.next),
    archive: archiveOver(tables),
    snapshot: async (conversation) => snapshotOf(tables, conversation),
    setNow: (ms) => {
      tables.nowMs = ms;
    },
    clear: async () => {
      for (const map of [tables.conversations, tables.intentions, tables.calls, tables.places, tables.keys]) map.clear();
      install();
    },
    close: async () => {},
  };
}

/** Those of the namespace `default` bear no prefix. */
const byName = (a: string, b: string): number => {
  const full = (name: string) => (name.includes('/') ? name : `default/${name}`);
  return full(a) < full(b) ? -1 : 1;
};

const agentRow = ({ deduplicates, downUntilMs, ...agent }: StoreOptions['agents'][number]): AgentRow => ({
  agent: Object.freeze(agent),
  deduplicates,
  failures: 0,
  downUntilMs,
});

function ledgerOver(tables: Tables, nextToken: () => string): Ledger {
  return {
    open: async (owner, conversation, title) => open(tables, owner, conversation, title),
    accept: async (message) => accept(tables, message),
    claim: async (intention, by) => claim(tables, intention, by),
    claimCall: async (call, by) => claimCall(tables, call, by, nextToken()),
    decide: async (context, by, outcome) => decide(tables, context, by, outcome),
    observe: async (call, closing) => observe(tables, call, closing),
    bind: async (call, taskId, contextId, keeps) => bind(tables, call, taskId, contextId, keeps),
    again: async (call) => again(tables, call),
    renew: async (holder, by) => renew(tables, holder, by),
    poke: async (call, taskId) => poke(tables, call, taskId),
    stop: async (owner, conversation, intention) => stop(tables, owner, conversation, intention),
    expire: async (intention) => expire(tables, intention),
    cancelled: async (call, outcome) => cancelled(tables, call, outcome),
    probed: async (agentId, deduplicates) => {
      const agent = tables.agents.get(agentId);
      if (agent) agent.deduplicates = deduplicates;
    },
    keepAgents: async () => {},
    agents: async () => ({ agents: [...tables.agents.values()].map(agentOf), staleSources: [], errors: [] }),
    sweep: async (graceSeconds, limit) => sweep(tables, graceSeconds, limit),
  };
}

function archiveOver(tables: Tables): Archive {
  const owned = (owner: OwnerId, id: ConversationId): ConversationRow | undefined => {
    const conversation = tables.conversations.get(id);
    return conversation?.ownerId === owner ? conversation : undefined;
  };
  return {
    conversation: async (owner, id) => {
      const conversation = owned(owner, id);
      return conversation ? summaryOf(conversation) : null;
    },
    conversations: async (owner, { before, limit }) =>
      [...tables.conversations.values()]
        .filter((each) => each.ownerId === owner)
        .filter(({ updatedAtMs: atMs, id }) => before === null || atMs < before.atMs || (atMs === before.atMs && id < before.id))
        .sort((a, b) => b.updatedAtMs - a.updatedAtMs || (a.id < b.id ? 1 : -1))
        .slice(0, limit)
        .map(summaryOf),
    messages: async (owner, id, { after, limit }) => owned(owner, id)?.messages.slice(after, after + limit) ?? null,
    replay: async (id, after, limit) => {
      const conversation = tables.conversations.get(id);
      const live = [...(conversation?.intentions.values() ?? [])].filter(isLive);
      return {
        messages: conversation?.messages.slice(after, after + limit) ?? [],
        lastSeq: conversation === undefined ? 0 : conversation.nextSeq - 1,
        open: live
          .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
          .map((intention) => ({ intentionId: intention.id, status: intention.status })),
      };
    },
    intention: async (owner, conversation, id) => {
      const intention = owned(owner, conversation)?.intentions.get(id);
      if (!intention) return null;
      const last = intention.conversation.messages.findLast(
        (row) =>
          belongsTo(row) === id &&
          (row.role === 'assistant' || ((row.type === 'input_required' || row.type === 'auth_required') && isAsked(tables, row.callId))),
      );
      return { id, status: intention.status, step: intention.step, last: last ?? null };
    },
    calls: async (owner, conversation, intention) =>
      [...(owned(owner, conversation)?.calls.values() ?? [])]
        .filter((call) => call.intentionId === intention)
        .sort(inOrder)
        .map(callOf),
    call: async (owner, conversation, id) => {
      const call = owned(owner, conversation)?.calls.get(id);
      return call ? callOf(call) : null;
    },
    remove: async (owner, id) => remove(tables, owner, id),
    ping: async () => {},
  };
}

const summaryOf = ({ id, title, createdAtMs, updatedAtMs, nextSeq }: ConversationRow) => ({
  id,
  title,
  createdAtMs,
  updatedAtMs,
  lastSeq: nextSeq - 1,
});

function snapshotOf(tables: Tables, id: ConversationId): Snapshot {
  const conversation = tables.conversations.get(id);
  const calls = [...(conversation?.calls.values() ?? [])].sort(byPlace);
  return {
    conversation: conversation
      ? {
          id,
          ownerId: conversation.ownerId,
          title: conversation.title,
          nextSeq: conversation.nextSeq,
          createdAtMs: conversation.createdAtMs,
          updatedAtMs: conversation.updatedAtMs,
        }
      : null,
    messages: conversation?.messages.slice() ?? [],
    intentions: [...(conversation?.intentions.values() ?? [])].sort(byId).map(({ conversation: _, ...intention }) => intention),
    calls: calls.map((call) => ({
      ...callOf(call),
      wakeAtMs: call.wakeAtMs,
      leaseBy: call.leaseBy,
      leaseUntilMs: call.leaseUntilMs,
      lastLookAtMs: call.lastLookAtMs,
      lastPokeAtMs: call.lastPokeAtMs,
      createdAtMs: call.createdAtMs,
      updatedAtMs: call.updatedAtMs,
    })),
    attempts: [...calls].sort(byId).flatMap((call) => call.transmissions.map((each) => ({ callId: call.id, ...each }))),
    keys: [...tables.keys]
      .filter(([, key]) => key.conversationId === id)
      .map(([, { scope, key, messageId }]) => ({ scope, key, messageId }))
      .sort((a, b) => (`${a.scope} ${a.key}` < `${b.scope} ${b.key}` ? -1 : 1)),
    breakers: [...tables.agents.values()].map(({ agent, failures, downUntilMs }) => ({ agentId: agent.id, failures, downUntilMs })),
  };
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);
const byPlace = (a: CallRow, b: CallRow): number =>
  a.intentionId === b.intentionId ? inOrder(a, b) : a.intentionId < b.intentionId ? -1 : 1;

function isAsked(tables: Tables, id: Message['callId']): boolean {
  const call = id === null ? undefined : tables.calls.get(id);
  return call !== undefined && isQuestion(call.state);
}

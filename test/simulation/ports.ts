// The World of one invocation: every port call waits its turn, may fail, and may be the last. Effects: on the simulation.

import { Fault } from '../../src/fault.ts';
import type { Call } from '../../src/intention/call.ts';
import type { Ledger, Runner, World } from '../../src/world.ts';
import { agentsOf, type Town } from './agents.ts';
import { modelOf } from './model.ts';
import type { Platform } from './platform.ts';
import { point } from './point.ts';
import type { Invocation } from './scheduler.ts';
import { type Simulation, short } from './simulation.ts';

/** Of a trip over the network; equal ones make races. */
const trips = [0, 0, 1, 1, 2, 5, 20, 80] as const;

export function worldOf(simulation: Simulation, own: Invocation, platform: Platform, town: Town): World {
  const { scheduler, chance, faults, store } = simulation;
  const trip = () => scheduler.pass(own, chance.pick(trips));
  /** What comes back at once leaves nobody time for anything else. */
  const back = () => (chance.chance(0.4) ? trip() : Promise.resolve());

  /** The database is away: every request fails, after the adapter's own tries. */
  async function reach(): Promise<void> {
    if (scheduler.nowMs() >= simulation.away.untilMs) return;
    await scheduler.pass(own, chance.pick([600, 1_500, 40_000]));
    throw new Fault('database_down');
  }

  /** One request to the database. What is repeated is the same batch, as the adapter does when an answer is lost. */
  async function request<T>(place: string, work: () => Promise<T>): Promise<T> {
    await trip();
    await point(simulation, own, 'before', place);
    if (faults.draw(['database down']) !== null) {
      simulation.away.untilMs = scheduler.nowMs() + chance.pick([500, 5_000, 60_000]);
      simulation.tell('database down');
    }
    await reach();
    const token = simulation.ids.next();
    const commit = () =>
      scheduler.external(async () => {
        simulation.token.value = token;
        store.setNow(scheduler.nowMs());
        return work();
      });
    let result = await refused(place, commit);
    if (!Array.isArray(result) || result.length > 0) simulation.tell(`${short(own.name)}: ${place} ${worded(result)}`);
    const drawn = faults.draw(['repeated after commit', 'down after commit']);
    if (drawn === 'down after commit') {
      simulation.tell(`${short(own.name)}: ${place} answer lost for good`);
      await scheduler.pass(own, 40_000);
      throw new Fault('database_down');
    }
    if (drawn === 'repeated after commit') {
      await scheduler.pass(own, chance.pick([0, 100, 10_000]));
      result = await refused(place, commit);
      simulation.tell(`${short(own.name)}: ${place} again ${worded(result)}`);
    }
    await point(simulation, own, 'after', place);
    await back();
    return result;
  }

  async function refused<T>(place: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const notes = thrown instanceof Fault ? JSON.stringify(thrown.notes) : '';
      simulation.violate(`${place} of ${own.name} was refused: ${String(thrown)} ${notes}`);
      throw thrown;
    }
  }

  /** Whoever tells of a call under way names its task once. */
  function name({ id, taskId, agent }: Call): void {
    const known = simulation.named.get(id) ?? taskId;
    if (known !== taskId) simulation.violate(`call ${short(id)} to ${agent} was on ${known} and is on ${taskId}`);
    if (known !== null) simulation.named.set(id, known);
  }

  const rule = <T>(name: string, work: () => Promise<T>): Promise<T> => request(`ledger.${name}`, work);
  const { ledger } = store;
  const rules: Ledger = {
    open: (owner, conversation, title) => rule('open', () => ledger.open(owner, conversation, title)),
    accept: (message) => {
      simulation.conversations.add(message.conversation ?? message.newConversationId);
      return rule('accept', () => ledger.accept(message));
    },
    claim: (intention, by) => rule('claim', () => ledger.claim(intention, by)),
    claimCall: (call, by) =>
      rule('claimCall', async () => {
        const claim = await ledger.claimCall(call, by);
        if (claim.kind === 'claimed' && claim.call.state === 'working') name(claim.call);
        return claim;
      }),
    decide: (context, by, outcome) => {
      if (outcome.kind === 'reassign') faults.happened('moves a message');
      return rule('decide', () => ledger.decide(context, by, outcome));
    },
    observe: (call, closing) => rule('observe', () => ledger.observe(call, closing)),
    bind: (call, taskId, contextId, keeps) => rule('bind', () => ledger.bind(call, taskId, contextId, keeps)),
    again: (call) => rule('again', () => ledger.again(call)),
    renew: (holder, by) => rule('renew', () => ledger.renew(holder, by)),
    poke: (call, taskId) => rule('poke', () => ledger.poke(call, taskId)),
    stop: (owner, conversation, intention) => rule('stop', () => ledger.stop(owner, conversation, intention)),
    expire: (intention) => {
      faults.happened('question expires');
      return rule('expire', () => ledger.expire(intention));
    },
    cancelled: (call, outcome) => rule('cancelled', () => ledger.cancelled(call, outcome)),
    probed: (agentId, deduplicates) => rule('probed', () => ledger.probed(agentId, deduplicates)),
    keepAgents: (readings) => rule('keepAgents', () => ledger.keepAgents(readings)),
    agents: () => rule('agents', () => ledger.agents()),
    sweep: (graceSeconds, limit) => rule('sweep', () => ledger.sweep(graceSeconds, limit)),
  };

  async function remote(place: string, work: () => void): Promise<void> {
    await trip();
    await point(simulation, own, 'before', place);
    if (faults.draw(['runner away']) !== null) throw new Error('the object was moved');
    work();
    await point(simulation, own, 'after', place);
    await back();
  }
  const runner: Runner = {
    arm: (name, inMs) => remote('runner.arm', () => platform.arm(name, inMs)),
    kick: (name) => remote('runner.kick', () => platform.arm(name, 0)),
    disarm: (name) => remote('runner.disarm', () => platform.disarm(name)),
    stop: (name) => remote('runner.stop', () => platform.stop(name)),
  };

  const { archive } = store;
  return {
    settings: simulation.settings,
    ledger: rules,
    archive: {
      ...archive,
      call: (owner, conversation, id) => request('archive.call', () => archive.call(owner, conversation, id)),
      messages: (owner, id, page) => request('archive.messages', () => archive.messages(owner, id, page)),
    },
    files: {
      keep: async (_owner, _conversation, parts) => {
        if (parts.length > 0) await trip();
        return parts.flatMap((part) => (part.kind === 'text' || part.kind === 'data' ? [part] : []));
      },
      restore: async (_owner, parts) => {
        if (parts.length > 0) await trip();
        return parts.flatMap((part) => (part.kind === 'file' ? [] : [part]));
      },
      read: async () => null,
    },
    planner: modelOf(simulation, own),
    agents: agentsOf(simulation, own, town),
    stream: {
      publish: (conversation, events) => {
        for (const event of events) {
          simulation.published.push({ conversation, event });
          if (event.kind !== 'message') continue;
          const { seq, id } = event.data;
          scheduler.afterwards(async () => {
            const { messages } = await store.archive.replay(conversation, seq - 1, 1);
            if (messages[0]?.id !== id) simulation.violate(`row ${seq} is shown and not committed`);
          });
        }
      },
      relay: () => ({ append: () => {}, end: () => {} }),
      close: () => {},
      settled: async () => {
        await point(simulation, own, 'before', 'stream.settled');
        await back();
        await point(simulation, own, 'after', 'stream.settled');
      },
    },
    subscriptions: {
      watch: async () => new Response(null),
      events: async function* () {},
    },
    runner,
    clock: { nowMs: () => Date.now() },
    ids: simulation.ids,
    log: (event, notes) => {
      if (event === 'work failed' || event === 'call closed') simulation.tell(`${short(own.name)}: ${event} ${JSON.stringify(notes)}`);
      if (typeof notes['bug'] === 'string' && !notes['bug'].includes('ports.ts')) simulation.violate(`a bug: ${JSON.stringify(notes)}`);
    },
  };
}

/** What a rule answered, in a word or two. */
function worded(result: unknown): string {
  if (typeof result !== 'object' || result === null) return String(result);
  const words = ['kind', 'status', 'state', 'fresh', 'inMs'].flatMap((key) =>
    Object.entries(result).flatMap(([name, value]) => (name === key ? [`${key} ${String(value)}`] : [])),
  );
  return words.join(', ');
}

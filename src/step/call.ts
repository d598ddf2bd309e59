// What `call:<id>` does when it wakes: send a planned call, look up one at work, or cancel one. Effects: the agent, the ledger, the stream.

import type { Agent } from '../agent/card.ts';
import { asFault, type Fault } from '../fault.ts';
import { type Call, type CancelOutcome, questionStates } from '../intention/call.ts';
import { isStale, isUnheard } from '../intention/conclude.ts';
import { lookMs, maxCancels, maxFailures, maxResubscriptions, unknownAfterMs } from '../intention/limits.ts';
import { callId } from '../intention/message.ts';
import type { CallClaim, Observed } from '../intention/rules.ts';
import { callEvent } from '../stream/event.ts';
import { within } from '../time-limit.ts';
import type { World } from '../world.ts';
import type { Alarm } from './alarm.ts';
import { close, doubt, findOut, fire, giveAway, keep, pushes, readOn } from './fire.ts';

/**
 * One wake-up. Returns in how many ms to wake again; null: nothing is left to do. Throws Fault when the world is away.
 * What met a bug of ours three times in a row is closed in plain words instead.
 */
export async function runCall(world: World, alarm: Alarm): Promise<number | null> {
  const claim = await world.ledger.claimCall(callId(alarm.name.slice('call:'.length)), alarm.name);
  if (claim.kind === 'wait') return claim.inMs;
  const { call } = claim;
  if (call.state === 'canceled') return cancel(world, claim, alarm);
  const work = alarm.bugs >= maxFailures ? quarantine : claim.fresh ? send : call.taskId === null ? seek : look;
  const observed = await work(world, claim, alarm);
  if (!observed) return claim.inMs;
  for (const woken of observed.wake) await world.runner.kick(woken);
  return null;
}

type Claimed = Extract<CallClaim, { kind: 'claimed' }>;

async function send(world: World, { call, agent }: Claimed, alarm: Alarm): Promise<Observed | null> {
  const parts = await world.files.restore(call.ownerId, call.parts);
  return fire(world, call, agent, parts, alarm);
}

async function quarantine(world: World, { call }: Claimed, { name, bugs }: Alarm): Promise<Observed | null> {
  const incidentId = world.ids.next();
  world.log('call given up', { call: call.id, agent: call.agent, incident: incidentId, bugs });
  return close(world, name, call, { kind: 'broken', incidentId });
}

/** Its reader died before the task was known, or the user wants to know. An agent that pushes is given time to name it; then it is looked for. */
async function seek(world: World, { call, agent, nowMs }: Claimed, { name }: Alarm): Promise<Observed | null> {
  const young = nowMs - (call.sentAtMs ?? nowMs) < unknownAfterMs;
  if (call.state === 'sending' && young && pushes(world, agent)) return null;
  const observed = await findOut(world, call, agent, name, 'the reader died before the task was known');
  if (call.state === 'unknown' && observed !== null && observed.message === null) tell(world, call);
  return observed;
}

/**
 * The snapshot is the truth; what it can't tell yet is looked up again, twice as far off each time. A task at work whose
 * stream was cut is read on, some times; whoever pushes will say so when there is more.
 */
async function look(world: World, { call, agent, nowMs }: Claimed, alarm: Alarm): Promise<Observed | null> {
  const { name, signal } = alarm;
  try {
    const reply = await within(lookMs, signal, (limit) => world.agents.get(agent, call, limit));
    if (reply === null) return await close(world, name, call, { kind: 'lost' });
    const news = reply.state !== 'working' && reply.state !== call.state && !isStale(call, reply, nowMs);
    const unheard = news && isUnheard(call, reply);
    if (unheard && call.state === 'sending') return await doubt(world, name, call, agent, 'the task does not know of the message');
    if (news && !unheard) return await close(world, name, call, await keep(world, call, reply));
    const atWork = reply.state === 'working' && nowMs < call.deadlineMs;
    // It has arrived, so nothing is in doubt any more; without this it would be looked up at the shortest pause to its end.
    if (atWork && call.state === 'sending' && call.taskId !== null)
      return await giveAway(world, name, call, { taskId: call.taskId, contextId: reply.contextId });
    const early = call.state === 'working' && call.polls <= maxResubscriptions;
    if (atWork && early && agent.card.streaming && !pushes(world, agent)) return await readOn(world, call, agent, alarm);
  } catch (thrown) {
    const fault = passing(asFault(thrown));
    world.log('look failed', { call: call.id, agent: call.agent, code: fault.code, polls: call.polls });
  }
  if (isQuestion(call.state) || nowMs < call.deadlineMs) return null;
  await cancelTask(world, call, agent, signal);
  return close(world, name, call, { kind: 'late' });
}

/**
 * A task whose name never reached us is looked for first. What came of it is told to whoever watches. A claim beyond the
 * last try only says so: the one before it died.
 */
async function cancel(world: World, { call, agent, inMs }: Claimed, { signal }: Alarm): Promise<number | null> {
  const exhausted = call.cancelAttempts > maxCancels && call.cancelOutcome === null;
  const named = exhausted ? null : call.taskId === null ? await nameTask(world, call, agent, signal) : call;
  const settled = named && (await cancelTask(world, named, agent, signal));
  const outcome = settled ?? (call.cancelAttempts >= maxCancels ? 'unsettled' : null);
  world.log('task canceled', { call: call.id, agent: call.agent, outcome, tries: call.cancelAttempts });
  if (outcome === null) return inMs;
  await world.ledger.cancelled(named ?? call, outcome);
  tell(world, { ...call, cancelOutcome: outcome });
  return null;
}

async function nameTask(world: World, call: Call, agent: Agent, signal: AbortSignal): Promise<Call | null> {
  try {
    const reply = await within(lookMs, signal, (limit) => world.agents.get(agent, call, limit));
    if (!reply?.taskId) return null;
    await world.ledger.bind(call, reply.taskId, reply.contextId, false);
    return { ...call, taskId: reply.taskId };
  } catch (thrown) {
    passing(asFault(thrown));
    return null;
  }
}

async function cancelTask(world: World, call: Call, agent: Agent, signal: AbortSignal): Promise<CancelOutcome | null> {
  try {
    return await within(lookMs, signal, (limit) => world.agents.cancel(agent, call, limit));
  } catch (thrown) {
    passing(asFault(thrown));
    return null;
  }
}

function tell(world: World, call: Call): void {
  world.stream.publish(call.conversationId, [{ kind: 'call', data: callEvent(call) }]);
}

/** An agent that cannot be asked now is asked again later; a bug or our own database is not the agent's fault. */
function passing(fault: Fault): Fault {
  if (fault.code === 'internal' || fault.code === 'database_down') throw fault;
  return fault;
}

const isQuestion = (state: string): boolean => questionStates.some((question) => question === state);

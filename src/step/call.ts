// What `call:<id>` does when it wakes: send a planned call, look up one at work, or cancel one. Effects: the agent, the ledger, the stream.

import type { Agent } from '../agent/card.ts';
import { asFault, type Fault } from '../fault.ts';
import { type Call, questionStates } from '../intention/call.ts';
import { isStale } from '../intention/conclude.ts';
import { lookMs, unknownAfterMs } from '../intention/limits.ts';
import { callId } from '../intention/message.ts';
import type { CallClaim, Observed } from '../intention/rules.ts';
import { within } from '../time-limit.ts';
import type { World } from '../world.ts';
import type { Alarm } from './alarm.ts';
import { close, findOut, fire, keep } from './fire.ts';

/** One wake-up. Returns in how many ms to wake again; null: nothing is left to do. Throws Fault when the world is away. */
export async function runCall(world: World, alarm: Alarm): Promise<number | null> {
  const claim = await world.ledger.claimCall(callId(alarm.name.slice('call:'.length)), alarm.name);
  if (claim.kind === 'wait') return claim.inMs;
  const { call } = claim;
  if (call.state === 'canceled') return cancel(world, claim, alarm);
  const observed = await (claim.fresh ? send : call.taskId === null ? seek : look)(world, claim, alarm);
  if (!observed) return claim.inMs;
  for (const woken of observed.wake) await world.runner.kick(woken);
  return null;
}

type Claimed = Extract<CallClaim, { kind: 'claimed' }>;

async function send(world: World, { call, agent }: Claimed, alarm: Alarm): Promise<Observed | null> {
  const parts = await world.files.restore(call.ownerId, call.parts);
  return fire(world, call, agent, parts, alarm);
}

/** Its reader died before the task was known. An agent that pushes is given time to name it; then it is looked for. */
async function seek(world: World, { call, agent, nowMs }: Claimed, { name }: Alarm): Promise<Observed | null> {
  const young = nowMs - (call.sentAtMs ?? nowMs) < unknownAfterMs;
  if (young && agent.card.pushNotifications && world.settings.publicUrl !== null) return null;
  return findOut(world, call, agent, name, 'the reader died before the task was known');
}

/** The snapshot is the truth; what it can't tell yet is looked up again, twice as far off each time. */
async function look(world: World, { call, agent, nowMs }: Claimed, { name, signal }: Alarm): Promise<Observed | null> {
  try {
    const reply = await within(lookMs, signal, (limit) => world.agents.get(agent, call, limit));
    if (reply === null) return await close(world, name, call, { kind: 'lost' });
    const news = reply.state !== 'working' && reply.state !== call.state && !isStale(call, reply, nowMs);
    if (news) return await close(world, name, call, await keep(world, call, reply));
  } catch (thrown) {
    const fault = passing(asFault(thrown));
    world.log('look failed', { call: call.id, agent: call.agent, code: fault.code, polls: call.polls });
  }
  if (isQuestion(call.state) || nowMs < call.deadlineMs) return null;
  await cancelTask(world, call, agent, signal);
  return close(world, name, call, { kind: 'late' });
}

async function cancel(world: World, { call, agent, inMs }: Claimed, { signal }: Alarm): Promise<number | null> {
  const settled = await cancelTask(world, call, agent, signal);
  world.log('task canceled', { call: call.id, agent: call.agent, settled, tries: call.cancelAttempts });
  if (settled) await world.ledger.cancelled(call);
  return settled ? null : inMs;
}

async function cancelTask(world: World, call: Call, agent: Agent, signal: AbortSignal): Promise<boolean> {
  try {
    return await within(lookMs, signal, (limit) => world.agents.cancel(agent, call, limit));
  } catch (thrown) {
    passing(asFault(thrown));
    return false;
  }
}

/** An agent that cannot be asked now is asked again later; a bug or our own database is not the agent's fault. */
function passing(fault: Fault): Fault {
  if (fault.code === 'internal' || fault.code === 'database_down') throw fault;
  return fault;
}

const isQuestion = (state: string): boolean => questionStates.some((question) => question === state);

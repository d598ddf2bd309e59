// One planner step: load, decide, commit, fire, observe, publish, kick. Effects: through the ports.

import { asFault, Fault } from '../fault.ts';
import { maxFailures, maxRetryAfterMs, modelRetryBaseMs, modelRetryCapMs, questionMs } from '../intention/limits.ts';
import { intentionId, planName } from '../intention/message.ts';
import type { Claim, Decided, RunnerName } from '../intention/rules.ts';
import { type Input, type Outcome, transition } from '../intention/transition.ts';
import { messageEvent, type StreamEvent } from '../stream/event.ts';
import type { World } from '../world.ts';
import type { Alarm } from './alarm.ts';
import type { StepContext } from './context.ts';
import { fire } from './fire.ts';
import { underLease } from './heartbeat.ts';
import { think } from './think.ts';

/** When a step that failed for want of the model is tried again: full jitter, or when the model said, if that is later. The claim counts the failures. */
function modelRetryMs(fault: Fault, failures: number): number {
  const asked = Math.min(maxRetryAfterMs, Math.max(0, fault.retryAfterSeconds ?? 0) * 1_000);
  return Math.max(asked, Math.random() * Math.min(modelRetryCapMs, modelRetryBaseMs * 2 ** failures));
}

/** One wake-up of `intention:<id>`. Returns in how many ms to wake again; null: nothing is left to do. Throws Fault when the world is away. */
export async function runIntention(world: World, alarm: Alarm): Promise<number | null> {
  const id = intentionId(alarm.name.slice('intention:'.length));
  const claim = await world.ledger.claim(id, alarm.name);
  switch (claim.kind) {
    case 'wait':
      await kickAll(world, claim.wake);
      return claim.inMs;
    case 'expired':
      return expire(world, claim, id);
    case 'step':
      return step(world, await withFreshAgents(world, claim.context), alarm);
  }
}

async function step(world: World, context: StepContext, alarm: Alarm): Promise<number | null> {
  const input = await decideOnce(world, context, alarm);
  if (typeof input !== 'object' || input === null) return input;
  const outcome = transition(context, input, { nextId: world.ids.next, push: world.settings.publicUrl !== null });
  const ready = await prepare(world, context, outcome, alarm);
  const decided = await world.ledger.decide(context, alarm.name, outcome);
  // The send begins before anything else is awaited; who watches is told meanwhile.
  const sent = decided.kind === 'applied' ? ready?.(decided) : undefined;
  const [called, told] = await Promise.allSettled([sent, follow(world, context, decided, outcome)]);
  if (called.status === 'rejected') throw called.reason;
  if (told.status === 'rejected') throw told.reason;
  return sent === undefined ? told.value : (called.value ?? null);
}

/** A decision to commit; or in how many ms to try again; or null when somebody stopped us. */
async function decideOnce(world: World, context: StepContext, { name, signal }: Alarm): Promise<Input | number | null> {
  const incidentId = world.ids.next();
  const give = (fault: Fault): Input => {
    world.log('intention failed', {
      intention: context.intentionId,
      step: context.step,
      code: fault.code,
      incident: incidentId,
      ...fault.notes,
    });
    return { kind: 'fault', fault, incidentId };
  };
  if (context.failures > maxFailures) return give(new Fault('internal'));
  try {
    const renew = () => world.ledger.renew({ intention: context.intentionId, fence: context.fence }, name);
    return await underLease(signal, renew, {}, (limit) => think(world, context, limit));
  } catch (thrown) {
    const fault = asFault(thrown);
    if (fault.code === 'aborted') return null;
    if (fault.code === 'model_refused') return give(fault);
    if (fault.code !== 'model_down') throw fault;
    if (context.failures >= maxFailures) return give(fault);
    world.log('model down', { intention: context.intentionId, step: context.step, failures: context.failures, ...fault.notes });
    return modelRetryMs(fault, context.failures);
  }
}

type Applied = Extract<Decided, { kind: 'applied' }>;

/** All that a single call needs is at hand before its decision is committed. Null: there is nothing to send from here. */
async function prepare(
  world: World,
  context: StepContext,
  outcome: Outcome,
  alarm: Alarm,
): Promise<((decided: Applied) => Promise<number | null>) | null> {
  if (outcome.kind !== 'call' || outcome.calls.length > 1) return null;
  const [made] = outcome.calls;
  const agent = context.agents.find((candidate) => candidate.id === made.agentId);
  if (!agent) throw new Fault('internal', { notes: { agent: made.agent } });
  const parts = await world.files.restore(context.ownerId, outcome.rows[0]?.parts.items ?? []);
  return async (decided) => {
    const [call] = decided.calls;
    if (!call) throw new Fault('internal', { notes: { intention: context.intentionId } });
    const observed = await fire(world, call, agent, parts, alarm);
    if (!observed) return null;
    await kickAll(
      world,
      observed.wake.filter((woken) => woken !== alarm.name),
    );
    return observed.status === 'planning' ? 0 : observed.status === 'calling' ? null : questionMs;
  };
}

/** Publish and kick what was committed. An overtaken decision is made anew at once; a lost one is somebody else's. */
async function follow(world: World, context: StepContext, decided: Decided, outcome: Outcome): Promise<number | null> {
  switch (decided.kind) {
    case 'overtaken':
      return 0;
    case 'lost':
      return null;
    case 'applied': {
      const rows = decided.messages.map((message): StreamEvent => ({ kind: 'message', data: messageEvent(message) }));
      world.stream.publish(context.conversationId, [
        ...rows,
        { kind: 'status', data: { intention_id: context.intentionId, status: decided.status } },
      ]);
      await kickAll(world, decided.wake);
      if (outcome.kind === 'call' && decided.calls.length > 1)
        await kickAll(
          world,
          decided.calls.map((call): RunnerName => `call:${call.id}`),
        );
      return outcome.kind === 'reassign' && decided.status !== 'answered' ? questionMs : null;
    }
  }
}

async function expire(world: World, claim: Extract<Claim, { kind: 'expired' }>, id: StepContext['intentionId']): Promise<null> {
  const ended = await world.ledger.expire(id);
  if (ended.message && ended.status) {
    world.stream.publish(claim.conversationId, [
      { kind: 'message', data: messageEvent(ended.message) },
      { kind: 'status', data: { intention_id: id, status: ended.status } },
    ]);
  }
  await kickAll(
    world,
    [...ended.stop, ...ended.wake].filter((name) => name !== `intention:${id}`),
  );
  return null;
}

/** Cards past their time are read again before the decision; what can't be read keeps the agents it had. */
async function withFreshAgents(world: World, context: StepContext): Promise<StepContext> {
  if (context.staleSources.length === 0) return context;
  const readings = await world.agents.read(context.staleSources);
  for (const reading of readings)
    if (reading.error !== null) world.log('agents not read', { source: new URL(reading.source).origin, error: reading.error });
  await world.ledger.keepAgents(readings);
  const { agents } = await world.ledger.agents();
  return { ...context, agents: agents.filter((agent) => agent.name !== planName) };
}

const kickAll = async (world: World, names: readonly RunnerName[]): Promise<void> => {
  await Promise.all(names.map((name) => world.runner.kick(name)));
};

// One A2A call, sent and read until it says something that lasts, or can be left. Effects: the agent, the ledger, the stream.

import type { Agent } from '../agent/card.ts';
import type { AgentEvent, AgentReply, RawPart } from '../agent/reply.ts';
import { asFault, type Fault } from '../fault.ts';
import type { Call } from '../intention/call.ts';
import { conclude, type Heard, isStale, isUnheard } from '../intention/conclude.ts';
import {
  againMs,
  armAheadMs,
  armLookMs,
  bindAfterMs,
  leaveStreamAfterMs,
  longestHoldMs,
  lookMs,
  maxTransmissions,
  readStreamMs,
  signInLookMs,
} from '../intention/limits.ts';
import { messageId } from '../intention/message.ts';
import type { Observed, RunnerName } from '../intention/rules.ts';
import { messageEvent } from '../stream/event.ts';
import { within } from '../time-limit.ts';
import type { World } from '../world.ts';
import type { Alarm } from './alarm.ts';
import { type End, underLease } from './heartbeat.ts';

interface Task {
  readonly taskId: string;
  readonly contextId: string | null;
}

/** All that came of a send, however it ended. */
interface Reading {
  readonly task: Task | null;
  readonly reply: AgentReply | null;
  readonly fault: Fault | null;
  readonly end: End | null;
}

/**
 * Sends `call`, whose attempt the ledger already holds, and reads the reply live. Ends with the call closed (its
 * `Observed`), or with null: it was given to its own Runner to be looked up or sent again, or the work was stopped. The
 * send is never repeated here.
 */
export async function fire(world: World, call: Call, agent: Agent, parts: readonly RawPart[], alarm: Alarm): Promise<Observed | null> {
  return listen(world, call, agent, alarm, (signal) => world.agents.send(agent, call, parts, signal));
}

/** Reads the stream of a task at work from here on: nothing is sent. Ends as `fire` does. */
export async function readOn(world: World, call: Call, agent: Agent, alarm: Alarm): Promise<Observed | null> {
  return listen(world, call, agent, alarm, (signal) => world.agents.subscribe(agent, call, signal));
}

type Open = (signal: AbortSignal) => AsyncIterable<AgentEvent>;

async function listen(world: World, call: Call, agent: Agent, alarm: Alarm, open: Open): Promise<Observed | null> {
  const nowMs = world.clock.nowMs();
  const limits = { deadline: call.deadlineMs - nowMs, 'long enough': Math.min(readStreamMs, alarm.endsAtMs - nowMs) };
  const reading = await underLease(
    alarm.signal,
    () => world.ledger.renew({ call: call.id }, alarm.name),
    limits,
    (signal, ended) => read(world, call, agent, open, signal, ended),
  );
  return settle(world, call, agent, alarm.name, reading);
}

async function read(world: World, call: Call, agent: Agent, open: Open, signal: AbortSignal, ended: () => End | null): Promise<Reading> {
  const relay = world.stream.relay(call.conversationId, {
    intention_id: call.intentionId,
    step: call.step,
    agent: call.agent,
    call_id: call.id,
    // A stream that is read on begins anew, and what is sent again too.
    attempt: call.attempts + call.polls,
  });
  let task: Task | null = call.state === 'working' ? taskOf(call) : null;
  let reply: AgentReply | null = null;
  let fault: Fault | null = null;
  let binding: Promise<boolean> | null = null;
  const timers: ReturnType<typeof setTimeout>[] = [];
  const leaving = new AbortController();
  // A push will come, or a poll: many agents work on when their reader leaves, and all of them when the task is known.
  if (pushes(world, agent)) {
    timers.push(setTimeout(() => task && leaving.abort(), leaveStreamAfterMs));
  }
  try {
    for await (const event of open(AbortSignal.any([signal, leaving.signal]))) {
      if (event.kind === 'text') relay.append(event.text);
      else if (event.kind === 'reply') reply = event.reply;
      else {
        const known = { taskId: event.taskId, contextId: event.contextId };
        // The task of a call at work is known; an agent that names another confuses them.
        if (call.state === 'working') continue;
        task = known;
        // What fails here is written when the reading is over.
        const bind = () => world.ledger.bind(call, known.taskId, known.contextId, true).catch(() => false);
        timers.push(
          setTimeout(() => {
            binding = bind();
          }, bindAfterMs),
        );
      }
    }
  } catch (thrown) {
    fault = asFault(thrown);
  }
  for (const timer of timers) clearTimeout(timer);
  // Whatever the agent still sends is not read.
  leaving.abort();
  relay.end();
  await binding;
  if (fault?.code === 'internal') throw fault;
  return { task, reply, fault, end: ended() };
}

/** What follows from a reading: the reply counts first, then a task that is known, then what the fault tells for certain. */
async function settle(
  world: World,
  call: Call,
  agent: Agent,
  by: RunnerName,
  { task, reply, fault, end }: Reading,
): Promise<Observed | null> {
  // What answers at once may still show the turn before; a stream tells that by itself.
  const old = reply !== null && !agent.card.streaming && isStale(call, reply, world.clock.nowMs());
  const known = task ?? taskOf(reply);
  if (reply && reply.state !== 'working' && !old) {
    const observed = await close(world, by, call, await keep(world, call, reply));
    // It was stopped meanwhile: its task, which may wait for an answer, is canceled under the name that is known only here.
    if (observed?.message === null && known) await world.ledger.bind(call, known.taskId, known.contextId, false);
    return observed;
  }
  if (end === 'stopped' || end === 'lease lost') {
    // Whoever stopped us cancels the task, once its id is in the ledger.
    if (known) await world.ledger.bind(call, known.taskId, known.contextId, false);
    return null;
  }
  if (known) return giveAway(world, by, call, known);
  const sent = fault === null || fault.code === 'aborted' || (fault.code === 'agent_down' && fault.notes['sent'] !== false);
  // What was refused again may have happened the first time.
  if (fault && !sent && call.attempts === 1) return close(world, by, call, { kind: 'refused', fault });
  const named = call.taskId === null && pushes(world, agent) ? await pushedTask(world, call) : null;
  if (named) return giveAway(world, by, call, named);
  return findOut(world, call, agent, by, end ?? fault?.code ?? 'the reply ended without saying anything');
}

const taskOf = (known: AgentReply | Call | null): Task | null =>
  known?.taskId ? { taskId: known.taskId, contextId: known.contextId } : null;

/** A push may have named the task while its send was under way. */
const pushedTask = async (world: World, call: Call): Promise<Task | null> =>
  taskOf(await patiently(() => world.archive.call(call.ownerId, call.conversationId, call.id)));

/** The agent will tell us when the task moves. */
export const pushes = (world: World, agent: Agent): boolean => agent.card.pushNotifications && world.settings.publicUrl !== null;

/**
 * It was sent, and nobody said what came of it: the agent may find the task by our messageId; one that is known to
 * recognise a repeated message gets it again, unchanged; else its outcome is unknown.
 */
export async function findOut(world: World, call: Call, agent: Agent, by: RunnerName, error: string): Promise<Observed | null> {
  const reply = await within(lookMs, null, (signal) => world.agents.get(agent, call, signal)).catch((thrown: unknown) => {
    const fault = asFault(thrown);
    if (fault.code === 'internal') throw fault;
    return null;
  });
  // A resumed task may not have moved yet: what it asked before is no answer to what was just sent.
  const news = reply && reply.state !== 'working' && !isStale(call, reply, world.clock.nowMs());
  if (news && isUnheard(call, reply)) return doubt(world, by, call, agent, error);
  if (news) return close(world, by, call, await keep(world, call, reply));
  const task = taskOf(reply);
  if (task) return giveAway(world, by, call, task);
  return doubt(world, by, call, agent, error);
}

/** Nobody can tell what came of the send: planned once more where that is safe and there is time for it, else said. */
export async function doubt(world: World, by: RunnerName, call: Call, agent: Agent, error: string): Promise<Observed | null> {
  const inTime = world.clock.nowMs() < call.deadlineMs;
  if (!agent.deduplicates || call.state !== 'sending' || call.attempts >= maxTransmissions || !inTime)
    return close(world, by, call, { kind: 'unknown', error });
  await world.runner.arm(`call:${call.id}`, againMs);
  const again = await patiently(() => world.ledger.again(call));
  world.log('sent again', { call: call.id, agent: call.agent, attempt: call.attempts, again });
  return null;
}

/** The task is known: its own Runner looks it up from here on. Armed first, so that a crash in between is found. */
export async function giveAway(world: World, by: RunnerName, call: Call, task: Task): Promise<Observed | null> {
  await world.runner.arm(`call:${call.id}`, armLookMs);
  if (await world.ledger.bind(call, task.taskId, task.contextId, false)) return null;
  // The call is over, and this changes nothing; or the agent named a task of another call, and this one cannot be found.
  return close(world, by, call, { kind: 'unknown', error: 'the task is that of another call' });
}

/** A reply with its bytes in the file table. */
export async function keep(world: World, call: Call, reply: AgentReply): Promise<Heard> {
  return { kind: 'reply', reply, items: await patiently(() => world.files.keep(call.ownerId, call.conversationId, reply.parts)) };
}

/**
 * Closes the call through the ledger's one compare-and-set and tells whoever watches. A crash after the commit finds an
 * alarm: ours, or the one armed here.
 */
export async function close(world: World, by: RunnerName, call: Call, heard: Heard): Promise<Observed | null> {
  const closing = conclude(call, heard, messageId(world.ids.next()));
  if (closing === null) return null;
  const intention: RunnerName = `intention:${call.intentionId}`;
  if (by !== intention) await world.runner.arm(intention, armAheadMs);
  // The agent may go on by itself once the user has signed in, or its task be named after all.
  if (closing.state === 'auth_required' || closing.state === 'unknown') await world.runner.arm(`call:${call.id}`, signInLookMs);
  const observed = await patiently(() => world.ledger.observe(call, closing));
  const applied = observed.message !== null;
  world.log('call closed', { call: call.id, agent: call.agent, state: closing.state, error: closing.error, applied });
  if (observed.message) {
    world.stream.publish(call.conversationId, [
      { kind: 'message', data: messageEvent(observed.message) },
      { kind: 'status', data: { intention_id: call.intentionId, status: observed.status } },
    ]);
  }
  return observed;
}

/** A reply that was read cannot be asked for again everywhere: it is held while the database is away for a while. */
async function patiently<T>(write: () => Promise<T>): Promise<T> {
  for (let waitMs = 1_000; ; waitMs *= 2) {
    try {
      return await write();
    } catch (thrown) {
      if (asFault(thrown).code !== 'database_down' || waitMs > longestHoldMs) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

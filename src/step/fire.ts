// One A2A call, sent and read until it says something that lasts, or can be left. Effects: the agent, the ledger, the stream.

import type { Agent } from '../agent/card.ts';
import type { AgentReply, RawPart } from '../agent/reply.ts';
import { asFault } from '../fault.ts';
import type { Call } from '../intention/call.ts';
import { conclude, type Heard } from '../intention/conclude.ts';
import { armAheadMs, bindAfterMs, leaveStreamAfterMs, readStreamMs } from '../intention/limits.ts';
import { messageId } from '../intention/message.ts';
import { messageEvent } from '../stream/event.ts';
import type { Observed, RunnerName, World } from '../world.ts';
import { type End, underLease } from './heartbeat.ts';

interface Binding {
  readonly taskId: string;
  readonly contextId: string | null;
}

/**
 * Sends `call`, whose attempt the ledger already holds, and reads the reply live. Ends with the call closed (its
 * `Observed`), or with null: it was given to its own Runner to be looked up, or the work was stopped. The send is never
 * repeated here: what can't be known is said.
 */
export async function fire(
  world: World,
  call: Call,
  agent: Agent,
  parts: readonly RawPart[],
  by: RunnerName,
  until: { readonly signal: AbortSignal; readonly nowMs: number; readonly alarmEndsInMs: number },
): Promise<Observed | null> {
  const relay = world.stream.relay(call.conversationId, {
    intention_id: call.intentionId,
    step: call.step,
    agent: call.agent,
    call_id: call.id,
    attempt: call.attempts,
  });
  const limits = {
    deadline: call.deadlineMs - until.nowMs,
    'long enough': Math.min(readStreamMs, until.alarmEndsInMs),
  };
  return underLease(
    until.signal,
    () => world.ledger.renew({ call: call.id }, by),
    limits,
    async (signal, ended) => {
      let bound: Binding | null = null;
      let reply: AgentReply | null = null;
      let binding: Promise<boolean> | null = null;
      let timer: ReturnType<typeof setTimeout> | null = null;
      const leaving = new AbortController();
      const leave =
        agent.card.pushNotifications && world.settings.publicUrl !== null
          ? setTimeout(() => bound && leaving.abort(), leaveStreamAfterMs)
          : null;
      try {
        for await (const event of world.agents.send(agent, call, parts, AbortSignal.any([signal, leaving.signal]))) {
          switch (event.kind) {
            case 'bound': {
              const task = { taskId: event.taskId, contextId: event.contextId };
              bound = task;
              timer = setTimeout(() => {
                binding = world.ledger.bind(call, task.taskId, task.contextId, true).catch(() => false);
              }, bindAfterMs);
              break;
            }
            case 'text':
              relay.append(event.text);
              break;
            case 'reply':
              reply = event.reply;
              break;
          }
        }
      } catch (thrown) {
        clearTimeout(timer);
        const fault = asFault(thrown);
        if (fault.code === 'internal') throw fault;
        const cut = ended() ?? (leaving.signal.aborted ? 'long enough' : null);
        if (cut === 'stopped' || cut === 'lease lost') {
          // Whoever stopped us cancels the task, once its id is known to the ledger.
          if (bound) await world.ledger.bind(call, bound.taskId, bound.contextId, false);
          return null;
        }
        if (bound) return giveAway(world, call, bound);
        if (cut !== null) return close(world, by, call, { kind: 'unknown', error: cut });
        if (fault.code === 'agent_down' && fault.notes['sent'] !== false)
          return close(world, by, call, { kind: 'unknown', error: fault.code });
        return close(world, by, call, { kind: 'refused', fault });
      } finally {
        clearTimeout(timer);
        clearTimeout(leave);
        relay.end();
        await binding;
      }
      if (reply && reply.state !== 'working') return close(world, by, call, await keep(world, call, reply));
      const task = reply?.taskId ? { taskId: reply.taskId, contextId: reply.contextId } : bound;
      if (task) return giveAway(world, call, task);
      return close(world, by, call, { kind: 'unknown', error: endOf(ended()) });
    },
  );
}

const endOf = (end: End | null): string => end ?? 'the reply ended without saying anything';

/** The task is known: its own Runner looks it up from here on. Armed first, so that a crash in between is found. */
async function giveAway(world: World, call: Call, task: Binding): Promise<null> {
  await world.runner.arm(`call:${call.id}`, 2_000);
  await world.ledger.bind(call, task.taskId, task.contextId, false);
  return null;
}

/** A reply with its bytes in the file table. */
export async function keep(world: World, call: Call, reply: AgentReply): Promise<Heard> {
  return { kind: 'reply', reply, items: await world.files.keep(call.ownerId, call.conversationId, reply.parts) };
}

/** Closes the call through the ledger's one compare-and-set and tells whoever watches. A crash after the commit finds an alarm: ours, or the one armed here. */
export async function close(world: World, by: RunnerName, call: Call, heard: Heard): Promise<Observed | null> {
  const closing = conclude(call, heard, messageId(world.ids.next()));
  if (closing === null) return null;
  const intention: RunnerName = `intention:${call.intentionId}`;
  if (by !== intention) await world.runner.arm(intention, armAheadMs);
  const observed = await world.ledger.observe(call, closing);
  world.log('call closed', {
    call: call.id,
    agent: call.agent,
    state: closing.state,
    error: closing.error,
    applied: observed.message !== null,
  });
  if (observed.message) {
    world.stream.publish(call.conversationId, [
      { kind: 'message', data: messageEvent(observed.message) },
      { kind: 'status', data: { intention_id: call.intentionId, status: observed.status } },
    ]);
  }
  return observed;
}

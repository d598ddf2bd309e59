// Agents with a memory of their own, reached over a bad network. Effects: on the simulation.

import type { Agent } from '../../src/agent/card.ts';
import { pushSecret } from '../../src/agent/push.ts';
import type { AgentEvent, AgentReply, RawPart, ReplyState } from '../../src/agent/reply.ts';
import { receivePush } from '../../src/agent/webhook.ts';
import { Fault } from '../../src/fault.ts';
import type { Call } from '../../src/intention/call.ts';
import { agentName, type CallId } from '../../src/intention/message.ts';
import type { Agents } from '../../src/world.ts';
import { point } from './point.ts';
import type { Invocation } from './scheduler.ts';
import { type Simulation, short } from './simulation.ts';

interface Kind {
  readonly streaming: boolean;
  readonly push: boolean;
  readonly deduplicates: boolean;
  /** Can be asked for the task of a message. */
  readonly lists: boolean;
}

const kinds = {
  stream: { streaming: true, push: false, deduplicates: false, lists: true },
  poll: { streaming: false, push: false, deduplicates: false, lists: true },
  push: { streaming: false, push: true, deduplicates: false, lists: true },
  both: { streaming: true, push: true, deduplicates: false, lists: false },
  old: { streaming: true, push: false, deduplicates: false, lists: false },
  twice: { streaming: true, push: false, deduplicates: true, lists: false },
  again: { streaming: false, push: true, deduplicates: true, lists: false },
} as const satisfies Record<string, Kind>;

const kindOf = (agent: string): Kind => Object.entries(kinds).find(([name]) => name === agent)?.[1] ?? kinds.stream;

const allowed = ({ push, deduplicates, lists }: Kind): number | null => (push ? 400_000 : deduplicates || !lists ? null : 200_000);

/** As the registry holds them. Those that push may take some minutes, so that a schedule does not last a week. */
export const registered: readonly Agent[] = Object.entries(kinds).map(([name, kind], place) => ({
  id: `00000000-0000-7000-9000-00000000000${place}`,
  name: agentName(name),
  source: kind.push
    ? 'https://push.example/agents'
    : kind.deduplicates || !kind.lists
      ? 'https://patient.example/agents'
      : 'https://agents.example/agents',
  cardUrl: `https://${name}.example/card`,
  card: {
    name,
    description: `Does what it is told, as ${name}.`,
    version: '1',
    interfaces: [{ url: `https://${name}.example/`, binding: 'JSONRPC', version: kind.lists ? '1.0' : '0.3' }],
    streaming: kind.streaming,
    pushNotifications: kind.push,
    skills: [],
  },
  deduplicates: kind.deduplicates,
  allowedMs: allowed(kind),
  downUntilMs: null,
}));

interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly agent: string;
  state: ReplyState;
  /** What the agent shows of it, which may lag behind. */
  shown: ReplyState;
  /** Changes of what is shown. */
  version: number;
  text: string;
  readonly messageIds: string[];
  /** Where its pushes go. */
  callId: CallId;
  asked: number;
  readonly listeners: Set<() => void>;
}

/** The agents, as they live on while we die. */
export interface Town {
  readonly tasks: Map<string, Task>;
  /** Replies that name no task, by message. */
  readonly words: Map<string, string>;
  /** Made so far. */
  ids: number;
}

export const newTown = (): Town => ({ tasks: new Map(), words: new Map(), ids: 0 });

export function agentsOf(simulation: Simulation, own: Invocation, town: Town): Agents {
  const { scheduler, chance, faults } = simulation;

  const trip = (signal: AbortSignal) => scheduler.pass(own, chance.pick([0, 1, 10, 200]), signal);

  const snapshot = (task: Task): AgentReply => ({
    taskId: task.id,
    contextId: task.contextId,
    state: task.shown,
    content: task.shown === 'working' ? '' : task.text,
    parts: [],
    schema: null,
    fingerprint: `${task.shown} ${task.version}`,
    messageIds: [...task.messageIds],
  });

  async function receive(agent: Agent, call: Call, parts: readonly RawPart[]): Promise<Task | null> {
    const body = JSON.stringify([call.query, parts, call.taskId, call.contextId, call.referenceTaskIds]);
    const known = [...town.tasks.values()].find((task) => task.agent === agent.name && task.messageIds.includes(call.messageId));
    const repeated = kindOf(agent.name).deduplicates && (known !== undefined || town.words.has(call.messageId));
    simulation.received.push({ agent: agent.name, callId: call.id, messageId: call.messageId, body, repeated });
    simulation.tell(`${agent.name} receives ${short(call.messageId)} of ${short(call.id)}${repeated ? ' again' : ''}`);
    await committed(simulation, agent, call);
    if (repeated) {
      faults.happened('recognises a repeat');
      return known ?? null;
    }
    if (call.taskId !== null) {
      const task = town.tasks.get(call.taskId);
      const asks = task?.state === 'input_required' || task?.state === 'auth_required';
      // A2A: a message to a task that is over is refused.
      if (!task || !asks) throw new Fault('agent_refused', { notes: { sent: true, code: task ? -32004 : -32001 } });
      task.messageIds.push(call.messageId);
      task.callId = call.id;
      go(simulation, town, task);
      return task;
    }
    const turn = chance.weighted({ task: 94, words: 6 });
    if (turn === 'words') {
      faults.happened('answers without a task');
      town.words.set(call.messageId, `words for ${call.query}`);
      return null;
    }
    town.ids += 1;
    const id = `task-${town.ids}`;
    const task: Task = {
      id,
      contextId: call.contextId ?? `context-${town.ids}`,
      agent: agent.name,
      state: 'working',
      shown: 'working',
      version: 0,
      text: '',
      messageIds: [call.messageId],
      callId: call.id,
      asked: 0,
      listeners: new Set(),
    };
    town.tasks.set(id, task);
    go(simulation, town, task);
    return task;
  }

  /** Until the task moves. */
  function moved(task: Task, signal: AbortSignal): Promise<void> {
    own.parked += 1;
    return new Promise((resolve, reject) => {
      const leave = (then: () => void) => {
        task.listeners.delete(hear);
        signal.removeEventListener('abort', abort);
        scheduler.at(chance.pick([0, 0, 5, 100]), own, () => {
          own.parked -= 1;
          then();
        });
      };
      const hear = () => leave(resolve);
      const abort = () => leave(() => reject(new Fault('aborted')));
      task.listeners.add(hear);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }

  async function* follow(agent: Agent, task: Task, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    const drawn = faults.draw(['stream cut', 'stream without end', 'task of another call']);
    const other = [...town.tasks.values()].find((each) => each.agent === agent.name && each !== task);
    const named = drawn === 'task of another call' && other ? other : task;
    if (drawn !== null) simulation.tell(`${agent.name}: ${drawn}`);
    yield { kind: 'bound', taskId: named.id, contextId: named.contextId };
    if (drawn === 'stream cut') {
      await scheduler.pass(own, chance.pick([0, 20, 1_500, 30_000]), signal);
      return;
    }
    for (;;) {
      await point(simulation, own, 'before', 'agent.read');
      if (task.shown !== 'working' || task.state !== 'working') break;
      await moved(task, signal);
    }
    await trip(signal);
    yield { kind: 'text', text: task.text };
    await trip(signal);
    await point(simulation, own, 'after', 'agent.read');
    if (drawn === 'stream without end') await scheduler.pass(own, Number.POSITIVE_INFINITY, signal);
    if (named !== task) yield { kind: 'reply', reply: { ...snapshot(task), taskId: named.id } };
    // A stream tells what is new, never the turn before.
    else yield { kind: 'reply', reply: { ...snapshot(task), state: task.state, content: task.text } };
  }

  return {
    read: async () => [],

    async *send(agent, call, parts, signal) {
      await trip(signal);
      await point(simulation, own, 'before', 'agent.send');
      const drawn = faults.draw([
        'agent not reached',
        'agent refuses',
        'agent 5xx',
        'agent reply lost',
        'agent silent',
        'agent invalid',
        ...(agent.card.pushNotifications ? (['push before the reply'] as const) : []),
      ]);
      if (drawn !== null) simulation.tell(`${agent.name}: ${drawn}`);
      if (drawn === 'agent not reached') throw new Fault('agent_down', { notes: { sent: false } });
      if (drawn === 'agent refuses') throw new Fault('agent_refused', { notes: { sent: true, status: 403 } });
      if (drawn === 'agent 5xx' && chance.chance(0.5)) throw new Fault('agent_down', { notes: { sent: true, status: 503 } });
      const task = await receive(agent, call, parts);
      await point(simulation, own, 'after', 'agent.send');
      if (drawn === 'agent 5xx' || drawn === 'agent reply lost') {
        await trip(signal);
        throw new Fault('agent_down', { notes: { sent: true, status: 502 } });
      }
      if (drawn === 'agent invalid') {
        simulation.garbled.add(call.id);
        throw new Fault('agent_invalid', { notes: { sent: true } });
      }
      if (drawn === 'agent silent') await scheduler.pass(own, Number.POSITIVE_INFINITY, signal);
      if (drawn === 'push before the reply') await scheduler.pass(own, 30_000 + chance.below(60_000), signal);
      else await trip(signal);
      if (task === null) {
        const content = town.words.get(call.messageId) ?? '';
        yield {
          kind: 'reply',
          reply: {
            taskId: null,
            contextId: null,
            state: 'completed',
            content,
            parts: [],
            schema: null,
            fingerprint: 'message',
            messageIds: [],
          },
        };
        return;
      }
      if (agent.card.streaming) {
        yield* follow(agent, task, signal);
        return;
      }
      yield { kind: 'bound', taskId: task.id, contextId: task.contextId };
      yield { kind: 'reply', reply: snapshot(task) };
    },

    async *subscribe(agent, call, signal) {
      await trip(signal);
      await point(simulation, own, 'before', 'agent.subscribe');
      const task = call.taskId === null ? undefined : town.tasks.get(call.taskId);
      if (!task) throw new Fault('agent_refused', { notes: { sent: true, code: -32001 } });
      if (faults.draw(['look lost']) !== null) throw new Fault('agent_down', { notes: { sent: true, status: 503 } });
      await point(simulation, own, 'after', 'agent.subscribe');
      yield* follow(agent, task, signal);
    },

    get: async (agent, call, signal) => {
      await trip(signal);
      await point(simulation, own, 'before', 'agent.get');
      const drawn = faults.draw(['look lost', 'look slow', 'look invalid', 'task vanishes']);
      if (drawn !== null) simulation.tell(`${agent.name}: ${drawn}`);
      if (drawn === 'look lost') throw new Fault('agent_down', { notes: { sent: true, status: 503 } });
      if (drawn === 'look slow') await scheduler.pass(own, 30_000, signal);
      if (drawn === 'look invalid') throw new Fault('agent_invalid', { notes: { sent: true } });
      const task =
        call.taskId !== null
          ? town.tasks.get(call.taskId)
          : [...town.tasks.values()].find(
              (each) => kindOf(agent.name).lists && each.agent === agent.name && each.messageIds.includes(call.messageId),
            );
      if (task && drawn === 'task vanishes') town.tasks.delete(task.id);
      const reply = task && drawn !== 'task vanishes' ? snapshot(task) : null;
      simulation.tell(`${agent.name} shows ${short(call.id)} ${reply === null ? 'nothing' : `${reply.taskId} ${reply.state}`}`);
      await point(simulation, own, 'after', 'agent.get');
      await trip(signal);
      return reply;
    },

    cancel: async (agent, call, signal) => {
      await trip(signal);
      simulation.cancels.push(call.id);
      await point(simulation, own, 'before', 'agent.cancel');
      const drawn = faults.draw(['cancel lost', 'cancel not reached', 'not cancelable']);
      if (drawn === 'cancel not reached') throw new Fault('agent_down', { notes: { sent: false } });
      if (call.taskId === null || drawn === 'not cancelable') return null;
      const task = town.tasks.get(call.taskId);
      const isOver = task !== undefined && ['completed', 'failed', 'canceled', 'rejected'].includes(task.state);
      if (task && !isOver) show(simulation, town, task, 'canceled', 'as you wish');
      simulation.tell(`${agent.name} cancels ${call.taskId}`);
      await point(simulation, own, 'after', 'agent.cancel');
      if (drawn === 'cancel lost') throw new Fault('agent_down', { notes: { sent: true, status: 502 } });
      await trip(signal);
      return task === undefined ? 'gone' : isOver ? 'finished' : 'canceled';
    },
  };
}

/** Whatever an agent gets stands in the ledger already, word for word, with its attempt. */
async function committed(simulation: Simulation, agent: Agent, call: Call): Promise<void> {
  const { store, scheduler, received } = simulation;
  const stored = await scheduler.external(() => store.snapshot(call.conversationId));
  const row = stored.messages.find(({ type, callId }) => type === 'query' && callId === call.id);
  const known = stored.calls.find(({ id }) => id === call.id);
  const say = (why: string) => simulation.violate(`${agent.name} got ${short(call.messageId)} of call ${short(call.id)}: ${why}`);
  if (!row || !known) say('nothing of it is committed');
  else {
    if (row.content !== call.query || row.toAgent !== agent.name || known.messageId !== call.messageId) say('something else is committed');
    const transmissions = received.filter(({ callId }) => callId === call.id);
    const begun = stored.attempts.filter(({ callId }) => callId === call.id).length;
    if (begun < transmissions.length || known.attempts < transmissions.length) say(`${transmissions.length} sends, ${begun} attempts`);
  }
}

/** The task takes a new turn. */
function go(simulation: Simulation, town: Town, task: Task): void {
  const { chance, scheduler, faults } = simulation;
  const was = task.shown;
  task.state = 'working';
  const soon = chance.pick([0, 0, 50, 500, 3_000, 30_000, 100_000]);
  const then = (inMs: number, state: ReplyState, text: string) =>
    scheduler.at(inMs, null, () => {
      if (task.state === 'canceled') return;
      show(simulation, town, task, state, text);
    });
  if (was !== 'working') {
    const lag = chance.pick([0, 0, 2_000, 20_000]);
    if (lag > 0) faults.happened('lags behind');
    if (lag === 0) task.shown = 'working';
    else
      scheduler.at(Math.min(lag, soon), null, () => {
        if (task.state === 'working') task.shown = 'working';
      });
  }
  const turn = chance.weighted({
    completes: 46,
    asks: 14,
    'asks for a sign-in': 5,
    fails: 5,
    rejects: 3,
    'cancels itself': 3,
    'too slow': 2,
    'asks for ever': 4,
    'never ends': 1,
    'is over twice': 5,
  });
  faults.happened(turn);
  switch (turn) {
    case 'completes':
      then(soon, 'completed', `done ${task.id}`);
      return;
    case 'asks':
    case 'asks for ever':
      task.asked += 1;
      then(soon, 'input_required', `which one? ${task.asked}`);
      return;
    case 'asks for a sign-in':
      then(soon, 'auth_required', 'sign in please');
      if (chance.chance(0.94)) then(soon + chance.pick([5_000, 60_000, 400_000]), 'completed', `done after a sign-in ${task.id}`);
      return;
    case 'fails':
      then(soon, 'failed', 'it broke');
      return;
    case 'rejects':
      then(soon, 'rejected', 'not me');
      return;
    case 'cancels itself':
      then(soon, 'canceled', 'never mind');
      return;
    case 'too slow':
      then(chance.pick([700_000, 2_000_000]), 'completed', 'too late');
      return;
    case 'never ends':
      return;
    case 'is over twice':
      then(soon, 'completed', 'done once');
      then(soon + 1_000, 'working', '');
      then(soon + 3_000, 'completed', 'done twice');
      return;
  }
}

function show(simulation: Simulation, town: Town, task: Task, state: ReplyState, text: string): void {
  task.state = state;
  task.shown = state;
  task.text = text;
  task.version += 1;
  simulation.tell(`${task.agent}: ${task.id} is ${state}`);
  for (const listener of [...task.listeners]) listener();
  if (kindOf(task.agent).push) push(simulation, town, task);
}

/** Sent once, by a sender that does not look at the answer. */
function push(simulation: Simulation, town: Town, task: Task): void {
  const { faults, chance, scheduler } = simulation;
  const drawn = faults.draw(['push dropped', 'push twice', 'push late', 'push forged', 'push of a foreign task']);
  if (drawn !== null) simulation.tell(`${task.agent}: ${drawn}`);
  if (drawn === 'push dropped') return;
  const foreign = [...town.tasks.values()].find((each) => each !== task);
  const taskId = drawn === 'push of a foreign task' ? (foreign?.id ?? 'task-of-nobody') : task.id;
  const { callId } = task;
  const { state } = task;
  const deliver = async () => {
    const forged = drawn === 'push forged';
    const secret = forged ? 'guessed' : await pushSecret(simulation.settings.pushSecrets[0] ?? '', callId);
    const headers = {
      'content-type': 'application/json',
      ...(chance.chance(0.5) ? { authorization: `Bearer ${secret}` } : { 'x-a2a-notification-token': secret }),
    };
    const body = JSON.stringify(
      chance.chance(0.5) ? { statusUpdate: { taskId, status: { state } } } : { id: taskId, kind: 'task', status: { state } },
    );
    const request = new Request(`https://us.example/a2a/push/${callId}`, { method: 'POST', headers, body });
    let wrote = false;
    const own = simulation.invoke(`push:${callId}`, async (world) => {
      const { ledger, runner } = world;
      const watched = {
        ...world,
        ledger: {
          poke: (...given: Parameters<typeof ledger.poke>) => {
            wrote = true;
            return ledger.poke(...given);
          },
        },
        runner,
      };
      const { status } = await receivePush(watched, callId, request);
      simulation.tell(`${short(own.name)}: push answered ${status}`);
      if (forged && (status !== 401 || wrote)) simulation.violate(`a forged push was answered ${status}`);
      if (!forged && status === 401) simulation.violate('a push with its secret was refused');
    });
  };
  const times = drawn === 'push twice' ? 1 + chance.below(5) : 1;
  for (let each = 0; each < times + (drawn === 'push forged' ? 1 : 0); each += 1)
    scheduler.at(drawn === 'push late' ? chance.below(900_000) : chance.pick([0, 0, 20, 1_000]), null, () => void deliver());
}

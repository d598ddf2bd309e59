// The outside of a service that runs in the test's own process: a scripted planner, and agents that keep count of what reaches them. Effects: timers.

import { setTimeout as pause } from 'node:timers/promises';
import { v7 } from 'uuid';
import type { AgentCard } from '../../../src/agent/card.ts';
import type { AgentReply, ReplyState } from '../../../src/agent/reply.ts';
import { Fault } from '../../../src/fault.ts';
import type { Call } from '../../../src/intention/call.ts';
import type { RawDecision } from '../../../src/plan/plan.ts';
import type { Agents, Planner } from '../../../src/world.ts';

/** What is asked for, by the first word of what the user says; the planner calls the agents of these names in turn or at once, then reports. */
export const plots = {
  one: { agents: ['echo'], atOnce: false },
  turns: { agents: ['echo', 'poll'], atOnce: false },
  both: { agents: ['echo', 'poll'], atOnce: true },
  poll: { agents: ['poll'], atOnce: false },
  asks: { agents: ['asks'], atOnce: false },
  /** Asks back, and the user speaks of something else first. */
  strays: { agents: ['asks'], atOnce: false },
  aside: { agents: ['echo'], atOnce: false },
  /** The user stops it while its agent is at work. */
  stop: { agents: ['slow'], atOnce: false },
  /** Whether it happened, nobody can say. */
  doubt: { agents: ['silent'], atOnce: false },
  /** The first transmission is lost, and its agent recognises the second. */
  twice: { agents: ['knowing'], atOnce: false },
} as const;
export type Plot = keyof typeof plots;
export const agentNames = ['echo', 'poll', 'asks', 'slow', 'silent', 'knowing'] as const;

/** The plot and the id of what is said, by whoever quotes it. */
export const storyOf = (text: string): { readonly word: string; readonly id: string } | null => {
  const [, word, id] = /(\w+) #(\w+)/.exec(text) ?? [];
  return word !== undefined && id !== undefined ? { word, id } : null;
};

const thinkMs = 5;

/** By what is in the prompt alone: asked again, it says the same again. */
export const scriptedPlanner: Planner = {
  async decide(prompt, onText, signal): Promise<RawDecision> {
    await pause(thinkMs);
    if (signal.aborted) throw new Fault('aborted');
    const said = prompt.turns.findLast((turn) => turn.role === 'user' && /^\w+ #\w+/.test(turn.text));
    const story = said?.role === 'user' ? storyOf(said.text) : null;
    const results = prompt.turns.flatMap((turn) => (turn.role === 'results' ? turn.results : [])).length;
    const reassign = prompt.tools.some((tool) => tool.name === 'reassign' && JSON.stringify(tool.parameters).includes('"new"'));
    const usage = { model: 'scripted' };
    if (story === null || prompt.forced) return { text: 'nothing to do', toolCalls: [], finish: 'stop', usage };
    if (story.word === 'aside' && reassign) {
      return { text: '', toolCalls: [{ id: v7(), name: 'reassign', input: { to: 'new' } }], finish: 'tool-calls', usage };
    }
    const next = due(story.word, results);
    if (next.length > 0) {
      const toolCalls = next.map((agent) => ({
        id: v7(),
        name: 'call_agent',
        input: { agent, query: `ask #${story.id}`, reason: 'It fits.' },
      }));
      return { text: '', toolCalls, finish: 'tool-calls', usage };
    }
    onText('report on ');
    return { text: `report on #${story.id}`, toolCalls: [], finish: 'stop', usage };
  },
};

function due(word: string, results: number): readonly string[] {
  if (word === 'answer') return results < 2 ? ['asks'] : [];
  const plot = Object.entries(plots).find(([name]) => name === word)?.[1];
  if (!plot) return [];
  return plot.atOnce ? (results === 0 ? plot.agents : []) : plot.agents.slice(results, results + 1);
}

interface Task {
  readonly id: string;
  readonly agent: string;
  readonly messageIds: string[];
  state: ReplyState;
  doneAtMs: number;
}

export interface Town extends Agents {
  /** How often each message reached its agent. */
  readonly received: ReadonlyMap<string, { readonly agent: string; readonly times: number }>;
}

/** Milliseconds that an agent is at work. */
const workMs: Readonly<Record<string, number>> = { echo: 10, poll: 300, asks: 10, slow: 2_500, silent: 0, knowing: 10 };

/** Tasks live in memory and are never lost; nothing here is slower or more forgetful than it says. */
export function startTown(): Town {
  const tasks: Task[] = [];
  const received = new Map<string, { agent: string; times: number }>();

  const settled = (task: Task): Task => {
    if (task.state === 'working' && Date.now() >= task.doneAtMs)
      task.state = task.agent === 'asks' && task.messageIds.length === 1 ? 'input_required' : 'completed';
    return task;
  };
  const reply = (task: Task): AgentReply => ({
    taskId: task.id,
    contextId: `context of ${task.id}`,
    state: settled(task).state,
    content: `${task.state} after ${task.messageIds.length}`,
    parts: [],
    schema: null,
    fingerprint: `${task.state} ${task.messageIds.length}`,
    messageIds: task.messageIds,
  });
  /** One that was told of a task finds it; by our message's id, only those that look for it. */
  const find = (agent: string, call: Call): Task | undefined =>
    tasks.find((task) =>
      call.taskId === null
        ? task.agent === agent && agent !== 'silent' && agent !== 'knowing' && task.messageIds.includes(call.messageId)
        : task.id === call.taskId,
    );
  const take = (agent: string, call: Call): Task => {
    const known = tasks.find((task) => task.messageIds.includes(call.messageId)) ?? tasks.find((task) => task.id === call.taskId);
    const task: Task = known ?? { id: `task-${v7()}`, agent, messageIds: [], state: 'working', doneAtMs: 0 };
    if (!known) tasks.push(task);
    if (!task.messageIds.includes(call.messageId) && task.state !== 'canceled') {
      task.messageIds.push(call.messageId);
      task.state = 'working';
      task.doneAtMs = Date.now() + (workMs[agent] ?? 0);
    }
    return task;
  };
  async function* follow(task: Task, signal: AbortSignal) {
    yield { kind: 'bound', taskId: task.id, contextId: `context of ${task.id}` } as const;
    while (settled(task).state === 'working') {
      await pause(5);
      if (signal.aborted) throw new Fault('aborted');
    }
    yield { kind: 'text', text: 'so' } as const;
    yield { kind: 'reply', reply: reply(task) } as const;
  }

  return {
    received,
    read: async (sources) =>
      sources.map((source) => ({
        source: source.url,
        freshForMs: 3_600_000,
        error: null,
        agents: [{ namespace: 'default', name: nameAt(source.url), cardUrl: source.url, card: card(nameAt(source.url)) }],
      })),
    send: async function* (agent, call, _parts, signal) {
      if (signal.aborted) throw new Fault('aborted', { notes: { sent: false } });
      const times = (received.get(call.messageId)?.times ?? 0) + 1;
      received.set(call.messageId, { agent: agent.name, times });
      const task = take(agent.name, call);
      if (agent.name === 'silent' || (agent.name === 'knowing' && times === 1)) throw new Fault('agent_down', { notes: { sent: true } });
      if (agent.card.streaming) yield* follow(task, signal);
      else yield { kind: 'reply', reply: reply(task) };
    },
    subscribe: async function* (agent, call, signal) {
      const task = find(agent.name, call);
      if (task) yield* follow(task, signal);
    },
    get: async (agent, call) => {
      const task = find(agent.name, call);
      return task ? reply(task) : null;
    },
    cancel: async (agent, call) => {
      const task = find(agent.name, call);
      if (!task) return 'gone';
      if (['completed', 'failed', 'canceled', 'rejected'].includes(settled(task).state)) return 'finished';
      task.state = 'canceled';
      return 'canceled';
    },
  };
}

const nameAt = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

const card = (name: string): AgentCard => ({
  name,
  description: `Is ${name}.`,
  version: '1',
  interfaces: [{ url: 'http://127.0.0.1:1/', binding: 'JSONRPC', version: '1.0' }],
  streaming: name !== 'poll',
  pushNotifications: false,
  skills: [],
});

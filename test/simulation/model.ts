// A model that decides by chance among what the prompt lets it do, and sometimes does something else. Effects: on the simulation.

import { Fault } from '../../src/fault.ts';
import type { Json } from '../../src/intention/message.ts';
import type { Prompt, RawDecision, RawToolCall } from '../../src/plan/plan.ts';
import type { Planner } from '../../src/world.ts';
import { point } from './point.ts';
import type { Invocation } from './scheduler.ts';
import type { Simulation } from './simulation.ts';

/** Asked twice, it says two different things: a decision that is made again shows. */
export function modelOf(simulation: Simulation, own: Invocation): Planner {
  const { scheduler, chance, faults } = simulation;
  return {
    decide: async (prompt, onText, signal) => {
      await scheduler.pass(own, chance.pick([1, 20, 200]), signal);
      await point(simulation, own, 'before', 'model.decide');
      const drawn = faults.draw([
        'model down',
        'model busy',
        'model refuses',
        'model silent',
        'model cut short',
        'model talks beside calls',
        'model calls nobody',
        'model calls badly',
        ...(prompt.forced ? (['model calls when forced'] as const) : []),
        'model slow',
        'model hangs',
        'model wasteful',
      ]);
      if (drawn !== null) simulation.tell(`${drawn}`);
      if (drawn === 'model slow') await scheduler.pass(own, 61_000 + chance.below(200_000), signal);
      if (drawn === 'model hangs') {
        await scheduler.pass(own, 300_000, signal);
        throw new Fault('model_down');
      }
      onText('thinking');
      await scheduler.pass(own, chance.pick([10, 300, 3_000]), signal);
      await point(simulation, own, 'after', 'model.decide');
      switch (drawn) {
        case 'model down':
          throw new Fault('model_down', { notes: { status: 503 } });
        case 'model busy':
          throw new Fault('model_down', { notes: { status: 429 }, retryAfterSeconds: chance.pick([0, 3, 15, 1_000_000]) });
        case 'model refuses':
          throw new Fault('model_refused', { notes: { status: 401 } });
        case 'model silent':
          return said('', []);
        case 'model cut short':
          return { ...said('half an ans', []), finish: 'length' };
        case 'model talks beside calls':
          return { ...decided(simulation, prompt), text: 'I think that' };
        case 'model calls nobody':
          return said('', [{ id: 'x', name: 'call_agent', input: { agent: 'nobody', query: 'who are you?', reason: '' } }]);
        case 'model calls badly':
          return said('', [{ id: 'x', name: 'call_agent', input: 'not even {' }]);
        case 'model calls when forced':
          return said('', [{ id: 'x', name: 'call_agent', input: { agent: 'stream', query: 'still', reason: '' } }]);
        case 'model wasteful':
          return { ...decided(simulation, prompt, true), usage: { model: 'simulated', input_tokens: 250_000, output_tokens: 1 } };
        default:
          return decided(simulation, prompt);
      }
    },
  };
}

const said = (text: string, toolCalls: readonly RawToolCall[]): RawDecision => ({
  text,
  toolCalls,
  finish: toolCalls.length > 0 ? 'tool-calls' : 'stop',
  usage: { model: 'simulated', input_tokens: 100, output_tokens: 10 },
});

function decided({ chance, ids, faults }: Simulation, prompt: Prompt, eager = false): RawDecision {
  const call = prompt.tools.find(({ name }) => name === 'call_agent');
  const move = prompt.tools.find(({ name }) => name === 'reassign');
  const nonce = () => ids.next().slice(-8);
  if (move && chance.chance(0.3)) {
    return said('', [{ id: nonce(), name: 'reassign', input: { to: chance.pick(choices(move.parameters, 'to')) } }]);
  }
  const asked = prompt.turns.some(({ role }) => role === 'calls');
  if (!call || prompt.forced || (!eager && chance.chance(asked ? 0.55 : 0.05))) return said(`report ${nonce()}`, []);
  const agents = choices(call.parameters, 'agent');
  const questions = choices(call.parameters, 'answers');
  const calls = Array.from({ length: chance.pick([1, 1, 1, 2, 3]) }, (): RawToolCall => {
    const answers = questions.length > 0 && chance.chance(0.5) ? { answers: chance.pick(questions) } : {};
    return {
      id: nonce(),
      name: 'call_agent',
      input: { agent: chance.pick(faults.favoured(agents, (name) => name)), query: `do ${nonce()}`, reason: 'chance', ...answers },
    };
  });
  return said('', calls);
}

const inside = (json: Json | undefined, key: string): Json | undefined =>
  typeof json === 'object' && json !== null ? Object.entries(json).find(([name]) => name === key)?.[1] : undefined;

function choices(parameters: Json, name: string): readonly string[] {
  const listed = inside(inside(inside(parameters, 'properties'), name), 'enum');
  return Array.isArray(listed) ? listed.filter((each) => typeof each === 'string') : [];
}

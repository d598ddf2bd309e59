import { describe, expect, test } from 'vitest';
import { Fault } from '../../../src/fault.ts';
import type { Call } from '../../../src/intention/call.ts';
import { callMs, pushCallMs } from '../../../src/intention/limits.ts';
import { agentName, callId, type Decision } from '../../../src/intention/message.ts';
import { type Input, messageIdOf, transition } from '../../../src/intention/transition.ts';
import type { PlannedCall } from '../../../src/plan/plan.ts';
import { agent, call, context, intention, rows } from '../../support/builders.ts';

const decision: Decision = { note: 'let me see', tool_call_ids: ['t1'], raw: null, prompt_hash: 'h' };
const usage = { model: 'm', input_tokens: 10 };
const means = () => {
  let next = 0;
  return { nextId: () => `id-${++next}`, push: true };
};
const planned = (name: string, given: Partial<PlannedCall> = {}): PlannedCall => ({
  agent: agentName(name),
  query: `ask ${name}`,
  reason: 'it knows',
  toolCallId: 't1',
  ...given,
});
const calling = (first: PlannedCall, ...others: readonly PlannedCall[]): Input => ({
  kind: 'plan',
  plan: { kind: 'call', note: decision.note, calls: [first, ...others] },
  decision,
  usage,
});

const FRESH = context(rows(['user', null, '天气如何']));
const ASKED = rows(
  ['user', null, '天气如何'],
  ['agent', 'query', '天气如何', { call: 'a' }],
  ['agent', 'input_required', '哪里', { call: 'a' }],
  ['user', null, '上海'],
);
const question = call('a', { state: 'input_required', fingerprint: 'seen' });
const ANSWERED = context(ASKED, { calls: [question] });

describe('a plan', () => {
  test('to call becomes a query row and a call under a messageId derived from its place', () => {
    expect(transition(FRESH, calling(planned('weather')), means())).toEqual({
      kind: 'call',
      rows: [
        {
          id: 'id-2',
          step: 1,
          ord: 0,
          role: 'agent',
          type: 'query',
          agent: 'plan',
          toAgent: 'weather',
          reason: 'it knows',
          callId: 'id-1',
          content: 'ask weather',
          parts: { decision },
          usage,
        },
      ],
      calls: [
        {
          id: 'id-1',
          ord: 0,
          agentId: 'agent-weather',
          agent: 'weather',
          messageId: messageIdOf(intention, 1, 0),
          taskId: null,
          contextId: null,
          referenceTaskIds: [],
          answers: null,
          staleFingerprint: null,
          allowedMs: callMs,
        },
      ],
    });
  });

  test('made twice keeps the messageId and nothing else: the agent recognises it, the ledger tells rivals apart', () => {
    const ids = means();
    const [first, second] = [1, 2].map(() => transition(FRESH, calling(planned('weather')), ids));
    if (first?.kind !== 'call' || second?.kind !== 'call') throw new Error('no calls');
    expect(second.calls[0].messageId).toBe(first.calls[0].messageId);
    expect(second.calls[0].id).not.toBe(first.calls[0].id);
    expect(messageIdOf(intention, 1, 0)).not.toBe(messageIdOf(intention, 1, 1));
    expect(messageIdOf(intention, 1, 0)).not.toBe(messageIdOf(intention, 2, 0));
  });

  test("to call the agent that asked answers its question on the same task, and remembers what that turn's snapshot looked like", () => {
    const outcome = transition(ANSWERED, calling(planned('weather')), means());
    if (outcome.kind !== 'call') throw new Error(outcome.kind);
    expect(outcome.calls[0]).toMatchObject({ taskId: 'task-of-a', contextId: 'context-of-a', answers: 'a', staleFingerprint: 'seen' });
    expect(outcome.rows[0]?.parts.answers).toBe('a');
  });

  test('that says "new" leaves the question open', () => {
    const outcome = transition(ANSWERED, calling(planned('weather', { answers: 'new' })), means());
    expect(outcome.kind === 'call' && outcome.calls[0]).toMatchObject({ taskId: null, answers: null });
  });

  test('with two questions of one agent answers the one it names', () => {
    const other = call('b', { state: 'input_required' });
    const outcome = transition({ ...ANSWERED, calls: [question, other] }, calling(planned('weather', { answers: callId('b') })), means());
    expect(outcome.kind === 'call' && outcome.calls[0]).toMatchObject({ taskId: 'task-of-b', answers: 'b' });
  });

  test('adopts a free context of the same agent once, and refers to its last task', () => {
    const free = { ...FRESH, freeContexts: [{ agentId: 'agent-weather', contextId: 'old', taskId: 'done' }] };
    const outcome = transition(free, calling(planned('weather'), planned('weather', { query: 'again' }), planned('people')), means());
    if (outcome.kind !== 'call') throw new Error(outcome.kind);
    expect(outcome.calls.map((made) => [made.contextId, made.referenceTaskIds])).toEqual([
      ['old', ['done']],
      [null, []],
      [null, []],
    ]);
  });

  test('sends on what the user enclosed since that agent was last asked, and no text', () => {
    const data = { kind: 'data', data: { city: 'Shanghai' } } as const;
    const messages = rows(
      ['user', null, 'q', { parts: { items: [{ kind: 'data', data: 1 }] } }],
      ['agent', 'query', 'ask', { call: 'a' }],
      ['agent', 'input_required', 'where', { call: 'a' }],
      ['user', null, 'here', { parts: { items: [{ kind: 'text', text: 'here' }, data] } }],
    );
    const outcome = transition(context(messages, { calls: [question] }), calling(planned('weather'), planned('people')), means());
    if (outcome.kind !== 'call') throw new Error(outcome.kind);
    expect(outcome.rows.map((row) => row.parts.items)).toEqual([[data], [{ kind: 'data', data: 1 }, data]]);
  });

  test('gives days to an agent that can push, minutes to one that cannot', () => {
    const pushing = { ...FRESH, agents: [agent('weather', true), agent('people')] };
    const outcome = transition(pushing, calling(planned('weather'), planned('people')), means());
    expect(outcome.kind === 'call' && outcome.calls.map((made) => made.allowedMs)).toEqual([pushCallMs, callMs]);
  });

  test('gives an agent the time that is configured for it, whether or not it can push', () => {
    const configured = {
      ...FRESH,
      agents: [
        { ...agent('weather', true), allowedMs: 5_000 },
        { ...agent('people'), allowedMs: 7_000 },
      ],
    };
    const outcome = transition(configured, calling(planned('weather'), planned('people')), means());
    expect(outcome.kind === 'call' && outcome.calls.map((made) => made.allowedMs)).toEqual([5_000, 7_000]);
  });

  test('to ask again what may never have arrived sends what went with it once more, on no task, under a new messageId', () => {
    const data = { kind: 'data', data: { city: 'Shanghai' } } as const;
    const doubtful = call('a', { state: 'unknown', taskId: null, contextId: null, parts: [data] });
    const outcome = transition(context(ASKED, { calls: [doubtful] }), calling(planned('weather', { answers: callId('a') })), means());
    if (outcome.kind !== 'call') throw new Error(outcome.kind);
    expect(outcome.rows[0]?.parts).toMatchObject({ items: [data], answers: 'a' });
    expect(outcome.calls[0]).toMatchObject({ taskId: null, answers: 'a', messageId: messageIdOf(intention, 2, 0) });
  });

  test('to ask again does not disturb a task that was found since, but goes on with the one that a question belongs to', () => {
    const asked = (given: Partial<Call>) => {
      const calls = [call('a', { state: 'unknown', taskId: 'task', ...given })];
      const outcome = transition(context(ASKED, { calls }), calling(planned('weather', { answers: callId('a') })), means());
      return outcome.kind === 'call' ? outcome.calls[0].taskId : undefined;
    };
    expect([asked({ answers: null }), asked({ answers: callId('earlier') })]).toEqual([null, 'task']);
  });

  test('to ask again on the task of a question remembers what the task looked like when it asked', () => {
    const calls = [call('a', { state: 'unknown', answers: callId('earlier'), fingerprint: null, staleFingerprint: 'asking' })];
    const outcome = transition(context(ASKED, { calls }), calling(planned('weather', { answers: callId('a') })), means());
    expect(outcome.kind === 'call' && outcome.calls[0].staleFingerprint).toBe('asking');
  });

  test('to report ends the intention with the text', () => {
    const outcome = transition(FRESH, { kind: 'plan', plan: { kind: 'report', text: '上海很热' }, decision, usage }, means());
    expect(outcome).toMatchObject({
      kind: 'finish',
      status: 'answered',
      row: { role: 'assistant', type: null, content: '上海很热', step: 1, usage },
    });
  });

  test('to reassign moves nothing by itself: it names where to', () => {
    const outcome = transition(
      ANSWERED,
      { kind: 'plan', plan: { kind: 'reassign', note: '', to: 'new', toolCallId: 't' }, decision, usage },
      means(),
    );
    expect(outcome).toEqual({ kind: 'reassign', to: 'new', row: { id: 'id-1', decision } });
  });
});

test('a fault ends the intention in a plain sentence in the language of the question', () => {
  const outcome = transition(FRESH, { kind: 'fault', fault: new Fault('model_down'), incidentId: 'i' }, means());
  expect(outcome).toMatchObject({
    kind: 'finish',
    status: 'failed',
    row: { type: 'error', content: '暂时无法连接语言模型，请稍后再试。' },
  });
});

import { expect, test } from 'vitest';
import { readEvent } from '../../../src/cli/event.ts';
import { createView, type Told } from '../../../src/cli/view.ts';

const base = 'http://127.0.0.1:8787';

function row(fields: Record<string, unknown>) {
  const standard = {
    conversation_id: 'c1',
    step: 1,
    role: 'agent',
    type: null,
    agent: null,
    to_agent: null,
    reason: null,
    call_id: null,
    content: '',
    parts: [],
  };
  return { event: 'message', data: { ...standard, ...fields } };
}
const text = (step: number, attempt: number, offset: number, words: string, callId: string | null = null) => ({
  event: 'delta',
  data: { intention_id: 'i1', step, agent: 'plan', call_id: callId, attempt, offset, text: words },
});
const status = (value: string) => ({ event: 'status', data: { intention_id: 'i1', status: value } });

function watch(...events: readonly { readonly event: string; readonly data: unknown }[]) {
  const view = createView(base);
  const told: Told[] = [];
  for (const { event, data } of events) {
    const known = readEvent({ event, data: JSON.stringify(data), id: undefined });
    if (known) told.push(...view.show(known));
  }
  return {
    view,
    beside: told.flatMap((each) => (each.kind === 'answer' ? [] : [each.line])),
    answer: told.flatMap((each) => (each.kind === 'answer' ? [each.text] : [])),
  };
}

const asked = row({ type: 'query', agent: 'plan', to_agent: 'weather', reason: 'it knows', content: '天气如何', call_id: 'k1' });
const long = 'x'.repeat(200);

test('steps and agents go beside the answer', () => {
  const { beside, answer, view } = watch(
    row({ role: 'user', content: '天气如何' }),
    asked,
    row({ type: 'answer', agent: 'weather', call_id: 'k1', content: 'hot\nvery' }),
    row({ role: 'assistant', step: 2, content: 'It is hot' }),
    status('answered'),
  );
  expect(beside).toEqual(['→ weather: 天气如何 (it knows)', '  hot\n  very']);
  expect(answer).toEqual(['It is hot\n']);
  expect(view.status()).toBe('answered');
});

test('a question is kept with its conversation, until something more is asked', () => {
  const question = row({ type: 'input_required', agent: 'weather', call_id: 'k1', content: '您问到哪里的天气' });
  const { view, beside } = watch(asked, question, status('input_required'));
  expect(view.questions()).toMatchObject([{ agent: 'weather', text: '您问到哪里的天气' }]);
  expect([view.conversationId(), view.status()]).toEqual(['c1', 'input_required']);
  expect(beside).toHaveLength(1);
  expect(watch(asked, question, asked).view.questions()).toEqual([]);
});

test('a long answer is told while it is made, and its row adds only the rest', () => {
  const { answer } = watch(text(2, 1, 0, long), text(2, 1, 200, 'yz'), row({ role: 'assistant', step: 2, content: `${long}yz.` }));
  expect(answer).toEqual([long, 'yz', '.\n']);
});

test('a short text waits for its row: it may be a note beside a call', () => {
  const { answer } = watch(text(1, 1, 0, 'Let me look'), asked, row({ role: 'assistant', step: 2, content: 'Done' }));
  expect(answer).toEqual(['Done\n']);
});

test('an answer begun anew is told whole after a blank line when it contradicts what was told', () => {
  const { answer } = watch(text(2, 1, 0, long), text(2, 2, 0, 'different'), row({ role: 'assistant', step: 2, content: 'different' }));
  expect(answer).toEqual([long, '\n\ndifferent\n']);
});

test('what an agent says while it works is told once, by its row', () => {
  const { answer, beside } = watch(
    asked,
    text(1, 1, 0, long, 'k1'),
    row({ type: 'answer', agent: 'weather', call_id: 'k1', content: long }),
  );
  expect(answer).toEqual([]);
  expect(beside[1]).toBe(`  ${long}`);
});

test('a file is named with its full address', () => {
  const { beside } = watch(
    row({ type: 'answer', agent: 'coder', content: 'a file', parts: [{ kind: 'file', url: '/v1/files/f1', name: 'a.py' }] }),
  );
  expect(beside[1]).toBe(`  [a.py] ${base}/v1/files/f1`);
});

test('control characters of agents do not reach the terminal', () => {
  const { beside } = watch(row({ type: 'error', agent: 'weather', content: 'red \u001b[31malert\u0007\r\n\tend' }));
  expect(beside).toEqual(['  red [31malert\n  \tend']);
});

test('an event that nobody knows is passed over', () => {
  expect(watch({ event: 'later', data: {} }, { event: 'message', data: 'odd' }).beside).toEqual([]);
});

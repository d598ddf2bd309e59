import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fold } from '../../../src/intention/fold.ts';
import { callId } from '../../../src/intention/message.ts';
import { type Line, rows } from '../../support/builders.ts';

const user = (words: string): Line => ['user', null, words];
const query = (call: string, given: { agent?: string; answers?: string; ord?: number } = {}): Line => [
  'agent',
  'query',
  'ask',
  {
    call,
    ...(given.agent ? { agent: given.agent } : {}),
    ...(given.ord ? { ord: given.ord } : {}),
    parts: given.answers ? { answers: callId(given.answers) } : {},
  },
];
const says = (type: 'answer' | 'error' | 'input_required' | 'auth_required', call: string, agent = 'weather'): Line => [
  'agent',
  type,
  'words',
  { call, agent },
];

const ASKED_BACK = [user('weather'), query('a'), says('input_required', 'a')] as const;
const RESUMED = [...ASKED_BACK, user('Shanghai'), query('b', { answers: 'a' })] as const;
const PARALLEL = [user('both'), query('a'), query('b', { agent: 'people', ord: 1 })] as const;

/** Every scenario, with the status after each of its rows. */
const scenarios: readonly (readonly [name: string, lines: readonly Line[], statuses: readonly string[]])[] = [
  ['small talk', [user('hi'), ['assistant', null, 'hello']], ['runnable', 'answered']],
  ['one agent', [user('q'), query('a'), says('answer', 'a'), ['assistant', null, 'so']], ['runnable', 'calling', 'runnable', 'answered']],
  [
    'asked back and resumed',
    [...RESUMED, says('answer', 'b'), ['assistant', null, 'hot']],
    ['runnable', 'calling', 'input_required', 'runnable', 'calling', 'runnable', 'answered'],
  ],
  [
    'an agent fails',
    [user('q'), query('a'), says('error', 'a'), ['assistant', null, 'sorry']],
    ['runnable', 'calling', 'runnable', 'answered'],
  ],
  [
    'both branches answer',
    [...PARALLEL, says('answer', 'b', 'people'), says('answer', 'a')],
    ['runnable', 'calling', 'calling', 'calling', 'runnable'],
  ],
  [
    'one branch asks, the user is faster than the other',
    [...PARALLEL, says('input_required', 'a'), user('here'), says('answer', 'b', 'people')],
    ['runnable', 'calling', 'calling', 'calling', 'calling', 'runnable'],
  ],
  [
    'one branch asks, the other answers first',
    [...PARALLEL, says('input_required', 'a'), says('answer', 'b', 'people'), user('here')],
    ['runnable', 'calling', 'calling', 'calling', 'input_required', 'runnable'],
  ],
  [
    'sign-in goes on by itself',
    [user('q'), query('a'), says('auth_required', 'a'), says('answer', 'a')],
    ['runnable', 'calling', 'auth_required', 'runnable'],
  ],
  [
    'nobody knows whether it happened',
    [user('q'), query('a'), ['agent', 'input_required', 'shall I?', { call: 'a', agent: 'plan' }]],
    ['runnable', 'calling', 'input_required'],
  ],
  ['stopped', [user('q'), query('a'), ['assistant', 'canceled', '']], ['runnable', 'calling', 'canceled']],
  ['expired', [...ASKED_BACK, ['assistant', 'expired', '']], ['runnable', 'calling', 'input_required', 'expired']],
  ['the model is down', [user('q'), ['assistant', 'error', 'sorry']], ['runnable', 'failed']],
  [
    'a message that moved here',
    [user('who'), ['agent', 'reassigned', '', { agent: 'plan' }], ['assistant', null, 'a warlord']],
    ['runnable', 'runnable', 'answered'],
  ],
];

describe('the fold', () => {
  test.each(scenarios)('%s: every prefix has its status', (_name, lines, statuses) => {
    const all = rows(...lines);
    expect(all.map((_row, place) => fold(all.slice(0, place + 1)).status)).toEqual(statuses);
  });

  test('counts decisions, and knows a question that was answered', () => {
    const state = fold(rows(...RESUMED));
    expect([state.step, Object.fromEntries(state.calls)]).toEqual([2, { a: 'resumed', b: 'open' }]);
  });

  test('a final row absorbs whatever comes after it', () => {
    const line = fc.constantFrom<Line>(user('x'), query('z'), says('answer', 'a'), says('input_required', 'a'));
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.constantFrom<Line>(['assistant', null, 'done'], ['assistant', 'canceled', '']),
        (later, final) => {
          const status = fold(rows(...ASKED_BACK, final)).status;
          expect(fold(rows(...ASKED_BACK, final, ...later)).status).toBe(status);
        },
      ),
    );
  });

  test('no order of rows throws', () => {
    const line = fc.constantFrom<Line>(
      user('x'),
      query('a'),
      query('b', { answers: 'a' }),
      says('answer', 'a'),
      says('error', 'b'),
      says('input_required', 'b'),
      says('auth_required', 'a'),
      ['agent', 'reassigned', ''],
      ['assistant', 'expired', ''],
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        expect(fold(rows(...lines)).status).toBeTypeOf('string');
      }),
    );
  });
});

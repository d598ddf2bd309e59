// What an intention is doing, from its rows in order. Pure.

import type { CallState } from './call.ts';
import type { IntentionStatus } from './intention.ts';
import { type CallId, type Message, planName } from './message.ts';

/** A call as the rows tell of it: `open`, a question, or over. */
type FoldedCall = Extract<CallState, 'input_required' | 'auth_required' | 'unknown' | 'resumed'> | 'open' | 'closed';

/** `runnable` is stored as `planning`, or as `queued` while another intention of the conversation has the turn. */
export type FoldedStatus = Exclude<IntentionStatus, 'queued' | 'planning'> | 'runnable';

export interface State {
  readonly status: FoldedStatus;
  /** Decisions made. */
  readonly step: number;
  readonly calls: ReadonlyMap<CallId, FoldedCall>;
  /** A user row has come since the last decision. */
  readonly spoken: boolean;
}

const nothing: State = { status: 'runnable', step: 0, calls: new Map(), spoken: false };

/**
 * Folds one intention's rows (those that belong to it now), ascending by seq, into its state. O(n), throws nothing.
 * A question with no later user row yields `input_required`, or `auth_required` when all open ones are of that kind;
 * a final row absorbs everything after it. Source: README "Intention states".
 */
export function fold(messages: readonly Message[]): State {
  return messages.reduce(next, nothing);
}

function next(state: State, row: Message): State {
  if (row.role === 'assistant') return { ...state, status: finalStatus(row), step: row.step ?? state.step, calls: new Map() };
  if (state.status === 'answered' || state.status === 'failed' || state.status === 'canceled' || state.status === 'expired') return state;
  const calls = new Map(state.calls);
  switch (row.type) {
    case null:
      // One that moved here counts from the row that moved it: it may have been said before the question that it answers.
      return row.movedTo === null ? settle({ ...state, spoken: true }, true) : state;
    case 'query':
      if (row.parts.answers) calls.set(row.parts.answers, 'resumed');
      if (row.callId) calls.set(row.callId, 'open');
      return { status: 'calling', step: row.step ?? state.step, calls, spoken: false };
    case 'input_required':
    case 'auth_required':
      if (row.callId) calls.set(row.callId, row.agent === planName ? 'unknown' : row.type);
      return settle({ ...state, calls }, false);
    case 'answer':
    case 'error':
      if (row.callId) calls.set(row.callId, 'closed');
      return settle({ ...state, calls }, false);
    case 'reassigned':
      return settle({ ...state, spoken: true }, true);
    case 'canceled':
    case 'expired':
      return { ...state, status: row.type };
  }
}

function finalStatus(row: Message): FoldedStatus {
  switch (row.type) {
    case 'canceled':
    case 'expired':
      return row.type;
    case 'error':
      return 'failed';
    default:
      return 'answered';
  }
}

/** The join: nothing is decided while a call is open; with none, the user's word or the lack of questions lets it go on. */
function settle(state: State, user: boolean): State {
  const states = [...state.calls.values()];
  if (states.includes('open')) return { ...state, status: 'calling' };
  const questions = states.filter((call) => call === 'input_required' || call === 'auth_required' || call === 'unknown');
  if (user || state.spoken || questions.length === 0) return { ...state, status: 'runnable' };
  return { ...state, status: questions.some((question) => question !== 'auth_required') ? 'input_required' : 'auth_required' };
}

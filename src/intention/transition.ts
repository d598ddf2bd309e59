// What follows from what has happened: a pure step from a state and an input to an Outcome. Pure.

import type { NewCall } from './call.ts';
import type { CallId, NewMessage, Parts } from './message.ts';

/** What a planner step comes to: data for the shell to commit and carry out. */
export type Outcome =
  | { readonly kind: 'call'; readonly rows: readonly NewMessage[]; readonly calls: readonly [NewCall, ...NewCall[]] }
  | { readonly kind: 'finish'; readonly status: 'answered' | 'failed'; readonly row: NewMessage }
  /** The newest user row moves to the intention of another open question, or starts its own (under its message id). */
  | {
      readonly kind: 'reassign';
      readonly to: CallId | 'new';
      readonly row: Pick<NewMessage, 'id'> & { readonly decision: Parts['decision'] };
    };

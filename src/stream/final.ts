// What a row alone says of its intention's end. Pure.

import type { IntentionStatus } from '../intention/intention.ts';
import type { MessageEvent } from './event.ts';

/**
 * The status that an intention's final row gives it, else null. An agent's `error` has a call and ends nothing.
 * Source: one final row per intention (table `message`).
 */
export function finalStatus(row: MessageEvent): IntentionStatus | null {
  switch (row.type) {
    case 'canceled':
    case 'expired':
      return row.type;
    case 'error':
      return row.call_id === null ? 'failed' : null;
    case null:
      return row.role === 'assistant' ? 'answered' : null;
    case 'answer':
      return row.role === 'assistant' ? 'answered' : null;
    case 'query':
    case 'input_required':
    case 'auth_required':
    case 'reassigned':
      return null;
  }
}

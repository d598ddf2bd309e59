// One posted message followed through the conversation's events until its intention ends or asks back. Pure.

import { isParked, isTerminal } from '../intention/intention.ts';
import type { IntentionId } from '../intention/message.ts';
import type { StreamEvent } from './event.ts';

/** `last`: show it, and nothing after. */
export type Verdict = 'show' | 'hide' | 'last';

export interface Until {
  /** The intention that the message is in now; it changes when the message is reassigned. */
  intention(): IntentionId;
  take(event: StreamEvent): Verdict;
}

/**
 * Follows the message with `seq` in `intention`; events come in order. A parked status ends it only after a row later
 * than the message: until then it is the status from before the message.
 */
export function until(intention: IntentionId, seq: number): Until {
  let followed = intention;
  let worked = false;
  return {
    intention: () => followed,
    take(event) {
      switch (event.kind) {
        case 'message': {
          const { data } = event;
          if (data.type === 'reassigned' && 'from' in data.parts && data.parts.from === followed && data.parts.seq === seq) {
            followed = data.intention_id;
            worked = false;
            return 'show';
          }
          if (data.intention_id !== followed) return 'hide';
          worked ||= data.seq > seq;
          return 'show';
        }
        case 'delta':
        case 'call':
          return event.data.intention_id === followed ? 'show' : 'hide';
        case 'status': {
          const { intention_id, status } = event.data;
          if (intention_id !== followed) return 'hide';
          return isTerminal(status) || (worked && isParked(status)) ? 'last' : 'show';
        }
        case 'conversation':
          return 'show';
      }
    },
  };
}

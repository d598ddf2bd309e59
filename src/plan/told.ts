// What the user decided of an open question, as the plan that it is: no model is asked. Pure.

import type { StepContext } from '../step/context.ts';
import { languageOf } from './language.ts';
import type { Plan } from './plan.ts';
import { freshMessage, placedRows } from './transcript.ts';

/**
 * When the newest message, on which nothing was decided yet, says that a call whose outcome is unknown is to be made
 * again: that call, with the same query, as a new one. No limit and no breaker stands against it: the user has been
 * asked. Null: nothing of the kind, the call's outcome has become known, or its agent is gone.
 */
export function toldPlan(context: StepContext): Plan | null {
  const fresh = freshMessage(placedRows(context));
  if (fresh?.parts.resolve !== 'retry') return null;
  const call = context.calls.find(({ id, state }) => id === fresh.parts.answer_to && state === 'unknown');
  const agent = context.agents.find(({ id }) => id === call?.agentId);
  if (!call || !agent) return null;
  const reason = languageOf(call.query) === 'zh' ? '用户要求重试。' : 'The user asked to try again.';
  return {
    kind: 'call',
    note: '',
    calls: [{ agent: agent.name, query: call.query, reason, answers: call.id, toolCallId: '' }],
  };
}

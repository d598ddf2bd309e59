// The words for an intention: one question until answered, possibly over several user turns. Pure.

/** Source: table `intention`, README "Intention states". The last four are terminal and absorb. */
export const intentionStatuses = [
  'queued',
  'planning',
  'calling',
  'input_required',
  'auth_required',
  'answered',
  'failed',
  'canceled',
  'expired',
] as const;
export type IntentionStatus = (typeof intentionStatuses)[number];

export const terminalStatuses = ['answered', 'failed', 'canceled', 'expired'] as const satisfies readonly IntentionStatus[];

export function isTerminal(status: IntentionStatus): boolean {
  return terminalStatuses.some((terminal) => terminal === status);
}

/** Whether it waits for the user and for nobody else. */
export function isParked(status: IntentionStatus): boolean {
  return status === 'input_required' || status === 'auth_required';
}

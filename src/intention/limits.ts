// Every deadline, lease and budget of the protocol, in one place. Pure.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long the holder of a lease may be silent; three renewals fit in. */
export const leaseMs = 60 * second;
export const renewEveryMs = 20 * second;

/** Planning time of an intention: the model's time, not the agents', the user's or the queue's. Then the report is forced. */
export const planningMs = 10 * minute;
/** How long a question stays open; an intention expires with its youngest. */
export const questionMs = 24 * hour;

/** How long an agent may work that cannot push, and one that can. */
export const callMs = 15 * minute;
export const pushCallMs = 7 * 24 * hour;

/** The task id is written when the first event is this old and the call still open: short calls pay nothing for it. */
export const bindAfterMs = 1 * second;
/** A stream is left after this when the agent can push and the task is known. */
export const leaveStreamAfterMs = 60 * second;
/** A stream is read no longer than this in one alarm, which the platform ends at 15 minutes. */
export const readStreamMs = 12 * minute;
export const alarmMs = 14 * minute;
/** One GetTask or CancelTask. */
export const lookMs = 20 * second;
/** A task that waits for a sign-in is looked up after this, and then as one at work. */
export const signInLookMs = 30 * second;
/** An equal snapshot of a resumed task counts as news when the send is this old. */
export const staleAfterMs = 30 * second;
/** A send without a task id, whose reader died, waits this long for a push before its outcome counts as unknown. */
export const unknownAfterMs = 30 * second;

/** A crash between arming and writing costs this delay at most. */
export const armAheadMs = 5 * second;
/** Calls in a row that did not reach an agent; then it is left alone for a while. Source: circuit breaker. */
export const breakerFailures = 5;
export const breakerMs = 60 * second;
/** How often a task whose stream was cut is read on; after that it is only looked up. */
export const maxResubscriptions = 5;
/** Transmissions of one message, to agents that are known to recognise it. */
export const maxTransmissions = 3;
/** How often a task is canceled, then left. */
export const maxCancels = 5;
/** Before a step that failed for want of the model is tried again: full jitter under a bound that doubles. */
export const modelRetryBaseMs = 500;
export const modelRetryCapMs = 8 * second;
/** The longest wait that a model's `Retry-After` may ask for. */
export const maxRetryAfterMs = 20 * second;

/** Claims of one step without a decision; then the intention fails in plain words. */
export const maxFailures = 3;
/** Defaults of the settings. */
export const maxSteps = 8;
export const maxCalls = 8;

// Every deadline, lease, retry and budget of the protocol, in one place. Pure.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

// An intention and its steps.

/** Budgets of an intention, as long as the settings say nothing else: decisions, calls, and tokens of the model, in and out. Then the report is forced. */
export const maxSteps = 8;
export const maxCalls = 8;
export const maxTokens = 200_000;
/** Planning time of an intention: the model's time, not the agents', the user's or the queue's. Then the report is forced. */
export const planningMs = 10 * minute;
/** How long a question stays open; an intention expires with its youngest. */
export const questionMs = 24 * hour;
/** Claims of one step without a decision, or wake-ups of a call that met a bug of ours; then it ends in plain words. */
export const maxFailures = 3;

// A worker and its wake-up.

/** How long the holder of a lease may be silent; three renewals fit in. */
export const leaseMs = 60 * second;
export const renewEveryMs = 20 * second;
/** A crash between arming and writing costs this delay at most. */
export const armAheadMs = 5 * second;
/** The platform ends an alarm at 15 minutes. */
export const alarmMs = 14 * minute;
/** Work waits this long for a configuration that is not whole. */
export const misconfiguredMs = minute;
/** Work that is due for longer than this was forgotten by its alarm; the sweep wakes so much of it at once. */
export const sweepGraceMs = 30 * second;
export const maxSwept = 200;

// A call.

/** How long an agent may work that cannot push, and one that can; the configuration may say otherwise for one agent. */
export const callMs = 15 * minute;
export const pushCallMs = 7 * 24 * hour;
/** A stream is read no longer than this in one alarm; the transport itself gives up a little later. */
export const readStreamMs = 12 * minute;
export const replyMs = 13 * minute;
/** A stream is left after this when the agent can push and the task is known. */
export const leaveStreamAfterMs = 60 * second;
/** The task id is written when the first event is this old and the call still open: short calls pay nothing for it. */
export const bindAfterMs = 1 * second;
/** How often a task whose stream was cut is read on; after that it is only looked up. */
export const maxResubscriptions = 5;
/** One GetTask or CancelTask, and the request of each. */
export const lookMs = 20 * second;
export const lookRequestMs = 30 * second;
/** A task is polled after this, then twice as late each time (with a fifth of chance) up to the longest; at most once in `lookPauseMs`. */
export const firstLookMs = 2 * second;
export const longestLookMs = minute;
export const lookPauseMs = 1 * second;
/** When whoever gives the task away arms its Runner: that comes before the write, and must not ring before it is due. */
export const armLookMs = firstLookMs + 250;
/** A task that waits for a sign-in, or one in doubt that has a name, is looked up after this, and then as one at work. */
export const signInLookMs = 30 * second;
/** An equal snapshot of a resumed task counts as news when the send is this old. */
export const staleAfterMs = 30 * second;
/** A send without a task id, whose reader died, waits this long for a push before its outcome counts as unknown. */
export const unknownAfterMs = 30 * second;
/** Transmissions of one message, to agents that are known to recognise it, and the pause before the next. */
export const maxTransmissions = 3;
export const againMs = 1 * second;
/** How often a task is canceled, then left; the pause before the second try, twice as long each time. */
export const maxCancels = 5;
export const cancelAgainMs = 5 * second;
/** Whoever reads the reply of a call that is stopped has this long to name its task, before the task is looked for. */
export const nameTaskMs = 2 * second;

// An agent.

/** Calls in a row that did not reach an agent; then it is left alone for a while. */
export const breakerFailures = 5;
export const breakerMs = 60 * second;
/** Reading its card: one address; how long it is fresh if it says nothing, at least, and at most; after an error. */
export const readCardMs = 5 * second;
export const usualFreshMs = 5 * minute;
export const minFreshMs = 30 * second;
export const maxFreshMs = hour;
export const rereadMs = 15 * second;
/** The reply to one of a probe's two messages; its task is known sooner. */
export const probeMs = 20 * second;
/** Whether anybody listens on this machine: a listener on loopback answers within a millisecond. */
export const knockMs = 1 * second;

// The model.

/** A request: its first byte, the longest silence, all of it. */
export const modelFirstByteMs = 30 * second;
export const modelIdleMs = 15 * second;
export const modelTotalMs = 5 * minute;
export const maxModelBytes = 8 * 1024 * 1024;
/** Requests of one claim. A claim that brought nothing counts as a failure. */
export const maxModelAttempts = 3;
/** Before the next request, and before the next claim: full jitter under a bound that doubles. */
export const modelRetryBaseMs = 500;
export const modelRetryCapMs = 8 * second;
/** The longest wait that its `Retry-After` may ask for; one that asks for more counts as down. */
export const maxRetryAfterMs = 20 * second;

// The database.

/** One request: statements take milliseconds, waking a sleeping compute takes seconds. */
export const databaseMs = 10 * second;
/** Before each further try, with chance; what was rolled back for certain goes again at once. */
export const databaseRetryMs = [0, 100, 400] as const;
/** A reply that was read is held while the database is away: pauses from one second on, doubling, up to this. */
export const longestHoldMs = 16 * second;

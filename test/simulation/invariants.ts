// What must be true when everything has come to rest, whatever happened. Effects: reads of the store.

import { fold } from '../../src/intention/fold.ts';
import { isTerminal } from '../../src/intention/intention.ts';
import { maxCancels, maxTransmissions } from '../../src/intention/limits.ts';
import type { ConversationId, IntentionId, Message } from '../../src/intention/message.ts';
import { messageEvent } from '../../src/stream/event.ts';
import { registered, type Town } from './agents.ts';
import { type Simulation, short } from './simulation.ts';
import type { CallSnapshot, Snapshot } from './store/store.ts';
import type { Users } from './users.ts';

export async function check(simulation: Simulation, users: Users, town: Town): Promise<void> {
  const stored = new Map<ConversationId, Snapshot>();
  for (const id of simulation.conversations) {
    const snapshot = await simulation.store.snapshot(id);
    if (snapshot.conversation !== null) stored.set(id, snapshot);
  }
  checkAcceptances(simulation, users, stored);
  checkDeliveries(simulation, stored);
  checkTasks(simulation, stored, town);
  for (const snapshot of stored.values()) {
    checkRows(simulation, snapshot);
    checkStream(simulation, snapshot);
    for (const intention of snapshot.intentions) checkIntention(simulation, snapshot, intention.id);
    for (const call of snapshot.calls) checkCall(simulation, snapshot, call);
  }
}

const home = (row: Message): IntentionId => row.movedTo ?? row.intentionId;

function checkAcceptances(simulation: Simulation, { acceptances }: Users, stored: ReadonlyMap<ConversationId, Snapshot>): void {
  const byKey = new Map<string, string>();
  for (const { conversation, messageId, seq, content, key } of acceptances) {
    const row = stored.get(conversation)?.messages.find(({ id }) => id === messageId);
    if (!row || row.seq !== seq || row.content !== content || row.role !== 'user')
      simulation.violate(`the accepted message "${content}" at ${seq} is not there`);
    if (key === null) continue;
    const first = byKey.get(key) ?? messageId;
    byKey.set(key, first);
    if (first !== messageId) simulation.violate(`two messages were accepted under one key: ${content}`);
  }
  for (const { messages } of stored.values()) {
    const said = messages.filter(({ role }) => role === 'user').map(({ content, parts }) => (parts.resolve ? '' : content));
    const keyed = new Set(acceptances.filter(({ key }) => key !== null).map(({ content }) => content));
    for (const content of keyed)
      if (said.filter((each) => each === content).length > 1)
        simulation.violate(`"${content}" was said under one key and stands there twice`);
  }
}

function checkRows({ violate }: Simulation, { messages, conversation, intentions, calls }: Snapshot): void {
  messages.forEach((row, place) => {
    if (row.seq !== place + 1) violate(`row ${place + 1} has seq ${row.seq}`);
  });
  if (conversation && conversation.nextSeq !== messages.length + 1)
    violate(`next seq ${conversation.nextSeq} after ${messages.length} rows`);
  const known = new Set(intentions.map(({ id }) => id));
  for (const row of messages) if (!known.has(home(row))) violate(`row ${row.seq} belongs to no intention`);
  for (const row of messages)
    if (row.callId !== null && !calls.some(({ id }) => id === row.callId)) violate(`row ${row.seq} tells of no call`);
}

function checkIntention(simulation: Simulation, { messages, intentions, calls }: Snapshot, id: IntentionId): void {
  const violate = (why: string) => simulation.violate(`intention ${short(id)}: ${why}`);
  const intention = intentions.find((each) => each.id === id);
  if (!intention) return;
  const rows = messages.filter((row) => home(row) === id);
  const finals = rows.filter(({ role }) => role === 'assistant');
  if (!isTerminal(intention.status)) violate(`is ${intention.status} at rest`);
  if (finals.length !== 1) violate(`has ${finals.length} final rows`);
  if (rows.at(-1)?.role !== 'assistant') violate('has rows after its final row');
  if (!rows.some(({ role, type }) => role === 'user' || type === 'reassigned')) violate('was asked nothing');
  const folded = fold(rows);
  if (folded.status !== intention.status) violate(`is ${intention.status}, its rows say ${folded.status}`);
  if (intention.status !== 'canceled' && intention.status !== 'expired' && folded.step !== intention.step)
    violate(`is at step ${intention.step}, its rows say ${folded.step}`);
  if (intention.wakeAtMs !== null || intention.leaseBy !== null) violate('is to be woken after its end');
  const queries = rows.filter(({ type }) => type === 'query');
  const steps = [...new Set(queries.map(({ step }) => step))];
  steps.forEach((step, place) => {
    if (step !== place + 1) violate(`decision ${place + 1} is numbered ${step}`);
    const made = queries.filter((row) => row.step === step);
    if (made.filter(({ parts }) => parts.decision).length !== 1) violate(`step ${step} was not decided once`);
    if (new Set(made.map(({ ord }) => ord)).size !== made.length) violate(`step ${step} has two queries at one place`);
  });
  const own = calls.filter((call) => call.intentionId === id);
  if (own.length !== queries.length) violate(`${own.length} calls for ${queries.length} queries`);
  const { maxSteps, maxCalls } = simulation.settings;
  const retried = rows.filter(({ parts }) => parts.resolve === 'retry').length;
  if (steps.length >= maxSteps + retried) violate(`${steps.length} steps with calls`);
  if (own.length > maxCalls + retried) violate(`${own.length} calls`);
}

const overStates: readonly string[] = ['resumed', 'completed', 'failed', 'canceled', 'rejected'];

function checkCall(simulation: Simulation, { messages, attempts }: Snapshot, call: CallSnapshot): void {
  const violate = (why: string) => simulation.violate(`call ${short(call.id)} to ${call.agent} (${call.state}): ${why}`);
  if (!overStates.includes(call.state)) violate('is open at rest');
  const nameless = call.cancelOutcome === 'unsettled' && call.taskId === null;
  if (call.cancel === 'wanted' && !nameless) violate(`its cancellation is still wanted after ${call.cancelAttempts} tries`);
  if (call.cancel !== null && call.cancelOutcome === null) violate('nobody said what came of its cancellation');
  // One that was late is canceled as well, and a task that is named after the last try once more.
  const cancels = simulation.cancels.filter((id) => id === call.id).length;
  if (cancels > maxCancels + 1) violate(`was canceled ${cancels} times`);
  if (call.wakeAtMs !== null) violate('is to be woken after its end');
  const begun = attempts.filter(({ callId }) => callId === call.id);
  if (begun.length !== call.attempts) violate(`${call.attempts} transmissions, ${begun.length} of them in the audit`);
  if (call.attempts > maxTransmissions) violate(`was sent ${call.attempts} times`);
  if (call.attempts > 1 && !registered.find(({ id }) => id === call.agentId)?.deduplicates) violate('was sent again to whom that may hurt');
  const rows = messages.filter((row) => row.callId === call.id && row.type !== 'query');
  const results = rows.filter(({ type }) => type === 'answer' || type === 'error');
  if (results.length > 1) violate(`has ${results.length} results`);
  const over = call.state === 'completed' || call.state === 'failed' || call.state === 'rejected';
  if (over && results.length !== 1) violate(`has ${results.length} results`);
  const last = begun.at(-1);
  if (over && last && last.outcome === null) violate('its last transmission has no outcome');
  const reached = simulation.received.some(({ callId }) => callId === call.id);
  if (last?.outcome === 'rejected' && reached && !simulation.garbled.has(call.id) && call.error?.startsWith('agent_down'))
    violate('is said not to have happened, and has');
  const doubted = rows.some(({ type, agent }) => type === 'input_required' && agent === 'plan');
  // A task that asked may go on by itself, before it hears the answer.
  if (call.state === 'completed' && call.answers === null && !reached) violate('was never received');
  if (doubted && last && last.outcome === null && over) violate('was in doubt, and its transmission says nothing');
}

/** No agent got a message twice, but one that recognises it; never with other words. */
function checkDeliveries(simulation: Simulation, stored: ReadonlyMap<ConversationId, Snapshot>): void {
  const byMessage = Map.groupBy(simulation.received, ({ messageId }) => messageId);
  const calls = [...stored.values()].flatMap((snapshot) => snapshot.calls);
  for (const [messageId, deliveries] of byMessage) {
    const [first] = deliveries;
    if (!first) continue;
    const say = (why: string) => simulation.violate(`${first.agent} got ${short(messageId)} ${why}`);
    if (deliveries.some(({ body, agent }) => body !== first.body || agent !== first.agent))
      say(`with different words: ${deliveries.map(({ body }) => body).join(' | ')}`);
    const call = calls.find(({ id }) => id === first.callId);
    if (!call) say('of a call that is not there');
    else if (deliveries.length > call.attempts) say(`${deliveries.length} times in ${call.attempts} transmissions`);
    if (deliveries.length > 1 && !registered.find(({ name }) => name === first.agent)?.deduplicates) say(`${deliveries.length} times`);
  }
  const byCall = Map.groupBy(simulation.received, ({ callId }) => callId);
  for (const [callId, deliveries] of byCall)
    if (new Set(deliveries.map(({ messageId }) => messageId)).size > 1) simulation.violate(`call ${short(callId)} was sent under two ids`);
}

/** An agent is not left waiting for an answer that nobody will give. */
function checkTasks(simulation: Simulation, stored: ReadonlyMap<ConversationId, Snapshot>, { tasks }: Town): void {
  const calls = [...stored.values()].flatMap((snapshot) => snapshot.calls);
  for (const task of tasks.values()) {
    const own = calls.filter(({ taskId, agent }) => taskId === task.id && agent === task.agent);
    const asks = task.state === 'input_required' || task.state === 'auth_required';
    if (asks && own.length > 0 && own.every(({ state, cancel }) => (state === 'canceled' || state === 'resumed') && cancel === null))
      simulation.violate(`${task.agent} is left asking in ${task.id}`);
  }
}

/** What was shown is what is stored, however it moved later; a reader who follows by seq and asks for what is missing sees all of it. */
function checkStream({ published, violate }: Simulation, { conversation, messages }: Snapshot): void {
  let seen = 0;
  for (const { conversation: where, event } of published) {
    if (where !== conversation?.id || event.kind !== 'message') continue;
    const row = messages[event.data.seq - 1];
    if (!row) {
      violate(`row ${event.data.seq} was shown and is not there`);
      continue;
    }
    const stands = messageEvent(row);
    if (stands.id !== event.data.id || stands.content !== event.data.content || stands.type !== event.data.type)
      violate(`row ${event.data.seq} was shown otherwise than it stands there`);
    if (event.data.seq === seen + 1) seen += 1;
  }
}

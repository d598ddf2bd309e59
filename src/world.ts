// The ports: everything we ask of the outside, on one page. Types only.

import type { Agent, AgentSource, SourceReading } from './agent/card.ts';
import type { AgentEvent, AgentReply, RawPart } from './agent/reply.ts';
import type { FaultNotes } from './fault.ts';
import type { Call, CancelOutcome, Closing } from './intention/call.ts';
import type { IntentionStatus } from './intention/intention.ts';
import type { CallId, ConversationId, FileId, IntentionId, Message, OwnerId, Part } from './intention/message.ts';
import type { Accepted, Accepting, CallClaim, Claim, Decided, Observed, RunnerName, Stopped } from './intention/rules.ts';
import type { Outcome } from './intention/transition.ts';
import type { Prompt, RawDecision } from './plan/plan.ts';
import type { Settings } from './settings.ts';
import type { StepContext } from './step/context.ts';
import type { DeltaEvent, StreamEvent } from './stream/event.ts';

export interface World {
  readonly settings: Settings;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly files: Files;
  readonly planner: Planner;
  readonly agents: Agents;
  readonly stream: Stream;
  readonly subscriptions: Subscriptions;
  readonly runner: Runner;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The writing rules. Each is one request, lock first; each may be repeated and then recognises itself. Times are ms since the epoch. */
export interface Ledger {
  open(owner: OwnerId, conversation: ConversationId, title: string): Promise<void>;
  accept(message: Accepting): Promise<Accepted>;
  claim(intention: IntentionId, by: RunnerName): Promise<Claim>;
  claimCall(call: CallId, by: RunnerName): Promise<CallClaim>;
  decide(context: StepContext, by: RunnerName, outcome: Outcome): Promise<Decided>;
  /** Closing form: closes the call once, appends its row, joins. */
  observe(call: Call, closing: Closing): Promise<Observed>;
  /** Binding form: the task is known and at work; the reader keeps its lease, or leaves the call to be polled. False: the call is no longer open. */
  bind(call: Call, taskId: string, contextId: string | null, keeps: boolean): Promise<boolean>;
  /** The send may not have happened and its agent is known to deduplicate: the same message is to go out again. False: it may not. */
  again(call: Call): Promise<boolean>;
  renew(holder: { readonly intention: IntentionId; readonly fence: number } | { readonly call: CallId }, by: RunnerName): Promise<boolean>;
  /** A push came; it may be the first to name the task. Null: no such call is open. `due`: it was due already, nothing was written. */
  poke(call: CallId, taskId: string | null): Promise<'poked' | 'due' | null>;
  stop(owner: OwnerId, conversation: ConversationId, intention: IntentionId): Promise<Stopped>;
  expire(intention: IntentionId): Promise<Stopped>;
  /** CancelTask is settled, or given up; until then each claim of the call tries again, five times at most. */
  cancelled(call: Call, outcome: CancelOutcome): Promise<void>;
  /** What a probe showed of an agent: whether it recognises a repeated message. */
  probed(agentId: string, deduplicates: boolean): Promise<void>;
  keepAgents(readings: readonly SourceReading[]): Promise<void>;
  agents(): Promise<Registry>;
  /** Due work that nobody took up for `graceSeconds`. */
  sweep(graceSeconds: number, limit: number): Promise<readonly RunnerName[]>;
}

/** What the planner may choose from, and what is wrong with the sources. */
export interface Registry {
  readonly agents: readonly Agent[];
  readonly staleSources: readonly AgentSource[];
  readonly errors: readonly { readonly source: string; readonly error: string }[];
}

/** Plain reads and deletions on behalf of a caller: nothing here decides. */
export interface Archive {
  conversation(owner: OwnerId, id: ConversationId): Promise<ConversationSummary | null>;
  conversations(
    owner: OwnerId,
    page: { readonly before: { readonly atMs: number; readonly id: string } | null; readonly limit: number },
  ): Promise<readonly ConversationSummary[]>;
  /** Ascending seq, at most `limit` rows. */
  messages(
    owner: OwnerId,
    id: ConversationId,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Message[] | null>;
  /** For the stream, which has checked the owner: rows after `seq`, and every intention's status that is not terminal. */
  replay(
    id: ConversationId,
    after: number,
    limit: number,
  ): Promise<{
    readonly messages: readonly Message[];
    readonly lastSeq: number;
    readonly open: readonly { readonly intentionId: IntentionId; readonly status: IntentionStatus }[];
  }>;
  intention(owner: OwnerId, conversation: ConversationId, id: IntentionId): Promise<IntentionSummary | null>;
  /** Of one intention, in the order of their making. */
  calls(owner: OwnerId, conversation: ConversationId, intention: IntentionId): Promise<readonly Call[]>;
  call(owner: OwnerId, conversation: ConversationId, id: CallId): Promise<Call | null>;
  /** True: it was there. Returns what was at work, to be aborted. */
  remove(owner: OwnerId, id: ConversationId): Promise<readonly RunnerName[] | null>;
  /** Answers when the database does. */
  ping(): Promise<void>;
}

export interface ConversationSummary {
  readonly id: ConversationId;
  readonly title: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly lastSeq: number;
}

export interface IntentionSummary {
  readonly id: IntentionId;
  readonly status: IntentionStatus;
  readonly step: number;
  /** The final row, else the newest open question. */
  readonly last: Message | null;
}

export interface Files {
  /** Bytes, and text or data over 16 KiB, go to the table; what comes back refers to them. At most 10 MiB each: larger ones become a note. */
  keep(owner: OwnerId, conversation: ConversationId, parts: readonly RawPart[]): Promise<readonly Part[]>;
  /** Parts as they came: what `keep` took away is put back. */
  restore(owner: OwnerId, parts: readonly Part[]): Promise<readonly RawPart[]>;
  read(owner: OwnerId, id: FileId): Promise<{ readonly bytes: Uint8Array; readonly name: string; readonly mediaType: string } | null>;
}

/** One decision of a model. `onText` gets text as it is made. Rejects with Fault `model_down`, `model_refused` or `aborted` only. */
export interface Planner {
  decide(prompt: Prompt, onText: (text: string) => void, signal: AbortSignal): Promise<RawDecision>;
}

/** Other agents over A2A. Rejects with Fault `agent_down` (not sent, for certain, when `notes.sent` is false), `agent_refused`, `agent_invalid` or `aborted`. */
export interface Agents {
  /** Never rejects: what went wrong is in the readings. */
  read(sources: readonly AgentSource[]): Promise<readonly SourceReading[]>;
  /** Streams when the card says so. Ends after its `reply`; a cut stream ends without one. */
  send(agent: Agent, call: Call, parts: readonly RawPart[], signal: AbortSignal): AsyncIterable<AgentEvent>;
  subscribe(agent: Agent, call: Call, signal: AbortSignal): AsyncIterable<AgentEvent>;
  /** Null: the agent knows no such task. */
  get(agent: Agent, call: Call, signal: AbortSignal): Promise<AgentReply | null>;
  /** Null: it is not settled; the task may still be at work. */
  cancel(agent: Agent, call: Call, signal: AbortSignal): Promise<Exclude<CancelOutcome, 'unsettled'> | null>;
}

/** Hints to whoever watches; losing one loses nothing. Neither rejects. */
export interface Stream {
  /** Rows are committed; deltas may be coalesced. Not awaited by anyone who has work to do. */
  publish(conversation: ConversationId, events: readonly StreamEvent[]): void;
  /** A source of deltas: text appended, coalesced, sent again from 0 when the object lost it. */
  relay(conversation: ConversationId, source: Omit<DeltaEvent, 'offset' | 'text'>): { append(text: string): void; end(): void };
  /** The conversation is gone: everyone who watches is told and let go. */
  close(conversation: ConversationId): void;
  /** All that was published has left; an invocation ends after it. */
  settled(): Promise<void>;
}

/** The stream as it is heard. `follow`: only what belongs to the message at `after + 1`, accepted in that intention, wherever it moves, to its end. */
export interface Subscriptions {
  /** Server-sent events, or a problem. */
  watch(conversation: ConversationId, after: number, follow: IntentionId | null): Promise<Response>;
  /** The same as values, for at most `forMs`. */
  events(conversation: ConversationId, after: number, follow: IntentionId, forMs: number): AsyncIterable<StreamEvent>;
}

/** Alarm clocks. Re-arming only ever moves an alarm earlier. */
export interface Runner {
  arm(name: RunnerName, inMs: number): Promise<void>;
  kick(name: RunnerName): Promise<void>;
  /** The work that it was armed for went elsewhere. */
  disarm(name: RunnerName): Promise<void>;
  /** Aborts the work in flight, then kicks. */
  stop(name: RunnerName): Promise<void>;
}

export interface Clock {
  nowMs(): number;
}

export interface Ids {
  /** UUIDv7. */
  next(): string;
}

/** One line of JSON: what happened, with ids and numbers only. */
export type Log = (event: string, notes: FaultNotes) => void;

// An intention's rows as turns: what was said, what was called, what came back; only ever appended to. Pure.

import type { Call } from '../intention/call.ts';
import { type CallId, type Json, type Message, type Part, planName } from '../intention/message.ts';
import type { StepContext } from '../step/context.ts';
import type { Turn } from './plan.ts';
import { capBytes, legible, oneLine, storable, tokensOf } from './text.ts';

/** The tool by which the model calls an agent, in transcripts and offers. */
export const callTool = 'call_agent';

/** Of one row or result in a prompt. */
const maxRowBytes = 8_192;
const maxHistoryRows = 30;
const maxHistoryTokens = 8_000;

/** What happened from one decision to the next. The first has no queries; the last is what the coming decision is about. */
interface Span {
  readonly queries: readonly Message[];
  /** Answers, questions and errors, ascending. */
  readonly outcomes: readonly Message[];
  readonly users: readonly Message[];
  /** The seq of the next decision. */
  readonly end: number;
}

/**
 * This intention's rows in the order in which they became its own: a moved message stands where it was moved here, one
 * that moved away is gone.
 */
export function placedRows({ intentionId, messages }: StepContext): readonly Message[] {
  const here = messages.filter((row) => row.movedTo === null || row.movedTo === intentionId);
  const moved = new Map(here.filter((row) => row.movedTo === intentionId).map((row) => [row.seq, row]));
  const announced = new Set(here.map((row) => (row.type === 'reassigned' ? row.parts.seq : undefined)));
  return here.flatMap((row) => {
    if (row.type !== 'reassigned') return moved.has(row.seq) && announced.has(row.seq) ? [] : [row];
    const message = row.parts.seq === undefined ? undefined : moved.get(row.parts.seq);
    return message ? [message] : [];
  });
}

/** The newest user message of placed rows, if nothing has been decided on it. */
export function freshMessage(rows: readonly Message[]): Message | undefined {
  const last = rows.findLast((row) => row.role === 'user' || row.type === 'query');
  return last?.role === 'user' ? last : undefined;
}

/**
 * History and this intention as turns. What one decision saw is a prefix of what the next sees: within a span results
 * come first, in the order of the calls, then what is said; what comes of a call after a decision has seen it open or
 * asking is told as a call of its own. Other intentions' rows stand before the user turn that they precede.
 * `aliases` name the questions that calls answer.
 */
export function transcript(context: StepContext, aliases: ReadonlyMap<CallId, string>): readonly Turn[] {
  const spans = spansOf(placedRows(context));
  const calls = new Map(context.calls.map((call) => [call.id, call]));
  const history = recent(context.history, spans.findLast((span) => span.users.length > 0)?.end ?? Number.POSITIVE_INFINITY);
  let told = 0;
  return spans.flatMap((span) => {
    const before = span.users.length > 0 ? history.filter((row) => row.seq > told && row.seq < span.end) : [];
    told = before.at(-1)?.seq ?? told;
    return [...called(span, calls, aliases), ...later(span, spans, calls), ...[...before, ...span.users].map(spoken)];
  });
}

function spansOf(rows: readonly Message[]): readonly Span[] {
  const starts = rows.flatMap((row, index) => (row.type === 'query' && row.ord === 0 ? [index] : []));
  return [0, ...starts].map((start, index) => {
    const next = starts[index];
    const span = rows.slice(start, next);
    return {
      queries: span.filter((row) => row.type === 'query'),
      outcomes: span.filter((row) => row.callId !== null && row.type !== 'query'),
      users: span.filter((row) => row.role === 'user'),
      end: (next === undefined ? undefined : rows[next]?.seq) ?? Number.POSITIVE_INFINITY,
    };
  });
}

/** The newest rows before `end` that fit, ascending. */
function recent(history: readonly Message[], end: number): readonly Message[] {
  const rows = history.filter((row) => row.seq < end && body(row) !== '').slice(-maxHistoryRows);
  let tokens = 0;
  const fits = rows.findLastIndex((row) => {
    tokens += tokensOf(body(row));
    return tokens > maxHistoryTokens;
  });
  return rows.slice(fits + 1);
}

function spoken(row: Message): Turn {
  return { role: row.role === 'assistant' ? 'assistant' : 'user', text: body(row) };
}

function called(span: Span, calls: ReadonlyMap<CallId, Call>, aliases: ReadonlyMap<CallId, string>): readonly Turn[] {
  const made = span.queries.flatMap((query) => (query.callId ? [{ query, id: query.callId }] : []));
  if (made.length === 0) return [];
  return [
    {
      role: 'calls',
      note: span.queries[0]?.parts.decision?.note ?? '',
      calls: made.map(({ query, id }) => ({ id, tool: callTool, input: inputOf(query, aliases) })),
    },
    {
      role: 'results',
      results: made.map(({ id }) => {
        const outcome = span.outcomes.findLast((row) => row.callId === id);
        return { id, tool: callTool, text: outcome ? resultText(outcome, calls.get(id)) : 'still running' };
      }),
    },
  ];
}

/** Keys in a fixed order: equal calls are equal bytes. */
function inputOf({ toAgent, content, reason, parts }: Message, aliases: ReadonlyMap<CallId, string>): Json {
  const answers = parts.answers && aliases.get(parts.answers);
  return { agent: toAgent, query: content, reason: reason ?? '', ...(answers ? { answers } : {}) };
}

/** Outcomes of calls that an earlier decision made, in pairs of their own; as tool results, since agents' words are never a user's. */
function later(span: Span, spans: readonly Span[], calls: ReadonlyMap<CallId, Call>): readonly Turn[] {
  const queries = spans.slice(0, spans.indexOf(span)).flatMap((earlier) => earlier.queries);
  const late = span.outcomes.flatMap((row) => {
    const query = queries.find((candidate) => candidate.callId === row.callId);
    const last = span.outcomes.findLast((candidate) => candidate.callId === row.callId) === row;
    return query && last ? [{ id: `later-${row.seq}`, row, query }] : [];
  });
  if (late.length === 0) return [];
  return [
    {
      role: 'calls',
      note: '',
      calls: late.map(({ id, query }) => ({
        id,
        tool: callTool,
        input: { agent: query.toAgent, query: query.content, reason: 'It went on by itself.' },
      })),
    },
    {
      role: 'results',
      results: late.map(({ id, row }) => ({ id, tool: callTool, text: resultText(row, row.callId ? calls.get(row.callId) : undefined) })),
    },
  ];
}

/** What came of a call, as the model reads it: an answer's text, else its kind and the text. */
function resultText(row: Message, call: Call | undefined): string {
  return capBytes(`${kindOf(row, call)}${body(row)}`, maxRowBytes);
}

function kindOf(row: Message, call: Call | undefined): string {
  switch (row.type) {
    case 'input_required':
      return row.agent === planName ? 'unknown: ' : 'input_required: ';
    case 'auth_required':
      return 'auth_required: ';
    case 'error':
      return call?.state === 'rejected' || call?.state === 'canceled' ? `${call.state}: ` : 'failed: ';
    case 'answer':
    case 'query':
    case 'reassigned':
    case 'canceled':
    case 'expired':
    case null:
      return '';
  }
}

/** A row's text, then its data as JSON and the names of its files. The user's own words are kept as they are. */
function body(row: Message): string {
  const others = (row.parts.items ?? []).flatMap(partText);
  const content = row.role === 'user' ? storable(row.content) : legible(row.content);
  return capBytes([content, ...others].filter((text) => text !== '').join('\n'), maxRowBytes);
}

function partText(part: Part): readonly string[] {
  switch (part.kind) {
    case 'text':
      return [];
    case 'data':
      return [legible(JSON.stringify(part.data))];
    case 'file': {
      const size = part.size === undefined ? undefined : `${part.size} bytes`;
      return [
        `[file ${[part.name ?? 'without a name', part.media_type, size]
          .filter((word) => word !== undefined)
          .map(oneLine)
          .join(', ')}]`,
      ];
    }
  }
}

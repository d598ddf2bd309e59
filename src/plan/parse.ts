// A model's raw answer as a Plan, or what was wrong with it in words that the model can act on. Pure.

import { z } from 'zod';
import { agentName, type CallId, type Json } from '../intention/message.ts';
import type { Plan, PlannedCall, RawDecision, RawToolCall, Turn } from './plan.ts';
import { downWords, type Offer, reassignTool } from './prompt.ts';
import { capBytes, capUnits, storable } from './text.ts';
import { callTool } from './transcript.ts';

const maxNoteUnits = 2_000;
const maxQueryBytes = 4_096;
const maxReasonUnits = 500;

export type Parsed =
  | { readonly kind: 'plan'; readonly plan: Plan }
  /** `turns` go behind the prompt's for the one repair. */
  | { readonly kind: 'complaint'; readonly complaint: string; readonly turns: readonly Turn[] }
  /** The answer broke off or was withheld: nothing in it counts. */
  | { readonly kind: 'failed'; readonly code: 'model_down' };

type ToolReading =
  | { readonly kind: 'call'; readonly call: PlannedCall }
  | { readonly kind: 'reassign'; readonly to: CallId | 'new'; readonly toolCallId: string }
  | { readonly kind: 'wrong'; readonly why: string };

/**
 * Text counts as the report only when the model says that it stopped by itself; calls also when it says so of them.
 * A response with one bad call is repaired as a whole. Reassign wins over calls beside it; equal calls are one; of more
 * calls than are left, the first count.
 */
export function parse(raw: RawDecision, offer: Offer): Parsed {
  if (raw.finish !== 'stop' && raw.finish !== 'tool-calls') return { kind: 'failed', code: 'model_down' };
  const text = storable(raw.text).trim();
  if (raw.toolCalls.length === 0) {
    if (raw.finish === 'stop' && text !== '') return { kind: 'plan', plan: { kind: 'report', text } };
    const complaint = 'Your answer was empty. Call an agent or write the report.';
    return { kind: 'complaint', complaint, turns: [{ role: 'user', text: `[${complaint}]` }] };
  }
  const note = capUnits(text, maxNoteUnits);
  const readings = raw.toolCalls.map((call) => read(call, offer));
  const wrong = readings.flatMap((reading) => (reading.kind === 'wrong' ? [reading.why] : []));
  if (wrong.length > 0) return { kind: 'complaint', complaint: wrong.join('\n'), turns: repair(raw.toolCalls, readings, note) };
  const moved = readings.find((reading) => reading.kind === 'reassign');
  if (moved) return { kind: 'plan', plan: { kind: 'reassign', note, to: moved.to, toolCallId: moved.toolCallId } };
  const distinct = new Map(
    readings
      .flatMap((reading) => (reading.kind === 'call' ? [reading.call] : []))
      .map((call) => [JSON.stringify([call.agent, call.query]), call]),
  );
  const [first, ...others] = [...distinct.values()].slice(0, offer.calls);
  // Unreachable with calls left: without any, `read` has complained.
  if (!first) return { kind: 'failed', code: 'model_down' };
  return { kind: 'plan', plan: { kind: 'call', note, calls: [first, ...others] } };
}

function read(raw: RawToolCall, offer: Offer): ToolReading {
  if (offer.agents.length === 0 && offer.reassign.size === 0) return { kind: 'wrong', why: 'No tool can be called now. Write the report.' };
  const down = raw.name === callTool ? whyDown(raw, offer) : null;
  if (down !== null) return { kind: 'wrong', why: down };
  if (raw.invalid !== undefined) return { kind: 'wrong', why: capUnits(storable(raw.invalid), maxReasonUnits) };
  if (raw.name === callTool && offer.agents.length > 0) return readCall(raw, offer);
  if (raw.name === reassignTool && offer.reassign.size > 0) return readReassign(raw, offer);
  return { kind: 'wrong', why: `There is no tool ${JSON.stringify(capUnits(storable(raw.name), 80))} now.` };
}

/** Better words than those of whoever checks names against the list. */
function whyDown({ input }: RawToolCall, { down }: Offer): string | null {
  const named = z.object({ agent: z.string() }).safeParse(argumentsOf(input)).data?.agent;
  const until = named === undefined ? undefined : down.get(agentName(named));
  return until === undefined ? null : `${named} ${downWords(until)}`;
}

const nonEmpty = z.string().transform((text) => storable(text).trim());

function readCall(raw: RawToolCall, { agents, questions }: Offer): ToolReading {
  const answerable = [...questions.keys(), 'new'];
  const shape = z.object({
    agent: z.enum(agents.map((name): string => name)),
    query: nonEmpty.refine((query) => query !== '', 'is empty'),
    // Nothing hangs on it.
    reason: z.string().catch(''),
    // Models fill in what they are free to leave out.
    answers: z.preprocess((answers) => answers || undefined, z.enum(answerable).optional()),
  });
  const read = shape.safeParse(argumentsOf(raw.input));
  if (!read.success) return { kind: 'wrong', why: z.prettifyError(read.error) };
  const { agent, query, reason, answers } = read.data;
  const question = answers === undefined ? undefined : questions.get(answers);
  if (question && question.agent !== agent) {
    return { kind: 'wrong', why: `${answers} was asked by ${question.agent}: only a query to that agent can answer it.` };
  }
  return {
    kind: 'call',
    call: {
      agent: agentName(agent),
      query: capBytes(query, maxQueryBytes),
      reason: capUnits(storable(reason).trim(), maxReasonUnits),
      ...(question ? { answers: question.callId } : answers === 'new' ? { answers } : {}),
      toolCallId: raw.id,
    },
  };
}

function readReassign(raw: RawToolCall, { reassign }: Offer): ToolReading {
  const read = z.object({ to: z.enum([...reassign.keys()]) }).safeParse(argumentsOf(raw.input));
  if (!read.success) return { kind: 'wrong', why: z.prettifyError(read.error) };
  const to = reassign.get(read.data.to);
  return to === undefined ? { kind: 'wrong', why: 'There is no such question.' } : { kind: 'reassign', to, toolCallId: raw.id };
}

/** Some models encode the arguments twice. */
function argumentsOf(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** The calls as they came, with the validator's words as their results. Ids are ours: the model's may be empty or too long for others. */
function repair(calls: readonly RawToolCall[], readings: readonly ToolReading[], note: string): readonly Turn[] {
  const tagged = calls.map((call, index) => ({ call, reading: readings[index], id: `repair-${index + 1}`, tool: toolName(call.name) }));
  return [
    { role: 'calls', note, calls: tagged.map(({ call, id, tool }) => ({ id, tool, input: objectOf(call.input) })) },
    {
      role: 'results',
      results: tagged.map(({ reading, id, tool }) => ({
        id,
        tool,
        text: reading?.kind === 'wrong' ? `not done: ${reading.why}` : 'not done, since another call beside it was wrong',
      })),
    },
  ];
}

/** Model servers check names in transcripts. */
function toolName(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : callTool;
}

/** Arguments in a transcript must be an object, or some servers refuse the whole prompt. */
function objectOf(input: unknown): Json {
  const read = z.record(z.string(), z.json()).safeParse(argumentsOf(input));
  return read.success ? read.data : {};
}

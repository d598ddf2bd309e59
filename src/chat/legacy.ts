// The original service's wire, `POST /v1/chat`: the events of one posted message as its frames. Pure: it only waits for events.

import { asFault, toProblem } from '../fault.ts';
import { type CallId, type ConversationId, type IntentionId, planName } from '../intention/message.ts';
import type { DeltaEvent, MessageEvent, StreamEvent } from '../stream/event.ts';
import { finalStatus } from '../stream/final.ts';
import { type Said, said } from './said.ts';

/** `settled` false: the first decision may still move the message to another intention, so `start` waits for it. */
export interface LegacyStart {
  readonly conversationId: ConversationId;
  readonly intentionId: IntentionId;
  readonly settled: boolean;
}

/** A report shorter than this waits for its row, since text beside a call is a note and would stay. UTF-16 units. */
const minReport = 160;

/**
 * Frames as the original sends them: `start` first and `end` last, whatever happens between. The wire has no call id, so
 * calls are told one after the other and the later ones held. What was missed or came twice is made good from the rows.
 * Ends with the events; if they break, with an `error` frame first.
 * Source: qiankunli/chat-a2a, agent/gate_event.py and app/api/v1/chat.py.
 */
export async function* legacy(events: AsyncIterable<StreamEvent>, start: LegacyStart): AsyncGenerator<string, void, void> {
  const teller = createTeller();
  let intention = start.intentionId;
  /** Frames that wait for `start`; null once it is sent. */
  let held: string[] | null = start.settled ? null : [];
  const begin = () => frame({ event: 'start', conversation_id: start.conversationId, intention_id: intention });
  if (!held) yield begin();
  try {
    for await (const event of events) {
      const told = teller(event);
      if (held) {
        held.push(...told);
        if (event.kind !== 'message' || !isDecision(event.data, intention)) continue;
        intention = event.data.intention_id;
        yield begin();
        yield* held;
        held = null;
      } else yield* told;
    }
    if (held) yield* [begin(), ...held];
  } catch (thrown) {
    if (held) yield* [begin(), ...held];
    yield frame({ event: 'error', error: toProblem(asFault(thrown)).title });
  }
  yield frame({ event: 'end' });
}

/** Whether the planner has settled where the message belongs: an agent's row may still be that of an earlier call. */
function isDecision(row: MessageEvent, intention: IntentionId): boolean {
  if (row.type === 'reassigned') return 'from' in row.parts && row.parts.from === intention;
  return row.type === 'query' || finalStatus(row) !== null;
}

/** A call on its way: told from its header to its end. Without a header (it was asked before this message) only its row is told. */
interface Line {
  readonly text: Said;
  name: string;
  header: string | null;
  row: MessageEvent | null;
}

/** Turns each event into the frames that may be sent now. */
function createTeller(): (event: StreamEvent) => readonly string[] {
  const lines = new Map<CallId, Line>();
  const over = new Set<CallId>();
  let current: CallId | null = null;
  let report = said();
  let reportStep: number | null = null;
  /** A note was told as if it were the answer: the answer begins after a blank line. */
  let leaked = false;

  const lineOf = (call: CallId, name: string): Line => {
    const line = lines.get(call) ?? { text: said(), name, header: null, row: null };
    lines.set(call, line);
    return line;
  };

  const advance = (): readonly string[] => {
    const frames: string[] = [];
    for (;;) {
      current ??= [...lines].find(([, line]) => line.header !== null || line.row !== null)?.[0] ?? null;
      const line = current === null ? undefined : lines.get(current);
      if (current === null || !line) return frames;
      if (line.header !== null) frames.push(line.header);
      line.header = null;
      frames.push(...chunks(line.name, line.text.speak()));
      if (!line.row) return frames;
      frames.push(...ending(line, line.row));
      over.add(current);
      lines.delete(current);
      current = null;
    }
  };

  /** The intention is over: calls without a row have none coming. */
  const finish = (): readonly string[] => {
    for (const [call, line] of lines) if (!line.row) lines.delete(call);
    current = null;
    return advance();
  };

  const answer = (text: string): readonly string[] => {
    if (text === '') return [];
    const chunk = leaked ? `\n\n${text}` : text;
    leaked = false;
    return [frame({ event: 'answer', chunk })];
  };

  const newReport = (step: number | null) => {
    leaked ||= report.spoken();
    report = said();
    reportStep = step;
  };

  const tellRow = (row: MessageEvent): readonly string[] => {
    switch (finalStatus(row)) {
      case 'answered':
        if (row.step !== reportStep) newReport(row.step);
        return [...finish(), ...answer(report.finish(row.content)), frame({ event: 'answer_end' })];
      case 'canceled':
        return [...finish(), frame({ event: 'stop' })];
      case 'failed':
      case 'expired':
        return [...finish(), frame({ event: 'error', error: row.content })];
      default:
        break;
    }
    if (row.type === 'reassigned') newReport(null);
    if (row.call_id === null || over.has(row.call_id)) return [];
    const line = lineOf(row.call_id, row.to_agent ?? row.agent ?? planName);
    if (row.type === 'query') {
      newReport(null);
      line.header = frame({ event: 'header', name: planName, chunk: row.content });
    } else line.row = row;
    return advance();
  };

  const tellText = (delta: DeltaEvent): readonly string[] => {
    if (delta.call_id !== null) {
      if (over.has(delta.call_id)) return [];
      lineOf(delta.call_id, delta.agent).text.hear(delta);
      return advance();
    }
    if (delta.step !== reportStep) newReport(delta.step);
    report.hear(delta);
    return lines.size === 0 && report.heard() >= minReport ? answer(report.speak()) : [];
  };

  return (event) => {
    switch (event.kind) {
      case 'message':
        return tellRow(event.data);
      case 'delta':
        return tellText(event.data);
      case 'status':
      case 'call':
      case 'conversation':
        return [];
    }
  };
}

function ending(line: Line, row: MessageEvent): readonly string[] {
  const name = row.agent ?? line.name;
  switch (row.type) {
    case 'input_required':
    case 'auth_required':
      return [frame({ event: 'agent_input_required', name, require_input: row.content })];
    case 'error':
    case 'canceled':
    case 'expired':
      return [frame({ event: 'agent_error', name })];
    case 'answer':
    case 'query':
    case 'reassigned':
    case null:
      return [...chunks(name, line.text.finish(row.content)), frame({ event: 'agent_end', name })];
  }
}

function chunks(name: string, chunk: string): readonly string[] {
  return chunk === '' ? [] : [frame({ event: 'message', name, chunk })];
}

/** One frame with its fields in this order, spaced as Python's `json.dumps(..., ensure_ascii=False)` writes them. */
function frame(fields: Readonly<Record<string, string>>): string {
  const json = Object.entries(fields).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `data: {${json.join(', ')}}\n\n`;
}

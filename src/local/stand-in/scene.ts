// What a planner's request says: who can be asked, what the user wants, what was done so far. Pure.

import { z } from 'zod';
import { agentsIn, withoutAgents } from './agent-list.ts';
import type { KnownAgent } from './match.ts';
import type { CompletionRequest, RequestMessage, RequestTool } from './request.ts';

export type Result = { readonly kind: 'answer' | 'asked' | 'failed' | 'none'; readonly text: string };

/** A call made for the current question. `reply` is what the user said to the question that it ended in. */
export interface MadeCall {
  readonly id: string;
  readonly agent: string;
  readonly query: string;
  readonly result: Result;
}

export interface Scene {
  readonly agents: readonly KnownAgent[];
  /** Whether `call_agent` may be called. */
  readonly mayCall: boolean;
  /** Open questions that `call_agent` may say to answer; null: it takes no such argument. */
  readonly answerable: readonly string[] | null;
  /** Ids of other open questions that the newest message may be moved to, oldest first; null: nothing may be moved. */
  readonly movable: readonly string[] | null;
  /** What the user asked, before the calls. */
  readonly question: string;
  readonly calls: readonly MadeCall[];
  /** What the user said after the calls; null: nothing. */
  readonly said: string | null;
  /** The last report of the conversation. */
  readonly lastReport: string | null;
}

export function sceneOf(request: CompletionRequest): Scene {
  const callTool = request.tools.find((tool) => tool.function.name === 'call_agent');
  const moveTool = request.tools.find((tool) => tool.function.name === 'reassign');
  const free = request.tool_choice !== 'none';
  const names = valuesOf(callTool, 'agent') ?? [];
  const turns = request.messages.flatMap(withoutList);
  const firstCall = turns.findIndex((turn) => turn.role === 'assistant' && turn.tool_calls.length > 0);
  const before = firstCall < 0 ? turns : turns.slice(0, firstCall);
  const after = firstCall < 0 ? [] : turns.slice(firstCall);
  const last = after.at(-1);
  return {
    agents: agentsIn(placesOf(request), names),
    mayCall: free && names.length > 0,
    answerable: valuesOf(callTool, 'answers'),
    movable: free ? (valuesOf(moveTool, 'to')?.filter((id) => id !== 'new') ?? null) : null,
    question: withoutNote(before.findLast((turn) => turn.role === 'user')?.content ?? ''),
    calls: callsOf(after),
    said: last?.role === 'user' ? withoutNote(last.content) : null,
    lastReport: before.findLast((turn) => turn.role === 'assistant')?.content ?? null,
  };
}

/** The choices of a tool's argument; empty if it takes any string, null if it takes none. */
function valuesOf(tool: RequestTool | undefined, name: string): readonly string[] | null {
  const parameter = tool?.function.parameters.properties[name];
  return parameter ? (parameter.enum ?? []) : null;
}

/** Where the list of agents may stand: in the instructions, a turn, or a tool's description. */
function placesOf(request: CompletionRequest): readonly string[] {
  return [...request.messages.map(({ content }) => content), ...request.tools.map((tool) => tool.function.description)];
}

function withoutList(turn: RequestMessage): readonly RequestMessage[] {
  if (turn.role !== 'user') return [turn];
  const content = withoutAgents(turn.content);
  return content === '' && turn.content !== '' ? [] : [{ ...turn, content }];
}

/** A note in square brackets at the end of a user message is by the service. */
function withoutNote(text: string): string {
  return text.replace(/\n+\[[^\]]*\]\s*$/u, '').trim();
}

const callInput = z.object({ agent: z.string(), query: z.string() });

function callsOf(turns: readonly RequestMessage[]): readonly MadeCall[] {
  const results = new Map(turns.flatMap((turn) => (turn.role === 'tool' ? [[turn.tool_call_id, turn.content] as const] : [])));
  return turns
    .flatMap((turn) => (turn.role === 'assistant' ? turn.tool_calls : []))
    .flatMap(({ id, function: { name, arguments: json } }) => {
      const input = name === 'call_agent' ? callInput.safeParse(parseJson(json)).data : undefined;
      return input ? [{ id, ...input, result: resultOf(results.get(id)) }] : [];
    });
}

/** What a result begins with tells what it is; an answer has no such word before it. */
function resultOf(content: string | undefined): Result {
  if (content === undefined) return { kind: 'none', text: '' };
  const [, word = '', text = ''] =
    /^\s*(input_required|auth_required|unknown|failed|rejected|canceled|error|expired|resumed|pending|working)\s*[:：-]\s*([\s\S]*)$/iu.exec(content) ?? [];
  switch (word.toLowerCase()) {
    case '':
      return { kind: 'answer', text: content.trim() };
    case 'input_required':
    case 'auth_required':
    case 'unknown':
      return { kind: 'asked', text: text.trim() };
    case 'resumed':
    case 'pending':
    case 'working':
      return { kind: 'none', text: text.trim() };
    default:
      return { kind: 'failed', text: text.trim() };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// What a planner's request says: who can be asked, what the user wants, what was done so far. Pure.

import { z } from 'zod';
import { agentsIn, withoutAgents } from './agent-list.ts';
import type { KnownAgent } from './match.ts';
import type { CompletionRequest, RequestMessage, RequestTool } from './request.ts';

/** `unsure`: the service asks whether to try again, since nobody knows if the call happened. `none`: nothing has come yet. */
export type Result = { readonly kind: 'answer' | 'asked' | 'unsure' | 'failed' | 'none'; readonly text: string };

/** A call made for the current question. */
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
  /** The open questions that a call may say it answers, by the agent that asks. */
  readonly answerable: ReadonlyMap<string, string>;
  /** Where the newest message may be moved: other open questions, oldest first, and "new"; often nowhere. */
  readonly moves: readonly string[];
  /** Agents that are left alone for a while, and until when. */
  readonly down: readonly { readonly agent: string; readonly until: string }[];
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
  const names = choicesOf(callTool, 'agent');
  const down = downIn(request.messages.at(-1)?.content ?? '');
  const turns = request.messages.flatMap(withoutList);
  const firstCall = turns.findIndex((turn) => turn.role === 'assistant' && turn.tool_calls.length > 0);
  const before = firstCall < 0 ? turns : turns.slice(0, firstCall);
  const after = firstCall < 0 ? [] : turns.slice(firstCall);
  const last = after.at(-1);
  return {
    agents: agentsIn(placesOf(request), names).filter(({ name }) => !down.some(({ agent }) => agent === name)),
    down,
    mayCall: free && names.length > 0,
    answerable: questionsOf(request.messages.at(-1)?.content ?? '', choicesOf(callTool, 'answers')),
    moves: free ? choicesOf(moveTool, 'to') : [],
    question: before.findLast((turn) => turn.role === 'user')?.content ?? '',
    calls: callsOf(after),
    said: last?.role === 'user' ? last.content : null,
    lastReport: before.findLast((turn) => turn.role === 'assistant')?.content ?? null,
  };
}

/** The choices of a tool's argument. */
function choicesOf(tool: RequestTool | undefined, argument: string): readonly string[] {
  return tool?.function.parameters.properties[argument]?.enum ?? [];
}

/** Source: `downWords` in src/plan/prompt.ts. */
function downIn(message: string): Scene['down'] {
  const lines = [...message.matchAll(/^\[?(\S+) is down until (\S+ UTC) and cannot be called/gmu)];
  return lines.map(([, agent = '', until = '']) => ({ agent, until }));
}

/** The note at the newest message tells who asks which question. Source: `questionLines` in src/plan/questions.ts. */
function questionsOf(message: string, choices: readonly string[]): ReadonlyMap<string, string> {
  const lines = [...message.matchAll(/^- (\S+) \(([^)]+)\): /gmu)];
  return new Map(lines.flatMap(([, id = '', agent = '']) => (choices.includes(id) ? [[agent, id] as const] : [])));
}

/** Where the list of agents may stand: in the instructions, a turn, or a tool's description. */
function placesOf(request: CompletionRequest): readonly string[] {
  return [...request.messages.map(({ content }) => content), ...request.tools.map((tool) => tool.function.description)];
}

function withoutList(turn: RequestMessage): readonly RequestMessage[] {
  if (turn.role !== 'user') return [turn];
  const content = withoutNote(withoutAgents(turn.content));
  return content === '' ? [] : [{ ...turn, content }];
}

/** A note in square brackets at the end of a user message, or a turn that is nothing else, is by the service. */
function withoutNote(text: string): string {
  return text
    .replace(/\n\n\[(?:(?!\n\n)[\s\S])*\]\s*$/u, '')
    .replace(
      /^\[(?:These agents can be called|The limit of|The time for|No agent can|No more calls|Your answer was|\S+ is down until)(?:(?!\n\n)[\s\S])*\]$/u,
      '',
    )
    .trim();
}

const callInput = z.object({ agent: z.string(), query: z.string() });

function callsOf(turns: readonly RequestMessage[]): readonly MadeCall[] {
  const results = new Map(turns.flatMap((turn) => (turn.role === 'tool' ? [[turn.tool_call_id, turn.content] as const] : [])));
  return turns
    .flatMap((turn) => (turn.role === 'assistant' ? turn.tool_calls : []))
    .flatMap(({ id, function: { name, arguments: json } }) => {
      // What a repair turn quotes was never made.
      const input = name === 'call_agent' && !id.startsWith('repair-') ? callInput.safeParse(parseJson(json)).data : undefined;
      return input ? [{ id, ...input, result: resultOf(results.get(id)) }] : [];
    });
}

/** What a result begins with tells what it is; an answer has no such word before it. */
function resultOf(content: string | undefined): Result {
  if (content === undefined || content === 'still running') return { kind: 'none', text: '' };
  const [, word = '', text = ''] = /^(input_required|auth_required|unknown|failed|rejected|canceled): ([\s\S]*)$/u.exec(content) ?? [];
  switch (word) {
    case '':
      return { kind: 'answer', text: content.trim() };
    case 'input_required':
    case 'auth_required':
      return { kind: 'asked', text: text.trim() };
    case 'unknown':
      return { kind: 'unsure', text: text.trim() };
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

// The planner's port on the AI SDK: one streamed chat completion of any OpenAI-compatible server. Effects: network.

import { createOpenAI } from '@ai-sdk/openai';
import {
  APICallError,
  extractReasoningMiddleware,
  InvalidPromptError,
  type JSONSchema7,
  jsonSchema,
  MissingToolResultsError,
  type ModelMessage,
  streamText,
  ToolChoiceViolationError,
  wrapLanguageModel,
} from 'ai';
import { Fault } from '../fault.ts';
import type { Json, Usage } from '../intention/message.ts';
import type { Planner, Settings } from '../world.ts';
import type { Prompt, RawDecision, RawToolCall, Turn } from './plan.ts';
import { type Watch, watchedFetch } from './watched-fetch.ts';

/** Milliseconds, but for what says otherwise. */
export interface PlannerLimits extends Watch {
  /** One decision, attempts and pauses included. */
  readonly totalMs: number;
  readonly maxAttempts: number;
  /** Full jitter below base * 2^n, n from 0, but never above the cap. */
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** A server that wants a longer pause counts as down. */
  readonly maxRetryAfterSeconds: number;
}

const defaults: PlannerLimits = {
  firstByteMs: 30_000,
  idleMs: 15_000,
  totalMs: 300_000,
  // Far above any report; a runaway stream ends here.
  maxBytes: 8 * 1024 * 1024,
  maxAttempts: 3,
  backoffBaseMs: 500,
  backoffCapMs: 8_000,
  maxRetryAfterSeconds: 20,
};

/** Some servers know no `tool_choice`; then what it says is said by what else is sent. */
type Choice = 'said' | 'unsaid';

/**
 * A decision is asked for again after a network error, a timeout, 408, 425, 429, 5xx or an empty answer, as long as none of its text was given to
 * `onText`. Rejects as the port says; the faults carry no vendor error as their cause, since that holds the prompt.
 */
export function createPlanner(model: Settings['model'], options: Partial<PlannerLimits> = {}): Planner {
  const limits = { ...defaults, ...options };
  return {
    async decide(prompt, onText, signal) {
      const total = new AbortController();
      // Not AbortSignal.timeout: a timer that outlives the decision keeps a Durable Object in memory.
      const timer = setTimeout(
        () => total.abort(new Fault('model_down', { notes: { why: 'too slow', totalMs: limits.totalMs } })),
        limits.totalMs,
      );
      const either = AbortSignal.any([signal, total.signal]);
      let said = false;
      let choice: Choice = 'said';
      let attempt = 1;
      const say = (text: string) => {
        said = true;
        onText(text);
      };
      try {
        for (;;) {
          try {
            return await ask(model, prompt, choice, limits, say, either);
          } catch (thrown) {
            if (signal.aborted) throw new Fault('aborted');
            if (choice === 'said' && refusesChoice(thrown)) {
              choice = 'unsaid';
              continue;
            }
            const fault = toFault(thrown);
            const afterSeconds = fault.retryAfterSeconds ?? 0;
            if (!fault.retry || said || total.signal.aborted || attempt >= limits.maxAttempts || afterSeconds > limits.maxRetryAfterSeconds)
              throw fault;
            const jitter = Math.random() * Math.min(limits.backoffCapMs, limits.backoffBaseMs * 2 ** (attempt - 1));
            await pause(Math.max(jitter, afterSeconds * 1_000), either);
            attempt += 1;
          }
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** One attempt. Throws whatever went wrong, as it came. */
async function ask(
  { baseUrl, apiKey, name }: Settings['model'],
  prompt: Prompt,
  choice: Choice,
  limits: PlannerLimits,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<RawDecision> {
  const watched = watchedFetch(limits, choice === 'unsaid' ? withoutChoice : (body) => body);
  const provider = createOpenAI({ baseURL: baseUrl, apiKey, fetch: watched.fetch });
  // Visible tools keep the server's prefix cache; a server that cannot be told to call none is not shown any.
  const tools = prompt.forced && choice === 'unsaid' ? [] : prompt.tools;
  let text = '';
  const toolCalls: RawToolCall[] = [];
  let usage: Usage = { model: name };
  try {
    const { stream } = streamText({
      // Some servers write the model's thinking into its text.
      model: wrapLanguageModel({ model: provider.chat(name), middleware: extractReasoningMiddleware({ tagName: 'think' }) }),
      instructions: prompt.instructions,
      messages: prompt.turns.map(messageOf),
      ...(tools.length > 0
        ? {
            // Without execute: the stream ends at the calls. Nothing is validated here, `parse` does it.
            tools: Object.fromEntries(
              tools.map((tool) => [tool.name, { description: tool.description, inputSchema: jsonSchema(schemaOf(tool.parameters)) }]),
            ),
            toolChoice: prompt.forced ? ('none' as const) : ('auto' as const),
          }
        : {}),
      maxRetries: 0,
      abortSignal: signal,
      // The default prints the error, and with it the prompt.
      onError: () => {},
    });
    for await (const part of stream) {
      switch (part.type) {
        case 'text-delta':
          text += part.text;
          if (part.text !== '') onText(part.text);
          break;
        case 'tool-call':
          toolCalls.push({
            id: part.toolCallId,
            name: part.toolName,
            input: part.input,
            ...(part.dynamic && part.invalid
              ? { invalid: part.error instanceof Error ? part.error.message : 'The arguments are not valid.' }
              : {}),
          });
          break;
        case 'error':
          if (ToolChoiceViolationError.isInstance(part.error)) {
            const forbidden = { id: '', name: 'call_agent', input: {}, invalid: 'No tool can be called now.' };
            return { text, toolCalls: [forbidden], finish: 'tool-calls', usage };
          }
          throw part.error;
        case 'abort':
          throw signal.reason;
        case 'finish': {
          usage = usageOf(name, part.totalUsage);
          const finish = part.finishReason;
          if (finish === 'interrupted' && text === '' && toolCalls.length === 0)
            throw new Fault('model_down', { notes: { why: 'ended early' } });
          return { text, toolCalls, finish, usage };
        }
      }
    }
    return { text, toolCalls, finish: 'interrupted', usage };
  } catch (thrown) {
    throw watched.fault() ?? thrown;
  } finally {
    watched.end();
  }
}

function messageOf(turn: Turn): ModelMessage {
  switch (turn.role) {
    case 'user':
    case 'assistant':
      return { role: turn.role, content: turn.text };
    case 'calls':
      return {
        role: 'assistant',
        content: [
          ...(turn.note === '' ? [] : [{ type: 'text' as const, text: turn.note }]),
          ...turn.calls.map(({ id, tool, input }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: tool, input })),
        ],
      };
    case 'results':
      return {
        role: 'tool',
        content: turn.results.map(({ id, tool, text }) => ({
          type: 'tool-result',
          toolCallId: id,
          toolName: tool,
          output: { type: 'text', value: text },
        })),
      };
  }
}

function schemaOf(parameters: Json): JSONSchema7 {
  return isSchema(parameters) ? parameters : {};
}

function isSchema(parameters: Json): parameters is Json & JSONSchema7 {
  return typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters);
}

function withoutChoice(body: string): string {
  const request: Record<string, unknown> = JSON.parse(body);
  const { tool_choice: _, ...others } = request;
  return JSON.stringify(others);
}

interface TotalUsage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly inputTokenDetails: { readonly cacheReadTokens: number | undefined };
}

function usageOf(model: string, { inputTokens, outputTokens, inputTokenDetails }: TotalUsage): Usage {
  const cached = inputTokenDetails.cacheReadTokens;
  return {
    model,
    ...(inputTokens === undefined ? {} : { input_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { output_tokens: outputTokens }),
    ...(cached === undefined ? {} : { cached_tokens: cached }),
  };
}

/** For example vLLM: "auto" tool choice requires --enable-auto-tool-choice. */
function refusesChoice(thrown: unknown): boolean {
  return APICallError.isInstance(thrown) && thrown.statusCode === 400 && /tool.?choice/i.test(`${thrown.message} ${thrown.responseBody}`);
}

function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  if (InvalidPromptError.isInstance(thrown) || MissingToolResultsError.isInstance(thrown)) {
    return new Fault('model_refused', { notes: { why: thrown.name } });
  }
  if (!APICallError.isInstance(thrown))
    return new Fault('model_down', { notes: { why: thrown instanceof Error ? thrown.name : 'unknown' } });
  const { statusCode: status, responseHeaders } = thrown;
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429) {
    return new Fault('model_refused', { notes: { status } });
  }
  const after = secondsOf(responseHeaders?.['retry-after']);
  return new Fault('model_down', { notes: { status }, ...(after === null ? {} : { retryAfterSeconds: after }) });
}

/** Source: RFC 9110 §10.2.3 Retry-After: seconds or a date. */
function secondsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

/** Resolves early when aborted: the next attempt then finds out. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

// The planner's port on the AI SDK: one streamed chat completion of any OpenAI-compatible server. Effects: network.

import { createOpenAI } from '@ai-sdk/openai';
import {
  type JSONSchema7,
  jsonSchema,
  type ModelMessage,
  // What `streamText` is made of, without its loop of steps: its dozen streams around this one cost three times as much CPU.
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  ToolChoiceViolationError,
} from 'ai';
import { Fault } from '../fault.ts';
import {
  maxModelAttempts,
  maxModelBytes,
  maxRetryAfterMs,
  modelFirstByteMs,
  modelIdleMs,
  modelRetryBaseMs,
  modelRetryCapMs,
  modelTotalMs,
} from '../intention/limits.ts';
import type { Json, Usage } from '../intention/message.ts';
import type { Settings } from '../settings.ts';
import type { Planner } from '../world.ts';
import { refusesChoice, toFault } from './model-fault.ts';
import type { Prompt, RawDecision, RawToolCall, Turn } from './plan.ts';
import { storable } from './text.ts';
import { withoutThinking } from './thinking.ts';
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
  firstByteMs: modelFirstByteMs,
  idleMs: modelIdleMs,
  totalMs: modelTotalMs,
  maxBytes: maxModelBytes,
  maxAttempts: maxModelAttempts,
  backoffBaseMs: modelRetryBaseMs,
  backoffCapMs: modelRetryCapMs,
  maxRetryAfterSeconds: maxRetryAfterMs / 1_000,
};

/** Some servers know no `tool_choice`; then what it says is said by what else is sent. */
type Choice = 'said' | 'unsaid';

/**
 * A decision is asked for again after a network error, a timeout, 408, 425, 429, 5xx or an empty stream, as long as
 * none of its text was given to `onText`. Rejects as the port says.
 */
export function createPlanner(model: Settings['model'], options: Partial<PlannerLimits> = {}): Planner {
  const limits = { ...defaults, ...options };
  return {
    async decide(prompt, onText, signal) {
      const slow = new AbortController();
      // Not AbortSignal.timeout: a timer that outlives the decision keeps a Durable Object in memory.
      const timer = setTimeout(
        () => slow.abort(new Fault('model_down', { notes: { why: 'too slow', totalMs: limits.totalMs } })),
        limits.totalMs,
      );
      try {
        return await insist(model, prompt, limits, onText, AbortSignal.any([signal, slow.signal]));
      } catch (thrown) {
        throw signal.aborted ? new Fault('aborted') : thrown;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Up to `maxAttempts` attempts, and one more without a tool choice. Throws the last one's Fault. */
async function insist(
  model: Settings['model'],
  prompt: Prompt,
  limits: PlannerLimits,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<RawDecision> {
  let said = false;
  let choice: Choice = 'said';
  let attempt = 1;
  const say = (text: string) => {
    said = true;
    onText(text);
  };
  for (;;) {
    try {
      return await ask(model, prompt, choice, limits, say, signal);
    } catch (thrown) {
      if (choice === 'said' && refusesChoice(thrown)) {
        choice = 'unsaid';
        continue;
      }
      const fault = toFault(thrown);
      const afterSeconds = fault.retryAfterSeconds ?? 0;
      const last = attempt >= limits.maxAttempts || afterSeconds > limits.maxRetryAfterSeconds;
      if (!fault.retry || said || signal.aborted || last) throw fault;
      const jitterMs = Math.random() * Math.min(limits.backoffCapMs, limits.backoffBaseMs * 2 ** (attempt - 1));
      await pause(Math.max(jitterMs, afterSeconds * 1_000), signal);
      attempt += 1;
    }
  }
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
  const thinking = withoutThinking();
  const say = (piece: string) => {
    text += piece;
    if (piece !== '') onText(piece);
  };
  const toolCalls: RawToolCall[] = [];
  let usage: Usage = { model: name };
  let finish: RawDecision['finish'] = 'interrupted';
  try {
    const { stream } = await streamLanguageModelCall({
      model: provider.chat(name),
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
      abortSignal: signal,
    });
    for await (const part of stream) {
      switch (part.type) {
        case 'text-delta':
          say(thinking.take(part.text));
          break;
        case 'tool-call':
          toolCalls.push({
            id: storable(part.toolCallId),
            name: storable(part.toolName),
            input: part.input,
            ...(part.dynamic && part.invalid
              ? { invalid: part.error instanceof Error ? part.error.message : 'The arguments are not valid.' }
              : {}),
          });
          break;
        case 'error':
          if (ToolChoiceViolationError.isInstance(part.error)) {
            const forbidden = { id: '', name: 'call_agent', input: {}, invalid: 'No tool can be called now.' };
            return { text: storable(text), toolCalls: [forbidden], finish: 'tool-calls', usage };
          }
          throw part.error;
        case 'model-call-end':
          finish = part.finishReason;
          usage = usageOf(name, part.usage);
          break;
      }
    }
    say(thinking.rest());
    if (finish === 'interrupted' && text === '' && toolCalls.length === 0) throw new Fault('model_down', { notes: { why: 'ended early' } });
    return { text: storable(text), toolCalls, finish, usage };
  } catch (thrown) {
    throw watched.fault() ?? (signal.aborted ? signal.reason : thrown);
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

// A decision as an OpenAI chat completion, whole or in chunks. Pure.

import { tokensOf } from '../../plan/text.ts';
import type { Decision } from './decide.ts';
import type { CompletionRequest } from './request.ts';

export const modelName = 'stand-in';

/** Characters in one chunk of text or arguments: small, so that streaming can be seen. */
const chunkCharacters = 4;
/** A long text comes in larger chunks: nobody waits for the stand-in. */
const maxChunks = 100;

interface Head {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

/** Source: OpenAI API reference, "The chat completion object". */
export function completion(decision: Decision, request: CompletionRequest, head: Head): unknown {
  const message =
    decision.kind === 'text'
      ? { role: 'assistant', content: decision.text }
      : { role: 'assistant', content: null, tool_calls: [{ id: callId(head), type: 'function', function: functionOf(decision) }] };
  return {
    ...head,
    object: 'chat.completion',
    model: modelName,
    choices: [{ index: 0, message, finish_reason: finishReason(decision) }],
    usage: usage(decision, request),
  };
}

/** The same as chunks; usage comes in a chunk of its own, when asked for. Source: "The chat completion chunk object". */
export function* chunks(decision: Decision, request: CompletionRequest, head: Head): Generator<unknown> {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    model: modelName,
    choices: [{ index: 0, delta, finish_reason }],
  });
  if (decision.kind === 'text') {
    yield chunk({ role: 'assistant', content: '' });
    for (const content of pieces(decision.text)) yield chunk({ content });
  } else {
    const { name, arguments: json } = functionOf(decision);
    const call = { index: 0, id: callId(head), type: 'function', function: { name, arguments: '' } };
    yield chunk({ role: 'assistant', content: null, tool_calls: [call] });
    for (const piece of pieces(json)) yield chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
  }
  yield chunk({}, finishReason(decision));
  if (request.stream_options?.include_usage) {
    yield { ...head, object: 'chat.completion.chunk', model: modelName, choices: [], usage: usage(decision, request) };
  }
}

function functionOf(decision: Extract<Decision, { kind: 'call' }>) {
  return { name: decision.tool, arguments: JSON.stringify(decision.input) };
}

function callId({ id }: Head): string {
  return `call_${id.slice(-12)}`;
}

function finishReason({ kind }: Decision): 'stop' | 'tool_calls' {
  return kind === 'text' ? 'stop' : 'tool_calls';
}

/** Whole characters, never half of one. */
function* pieces(text: string): Generator<string> {
  const characters = [...text];
  const size = Math.max(chunkCharacters, Math.ceil(characters.length / maxChunks));
  for (let at = 0; at < characters.length; at += size) yield characters.slice(at, at + size).join('');
}

/** Counted roughly: there is no tokenizer here. */
function usage(decision: Decision, request: CompletionRequest) {
  const prompt_tokens = request.messages.reduce((sum, { content }) => sum + tokensOf(content), 0);
  const completion_tokens = tokensOf(decision.kind === 'text' ? decision.text : JSON.stringify(decision.input));
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

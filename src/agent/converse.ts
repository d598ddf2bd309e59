// One JSON-RPC request to an agent of any version, and its answer as the SDK takes it. Effects: by the given function.

import type { AgentInterface } from './card.ts';
import { type Asked, errorCode, parseJson, readAsked, readEnvelope, unknownMethod } from './envelope.ts';
import { eventReader, mendEvents } from './event-stream.ts';
import { firstRequest } from './first-version.ts';
import { isFields } from './old-wire.ts';

type Post = (body: string) => Promise<Response>;

/**
 * `body` is the SDK's, which speaks v0.3 to whoever is older. Cards of v0.1 and v0.2 look much alike, so that an agent that
 * does not know our way of sending, and hence has done nothing, is asked once more in the other. Rejects as `post` does.
 */
export async function converse(version: AgentInterface['version'], body: string, post: Post): Promise<Response> {
  const first = version === '1.0' ? null : firstRequest(body);
  const forms = version === '0.1' ? [first ?? body, body] : [body, first ?? body];
  const [form = body, other = body] = forms;
  const answer = await ask(version, form, post);
  if (!answer.strange || first === null) return answer.response;
  const second = await ask(version, other, post);
  return second.strange ? answer.response : second.response;
}

interface Answer {
  readonly response: Response;
  /** The agent does not know the method. */
  readonly strange: boolean;
}

async function ask(version: AgentInterface['version'], body: string, post: Post): Promise<Answer> {
  const asked = readAsked(body, version);
  const response = await post(body);
  if (asked === null || !response.body) return { response, strange: false };
  const { body: source, start } = await peek(response.body, isEventStream(response));
  if (isEventStream(response) || /^(data|event|id|retry)?:/.test(start)) {
    const events = mendEvents(source, (data) => mendEvent(data, asked));
    const streamed = answerOf(response, events, 'text/event-stream');
    return { response: asked.streams ? streamed : await lastOf(streamed), strange: false };
  }
  return readWhole(answerOf(response, source, response.headers.get('content-type') ?? ''), asked);
}

/** An answer in one piece; of a stream that was asked for, its one event. */
async function readWhole(response: Response, asked: Asked): Promise<Answer> {
  const text = await response.text();
  const json = parseJson(text);
  if (json === undefined) return { response: answerOf(response, text, response.headers.get('content-type') ?? ''), strange: false };
  const envelope = readEnvelope(json, asked);
  const code = errorCode(envelope);
  const written = JSON.stringify(envelope);
  const isEvent = asked.streams && code === null && isFields(envelope) && 'result' in envelope;
  return {
    response: isEvent ? answerOf(response, `data: ${written}\n\n`, 'text/event-stream') : answerOf(response, written, 'application/json'),
    strange: code === unknownMethod,
  };
}

/** Null for what is no answer at all: `[DONE]`, a heartbeat. What only begins like JSON is an error of the agent. */
function mendEvent(data: string, asked: Asked): string | null {
  const json = parseJson(data);
  if (json === undefined) return data.startsWith('{') ? data.replaceAll('\n', ' ') : null;
  const envelope = readEnvelope(json, asked);
  return isFields(envelope) && ('result' in envelope || 'error' in envelope) ? JSON.stringify(envelope) : null;
}

/** An agent that streams although it was not asked to: the last event tells how it ended. */
async function lastOf(response: Response): Promise<Response> {
  const events = eventReader().read(await response.text(), true);
  return answerOf(response, events.at(-1)?.data ?? '', 'application/json');
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

function answerOf(response: Response, body: ReadableStream<Uint8Array> | string, type: string): Response {
  const headers = new Headers(response.headers);
  headers.set('content-type', type);
  return new Response(body, { status: response.status, headers });
}

/** How the body begins, and the whole body: the type that an agent declares is sometimes wrong. `known`: it need not be looked at. */
async function peek(
  body: ReadableStream<Uint8Array>,
  known: boolean,
): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly start: string }> {
  if (known) return { body, start: '' };
  const reader = body.getReader();
  const first = await reader.read();
  let held = first.value;
  const whole = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = held ? { done: false, value: held } : await reader.read();
        held = undefined;
        return done ? controller.close() : controller.enqueue(value ?? new Uint8Array());
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { body: whole, start: new TextDecoder().decode(first.value?.subarray(0, 64)).replace(/^[\p{Cc}\ufeff\s]+/u, '') };
}

// One question to the configured model at start-up, so that a wrong key is seen before a user asks. Effects: HTTP.

import * as z from 'zod';
import type { Settings } from '../settings.ts';
import { cappedText } from './capped-text.ts';
import { parseJson } from './json.ts';

/** A model that takes longer for one line is too slow to plan with. */
const timeoutMs = 20_000;
/** One tool call takes a kilobyte; a web page in its place need not be read to its end. */
const maxBytes = 256 * 1024;

export type ModelState =
  | { readonly kind: 'ready' | 'key_refused' | 'unknown' | 'no_tools' | 'silent' | 'unreachable' | 'not_compatible' | 'overloaded' }
  | { readonly kind: 'refused'; readonly status: number };

const request = {
  messages: [{ role: 'user', content: 'What is the weather in Shanghai? Use the tool.' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'weather',
        description: 'Tells the weather in a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ],
  tool_choice: 'auto',
} as const;

const completion = z.object({
  choices: z.array(z.object({ message: z.object({ tool_calls: z.array(z.unknown()).nullish() }) })).min(1),
});

/** Whether the model can plan: is it there, does it take the key, does it call a tool when asked to. Never rejects. */
export async function checkModel(model: Settings['model'], stopping: AbortSignal): Promise<ModelState> {
  try {
    const response = await fetch(`${model.baseUrl.replace(/\/$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${model.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: model.name, ...request }),
      signal: AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]),
    });
    return judge(response.status, await cappedText(response, maxBytes), model.name);
  } catch (thrown) {
    return { kind: thrown instanceof Error && thrown.name === 'TimeoutError' ? 'silent' : 'unreachable' };
  }
}

function judge(status: number, body: string, model: string): ModelState {
  if (status === 401 || status === 403) return { kind: 'key_refused' };
  if (status === 429) return { kind: 'overloaded' };
  if (status === 400 && /tool|function/i.test(body.replaceAll(model, ''))) return { kind: 'no_tools' };
  if (status === 404 || status === 400) return { kind: 'unknown' };
  if (status !== 200) return { kind: 'refused', status };
  const parsed = completion.safeParse(parseJson(body));
  if (!parsed.success) return { kind: 'not_compatible' };
  return { kind: parsed.data.choices.some(({ message }) => message.tool_calls?.length) ? 'ready' : 'no_tools' };
}

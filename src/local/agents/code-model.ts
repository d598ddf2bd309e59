// Lets a language model write files, each handed on as soon as it is whole. Effects: an OpenAI-compatible model.

import { createOpenAI } from '@ai-sdk/openai';
import { streamText } from 'ai';
import type { WrittenFile } from './agent.ts';
import { written } from './templates.ts';

export interface CodeModel {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly name: string;
}

/** A page of code takes a model well under a minute; the rest is for slow ones. */
const totalMs = 120_000;
/** A model that runs wild is stopped here. */
const maxFiles = 20;

const instructions = `You write small, complete programs. Answer with files alone, each in exactly this form:
File: <name with extension>
\`\`\`<language>
<content>
\`\`\``;

const block = /^File:[ \t]*(\S[^\n]*)\n+```[^\n]*\n([\s\S]*?)\n?^```[ \t]*$/gmu;

/** Throws what the model's server or the network throws, or an Error if no file came. */
export async function* writeFiles(model: CodeModel, question: string, signal: AbortSignal): AsyncGenerator<WrittenFile> {
  const provider = createOpenAI({ apiKey: model.apiKey, baseURL: model.baseUrl });
  const { stream } = streamText({
    model: provider.chat(model.name),
    instructions,
    prompt: question,
    maxRetries: 1,
    timeout: { totalMs },
    abortSignal: signal,
    onError: () => {},
  });
  let text = '';
  let count = 0;
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new Error('the model did not finish in time');
    if (part.type === 'finish') text += '\n';
    else if (part.type === 'text-delta') text += part.text;
    else continue;
    const whole = part.type === 'finish' ? text : text.slice(0, text.lastIndexOf('\n') + 1);
    const found = [...whole.matchAll(block)].slice(count, maxFiles);
    for (const [, name = 'file.txt', content = ''] of found) yield written(name.replaceAll('`', '').trim(), `${content}\n`);
    count += found.length;
  }
  if (count === 0) throw new Error('the model wrote no file');
}

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
/** UTF-16 units of one answer: a model that runs wild is stopped here. */
const maxLength = 500_000;

const instructions = `You write small, complete programs. Answer with files alone, each in exactly this form:
File: <name with extension>
\`\`\`<language>
<content>
\`\`\``;

/** With the line break behind the closing fence: what stands at the end may go on. */
const block = /^File:[ \t]*(\S[^\n]*)\n+```[^\n]*\n([\s\S]*?)\n?^```[ \t]*\n/mu;

/** Throws what the model's server or the network throws, or an Error if the answer broke off or held no file. */
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
  let rest = '';
  let length = 0;
  let count = 0;
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new Error('the model did not finish in time');
    if (part.type === 'finish' && part.finishReason !== 'stop') throw new Error(`the model broke off: ${part.finishReason}`);
    if (part.type !== 'finish' && part.type !== 'text-delta') continue;
    const added = part.type === 'finish' ? '\n' : part.text;
    rest += added;
    length += added.length;
    if (length > maxLength) throw new Error('the model wrote too much');
    for (let found = block.exec(rest); found; found = block.exec(rest)) {
      const [whole, name = '', content = ''] = found;
      rest = rest.slice(found.index + whole.length);
      count += 1;
      yield written(name.replaceAll('`', '').trim(), `${content}\n`);
    }
  }
  if (count === 0) throw new Error('the model wrote no file');
}

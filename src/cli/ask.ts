// `npm run ask`: one question from a terminal, its steps and its answer. Effects: HTTP, standard output and error, the exit code.

import { parseArgs, styleText } from 'node:util';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { cappedText } from '../local/capped-text.ts';
import { parseJson } from '../local/json.ts';
import { languageOf } from '../local/language.ts';
import { plain, readEvent } from './event.ts';
import { sentences } from './sentences.ts';
import { createView, type Told, type View } from './view.ts';

const exitCodes = { answered: 0, failed: 1, usage: 2, asked: 3 } as const;

const standardUrl = 'http://127.0.0.1:8787';
/** Four heartbeats of the service. */
const silenceTimeoutMs = 60_000;
/** A problem is a few lines of JSON. */
const maxProblemBytes = 16 * 1024;

const say = sentences[languageOf(process.env)];

interface Options {
  readonly question: string;
  readonly conversation: string | undefined;
  readonly url: string;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(say.usage);
    return exitCodes.answered;
  }
  if (typeof options === 'string') {
    console.error(options);
    return exitCodes.usage;
  }
  const silent = new AbortController();
  const silence = setTimeout(() => silent.abort(), silenceTimeoutMs);
  try {
    const response = await post(options, silent.signal).catch(() => null);
    if (response === null) return fail(say.unreachable(options.url));
    if (!response.ok || response.body === null) return fail(problem(response.status, await cappedText(response, maxProblemBytes)));
    const view = createView(options.url);
    const parser = createParser({ onEvent: (message) => readAndTell(view, message) });
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      silence.refresh();
      parser.feed(decoder.decode(chunk, { stream: true }));
    }
    return conclude(view, options);
  } catch {
    return fail(say.broken);
  } finally {
    clearTimeout(silence);
  }
}

/** A sentence when the usage is wrong. */
function readOptions(args: readonly string[]): Options | 'help' | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        conversation: { type: 'string' },
        url: { type: 'string', default: standardUrl },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const question = positionals.join(' ').trim();
    if (question === '' || !URL.canParse(values.url)) return say.usage;
    return { question, conversation: values.conversation, url: values.url.replace(/\/$/, '') };
  } catch (thrown) {
    return `${thrown instanceof Error ? thrown.message : thrown}\n\n${say.usage}`;
  }
}

function post({ question, conversation, url }: Options, signal: AbortSignal): Promise<Response> {
  const { A2A_CHAT_TOKEN: token } = process.env;
  const path = conversation === undefined ? '/v1/conversations' : `/v1/conversations/${encodeURIComponent(conversation)}/messages`;
  return fetch(url + path, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ content: question }),
    signal,
  });
}

function readAndTell(view: View, message: Parameters<typeof readEvent>[0]): void {
  const event = readEvent(message);
  if (event) for (const told of view.show(event)) tell(told);
}

/** Colours only on a terminal, and never with NO_COLOR. */
const styled = (style: 'dim' | 'cyan' | 'red' | 'bold', text: string): string => styleText(style, text, { stream: process.stderr });

function tell(told: Told): void {
  switch (told.kind) {
    case 'answer':
      process.stdout.write(told.text);
      break;
    case 'step':
      console.error(styled('cyan', told.line));
      break;
    case 'agent':
      console.error(styled('dim', told.line));
      break;
    case 'trouble':
      console.error(styled('red', told.line));
      break;
  }
}

function conclude(view: View, { url }: Options): number {
  const status = view.status();
  switch (status) {
    case 'answered':
      return exitCodes.answered;
    case 'failed':
    case 'canceled':
    case 'expired':
      return exitCodes.failed;
    case 'input_required':
    case 'auth_required': {
      for (const { agent, text } of view.questions()) console.error(styled('bold', say.asks(agent, text)));
      const where = url === standardUrl ? '' : ` --url ${url}`;
      console.error(say.answerWith(`npm run ask -- --conversation ${view.conversationId()}${where} "${say.yourAnswer}"`));
      return exitCodes.asked;
    }
    case 'queued':
    case 'planning':
    case 'calling':
    case null:
      return fail(say.broken);
  }
}

function fail(sentence: string): number {
  console.error(styled('red', sentence));
  return exitCodes.failed;
}

const problemSchema = z.object({
  title: z.string(),
  code: z.string(),
  detail: z.string().optional(),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
});

/** One line. Source: RFC 9457, and `Problem`. */
function problem(status: number, body: string): string {
  const parsed = problemSchema.safeParse(parseJson(body));
  if (!parsed.success) return `HTTP ${status}`;
  const { title, code, detail, errors = [] } = parsed.data;
  const details = [...(detail ? [detail] : []), ...errors.map((error) => `${error.pointer} ${error.detail}`)];
  return plain(`${title}${details.length > 0 ? `: ${details.join('; ')}` : ''} (${code})`);
}

// Whoever read the answer has seen enough.
process.stdout.on('error', () => process.exit(exitCodes.failed));
process.exitCode = await main();

// `POST /v1/chat`, the original service's wire: whole transcripts, byte for byte but for the ids.

import { beforeEach, describe, expect, it } from 'vitest';
import { refuses } from '../support/model-server.ts';
import { useTown } from '../support/town.ts';

const town = useTown({ agents: ['weather', 'people', 'flaky'] });

const unknownId = '0198a000-0000-7000-8000-000000000000';
const ids = /"start", "conversation_id": "([^"]*)", "intention_id": "([^"]*)"/;

interface Transcript {
  /** With C and I for the ids of `start`. */
  readonly text: string;
  readonly conversation: string;
  readonly intention: string;
}

async function chat(body: unknown): Promise<Transcript> {
  const response = await town().client.post('/v1/chat', body);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const raw = await response.text();
  const [, conversation = '', intention = ''] = ids.exec(raw) ?? [];
  return { text: raw.replace(ids, '"start", "conversation_id": "C", "intention_id": "I"'), conversation, intention };
}

const lines = (...frames: readonly string[]): string => frames.map((frame) => `data: ${frame}\n\n`).join('');
const start = '{"event": "start", "conversation_id": "C", "intention_id": "I"}';
const end = '{"event": "end"}';
const asks = (query: string) => `{"event": "header", "name": "plan", "chunk": "${query}"}`;
const says = (name: string, text: string) => [
  `{"event": "message", "name": "${name}", "chunk": "${text}"}`,
  `{"event": "agent_end", "name": "${name}"}`,
];
const answers = (text: string) => [`{"event": "answer", "chunk": "${text}"}`, '{"event": "answer_end"}'];

const caoCao = '曹操是东汉末年的政治家、军事家和诗人，三国中曹魏政权的奠基人。';

describe('a transcript', () => {
  it('of small talk has no agent in it', async () => {
    const { text } = await chat({ query: '谢谢' });
    expect(text).toBe(lines(start, ...answers('不客气。'), end));
  });

  it('tells one agent', async () => {
    const { text } = await chat({ query: '上海天气如何' });
    expect(text).toBe(lines(start, asks('上海天气如何'), ...says('weather', '上海天气很热'), ...answers('上海天气很热'), end));
  });

  it('tells two agents in turn', async () => {
    const { text } = await chat({ query: '上海天气如何，然后曹操是谁' });
    expect(text).toBe(
      lines(
        start,
        asks('上海天气如何'),
        ...says('weather', '上海天气很热'),
        asks('曹操是谁'),
        ...says('people', caoCao),
        ...answers(`weather：上海天气很热\\n\\npeople：${caoCao}`),
        end,
      ),
    );
  });

  it('ends with the question of an agent, and a second request answers it', async () => {
    const first = await chat({ query: '天气如何' });
    const question = '{"event": "agent_input_required", "name": "weather", "require_input": "您问到哪里的天气"}';
    expect(first.text).toBe(lines(start, asks('天气如何'), question, end));
    const second = await chat({ query: '上海', conversation_id: first.conversation });
    expect(second.text).toBe(lines(start, asks('上海天气如何'), ...says('weather', '上海天气很热'), ...answers('上海天气很热'), end));
    expect([second.conversation, second.intention]).toEqual([first.conversation, first.intention]);
  });

  it('of a change of subject begins with the intention that the message moved to', async () => {
    const first = await chat({ query: '天气如何' });
    const second = await chat({ query: '曹操是谁', conversation_id: first.conversation });
    expect(second.text).toBe(lines(start, asks('曹操是谁'), ...says('people', caoCao), ...answers(caoCao), end));
    expect(second.conversation).toBe(first.conversation);
    expect(second.intention).not.toBe(first.intention);
    const third = await chat({ query: '上海', conversation_id: first.conversation });
    expect(third.text).toBe(lines(start, asks('上海天气如何'), ...says('weather', '上海天气很热'), ...answers('上海天气很热'), end));
    expect(third.intention).toBe(first.intention);
  });

  it('names an agent that failed', async () => {
    const { text } = await chat({ query: 'flaky fail' });
    const answer = 'flaky could not do it: failed, as you asked\\nSo there is no answer to \\"flaky fail\\".';
    expect(text).toBe(lines(start, asks('flaky fail'), '{"event": "agent_error", "name": "flaky"}', ...answers(answer), end));
  });
});

describe('without a model', () => {
  const down = 'The language model cannot be reached right now. Please try again later.';

  it('that answers, an error comes before the end', async () => {
    town().model.follow(() => refuses(500));
    const { text } = await chat({ query: 'how is the weather' });
    expect(text).toBe(lines(start, `{"event": "error", "error": "${down}"}`, end));
  });

  it('that hangs up, the error is the same, in the language of the question', async () => {
    town().model.follow(() => ({ status: 200, writes: ['destroy'] }));
    const { text } = await chat({ query: '天气如何' });
    expect(text).toBe(lines(start, '{"event": "error", "error": "暂时无法连接语言模型，请稍后再试。"}', end));
  });

  it('that takes our key, the error says so', async () => {
    town().model.follow(() => refuses(401));
    const { text } = await chat({ query: 'how is the weather' });
    const refused = 'The language model refused the request. Whoever runs this service should check the model key and name.';
    expect(text).toBe(lines(start, `{"event": "error", "error": "${refused}"}`, end));
  });
});

describe('a conversation_id', () => {
  it.each([
    ['unknown', unknownId],
    ['malformed', 'my conversation'],
    ['empty', ''],
    ['null', null],
  ])('that is %s begins a new conversation', async (_, given) => {
    const { text, conversation } = await chat({ query: '谢谢', conversation_id: given });
    expect(text).toBe(lines(start, ...answers('不客气。'), end));
    expect(conversation).not.toBe(given);
    expect(await town().client.rows(conversation)).toHaveLength(2);
  });

  it('that is known goes on', async () => {
    const first = await chat({ query: '谢谢' });
    const second = await chat({ query: '再见', conversation_id: first.conversation.toUpperCase() });
    expect(second.conversation).toBe(first.conversation);
    expect(second.intention).not.toBe(first.intention);
    expect(await town().client.rows(first.conversation)).toHaveLength(4);
  });
});

describe('every request', () => {
  let all: string;
  beforeEach(async () => {
    all = (await chat({ query: '上海天气如何', user: 'u', stream: true, metadata: { deep: [1] } })).text;
  });

  it('may hold fields that we do not know', () => {
    expect(all).toContain('上海天气很热');
  });

  it('gets frames without null fields, the end last and once', () => {
    expect(all).not.toContain('null');
    expect(all.split(lines(end))).toHaveLength(2);
    expect(all.endsWith(lines(end))).toBe(true);
  });
});

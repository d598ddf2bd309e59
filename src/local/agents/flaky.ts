// The agent that fails on demand, in the ways that agents and networks fail. Effects: time, spoilt HTTP answers.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, isChinese } from './agent.ts';

/** After the first words are out, before the last are. */
const cutAfterMs = 200;
const finishAfterMs = 600;

type Way = 'fail' | 'reject' | 'hang' | 'rubbish' | '500' | 'cut';

const ways: readonly (readonly [way: Way, words: RegExp])[] = [
  ['500', /\b500\b/u],
  ['rubbish', /\b(rubbish|garbage)\b|乱码/iu],
  ['reject', /\breject(ed|ion|s)?\b|拒绝/iu],
  ['hang', /\bhang(s|ing)?\b|挂起/iu],
  ['cut', /\bcuts?\b|切断|断开/iu],
  ['fail', /\bfail(s|ed|ure|ing)?\b|失败/iu],
];

export const flaky: Agent = {
  card: {
    name: 'flaky',
    description: 'Fails on demand, for trying out how failures look. 按要求出错，用来观察失败时的样子。',
    streaming: true,
    pushNotifications: false,
    skills: [
      {
        id: 'fail',
        name: 'Fail on demand 按要求失败',
        description:
          'Fails, rejects, hangs, sends rubbish, answers 500 or cuts the stream, whichever word is said. 失败、拒绝、挂起、发乱码、切断。',
        tags: ['fail', 'reject', 'hang', 'rubbish', 'flaky', '失败', '拒绝', '挂起', '乱码'],
        examples: ['flaky fail', 'flaky reject', 'flaky hang', '让 flaky 失败', '让 flaky 拒绝'],
      },
    ],
  },
  async *answer({ text, signal }) {
    const chinese = isChinese(text);
    switch (wayIn(text)) {
      case 'fail':
        yield { kind: 'failed', text: chinese ? '按您的要求失败了' : 'failed, as you asked' };
        return;
      case 'reject':
        yield { kind: 'rejected', text: chinese ? '按您的要求拒绝了' : 'rejected, as you asked' };
        return;
      case 'hang':
        await once(signal, 'abort');
        return;
      case 'cut':
        // The task outlives the connection: who looks it up afterwards finds it done.
        yield { kind: 'working', text: chinese ? '连接马上会断' : 'the connection is about to be cut' };
        await pause(finishAfterMs, undefined, { signal });
        yield { kind: 'artifact', name: 'rest', text: chinese ? '断开之后完成了' : 'done after the cut' };
        return;
      case 'rubbish':
      case '500':
      case null:
        yield { kind: 'artifact', name: 'answer', text: chinese ? '这次没问题' : 'ok this time' };
    }
  },
  spoil(text, response) {
    const way = wayIn(text);
    if (way === 'rubbish') response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>\u0000\ufffd not A2A </body></html>');
    if (way === '500') response.writeHead(500, { 'content-type': 'text/plain' }).end('out of order');
    if (way === 'cut') setTimeout(() => response.destroy(), cutAfterMs);
    return way === 'rubbish' || way === '500';
  },
};

function wayIn(text: string): Way | null {
  return ways.find(([, words]) => words.test(text))?.[0] ?? null;
}

// The agent that takes its time: works for as many seconds as it is told, then tells by push. Effects: time.

import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, isChinese } from './agent.ts';

const defaultSeconds = 5;
/** An hour: enough to try out a closed laptop. */
const maxSeconds = 3600;

export const slow: Agent = {
  card: {
    name: 'slow',
    description: 'Works slowly: waits for the given number of seconds, then reports. 慢速任务：等待指定的秒数后再报告。',
    streaming: false,
    pushNotifications: true,
    skills: [
      {
        id: 'wait',
        name: 'Wait 等待',
        description: 'A slow job that takes some seconds or minutes. 需要等几秒钟或几分钟的慢任务。',
        tags: ['slow', 'wait', 'seconds', '慢', '等待', '秒'],
        examples: ['wait 5 seconds', 'Run a slow job for 30 seconds', '等10秒', '运行一个20秒的慢任务'],
      },
    ],
  },
  async *answer({ text, signal }) {
    const seconds = secondsIn(text);
    yield { kind: 'working' };
    await pause(seconds * 1000, undefined, { signal });
    yield { kind: 'artifact', name: 'report', text: isChinese(text) ? `${seconds}秒后完成` : `done after ${seconds} s` };
    yield { kind: 'completed' };
  },
};

function secondsIn(text: string): number {
  const found = /(\d+(?:\.\d+)?)\s*(s|secs?|seconds?|秒|m|mins?|minutes?|分钟?)(?![a-z])/iu.exec(text);
  if (!found) return defaultSeconds;
  const unit = /^(?:m|分)/iu.test(found[2] ?? '') ? 60 : 1;
  return Math.min(Number(found[1]) * unit, maxSeconds);
}

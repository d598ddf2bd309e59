// The agent that says "Hello World", whatever it hears. Pure.

import type { Agent } from './agent.ts';

export const helloWorld: Agent = {
  card: {
    name: 'helloworld',
    description:
      'Replies with the words "Hello World" to whatever it is told: for checking a connection. 只会回复 Hello World，用来测试连通。',
    streaming: true,
    pushNotifications: false,
    skills: [
      {
        id: 'hello-world',
        name: 'Say hello world 说 Hello World',
        description: 'Replies "Hello World". 回复 Hello World。',
        tags: ['hello world', 'test', '测试'],
        examples: ['say hello world', '说一声 hello world'],
      },
    ],
  },
  async *answer() {
    yield { kind: 'reply', text: 'Hello World' };
  },
};

// What the stand-in says in its own words, in the language of the question. Pure.

import type { Language } from '../../plan/language.ts';
import type { KnownAgent } from './match.ts';
import { hasHan } from './words.ts';

/** How many agents a list names; the rest is counted. */
const maxListed = 12;

/** Each agent with a question that it can be asked, in the asker's language if its card has one. */
export function abilities(agents: readonly KnownAgent[], language: Language): string {
  const lines = agents.slice(0, maxListed).map(({ name, examples, description }) => {
    const example = examples.find((candidate) => hasHan(candidate) === (language === 'zh')) ?? examples[0];
    if (example === undefined) return `- ${name}: ${description.split('\n')[0]}`;
    return language === 'zh' ? `- ${name}：“${example}”` : `- ${name}: "${example}"`;
  });
  const more = agents.length - lines.length;
  return [...lines, ...(more > 0 ? [language === 'zh' ? `- 还有 ${more} 个` : `- and ${more} more`] : [])].join('\n');
}

export const sentences = {
  en: {
    hello: 'Hello! You can ask these agents, for example:',
    welcome: 'You are welcome.',
    left: 'All right, I leave it at that.',
    abilities: 'These agents can help, for example with:',
    noAgents: 'No agent can be reached right now.',
    nobodyFits: 'None of the agents fits this question. They can help, for example, with:',
    cannotRework: (last: string | null) =>
      last === null
        ? 'The stand-in model cannot translate, shorten or compare, and there is no earlier answer.'
        : `The stand-in model cannot translate, shorten or compare. The last answer was:\n\n${last}`,
    block: (agent: string, text: string) => `${agent}: ${text}`,
    failed: (agent: string, text: string) => `${agent} could not do it: ${text}`,
    asking: (agent: string, text: string) => `${agent} still waits for an answer: ${text}`,
    unsure: (agent: string) => `Nobody knows whether ${agent} has done it.`,
    down: (agent: string, until: string) => `${agent} cannot be reached; it is left alone until ${until}.`,
    silent: (agent: string) => `${agent} has not answered.`,
    missing: (query: string) => `So there is no answer to "${query}".`,
    fits: 'The words of its card fit the question.',
    answered: 'The user answered its question.',
    instead: 'Another agent failed, and this one fits too.',
  },
  zh: {
    hello: '你好！您可以向这些智能体提问，例如：',
    welcome: '不客气。',
    left: '好的，那就先不问了。',
    abilities: '这些智能体可以帮忙，例如：',
    noAgents: '现在没有可用的智能体。',
    nobodyFits: '没有智能体适合回答这个问题。它们可以帮忙的例如：',
    cannotRework: (last: string | null) =>
      last === null ? '替身模型不会翻译、缩短或比较，之前也还没有回答。' : `替身模型不会翻译、缩短或比较。上一个回答是：\n\n${last}`,
    block: (agent: string, text: string) => `${agent}：${text}`,
    failed: (agent: string, text: string) => `${agent} 没有完成：${text}`,
    asking: (agent: string, text: string) => `${agent} 还在等待回答：${text}`,
    unsure: (agent: string) => `无法得知 ${agent} 是否已经执行。`,
    down: (agent: string, until: string) => `${agent} 无法连接，${until} 之前不再调用。`,
    silent: (agent: string) => `${agent} 没有回答。`,
    missing: (query: string) => `因此“${query}”没有得到回答。`,
    fits: '问题与它的介绍相符。',
    answered: '用户回答了它的问题。',
    instead: '另一个智能体失败了，这个也相符。',
  },
} as const;

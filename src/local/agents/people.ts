// The agent that says who a person of history was, and that it does not know the others. Pure.

import { type Agent, isChinese } from './agent.ts';
import { type Figure, figures } from './figures.ts';

export const people: Agent = {
  card: {
    name: 'people',
    description: 'Says who a historical figure was. 介绍历史人物。',
    streaming: true,
    pushNotifications: false,
    skills: [
      {
        id: 'who',
        name: 'Who was 人物介绍',
        description: figures.map((figure) => `${figure.zh[0]} ${figure.en[0]}`).join(', '),
        tags: ['history', 'biography', '历史', '人物'],
        examples: ['曹操是谁', 'Who was Ada Lovelace?', '介绍一下李白'],
      },
    ],
  },
  async *answer({ text }) {
    const chinese = isChinese(text);
    const found = figures.filter((figure) => isNamed(figure, text));
    const words = found.map((figure) => figure.said[chinese ? 'zh' : 'en']).join(chinese ? '' : ' ');
    yield { kind: 'artifact', name: 'biography', text: words || unknown(text, chinese) };
    yield { kind: 'completed' };
  },
};

function isNamed(figure: Figure, text: string): boolean {
  return figure.zh.some((name) => text.includes(name)) || figure.en.some((name) => new RegExp(`\\b${name}\\b`, 'iu').test(text));
}

function unknown(text: string, chinese: boolean): string {
  const filler = chinese
    ? /请问|是谁|是什么人|是哪位|谁是|介绍一下|介绍|告诉我|一下|关于|[？?。！!，,]/gu
    : /\b(who|who's|was|is|were|are|tell|me|about|please|the|introduce)\b|[?!.,]/giu;
  const name = text.replace(filler, ' ').replace(/\s+/gu, ' ').trim();
  // A whole story is no name to be repeated.
  if (!name || name.length > 40) return chinese ? '我不知道您问的是谁。' : "I don't know whom you mean.";
  return chinese ? `我不知道${name}是谁。` : `I don't know who ${name} is.`;
}

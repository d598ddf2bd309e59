// Which of our two languages a text is in, and the sentences that the plan says itself. Pure.

export type Language = 'en' | 'zh';

/** A Han character carries about as much as this many letters. */
const lettersPerHan = 4;

/** Chinese when Han characters carry most of the text and no Japanese kana is among them; else English. */
export function languageOf(text: string): Language {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const kana = text.match(/[\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
  const letters = text.match(/\p{Letter}/gu)?.length ?? 0;
  return han * lettersPerHan > letters - han - kana && han > 0 && kana * 8 < han ? 'zh' : 'en';
}

const sentences = {
  no_agent: ['No agent can be reached right now. Please try again later.', '暂时没有可用的智能体，请稍后再试。'],
  no_report: [
    'I could not work out how to go on with this. Please put the question in other words.',
    '我没能得出下一步该怎么做，请换一种说法再问一次。',
  ],
} as const;

/** What a user reads when the model gives nothing to report: `no_agent` and nothing was said before; `no_report` although it was asked again. */
export function sentence(kind: keyof typeof sentences, language: Language): string {
  return sentences[kind][language === 'en' ? 0 : 1];
}

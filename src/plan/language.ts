// Which of the two languages of our fixed sentences a text is in. Pure.

export type Language = 'en' | 'zh';

/** A Chinese word is about this many characters. */
const hanPerWord = 1.5;

/** Chinese when it has at least as many words in Han characters as in other scripts, and hardly a Japanese kana; else English. */
export function languageOf(text: string): Language {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const kana = text.match(/[\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
  const words = text.replace(/\p{Script=Han}/gu, ' ').match(/\p{Letter}+/gu)?.length ?? 0;
  return han > 0 && han >= words * hanPerWord && kana * 8 < han ? 'zh' : 'en';
}

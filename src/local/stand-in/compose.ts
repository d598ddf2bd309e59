// One complete sentence from a question and the answer to what was asked back, in the user's own words. Pure.

import { hasHan, wordsOf } from './words.ts';

/** Said around a name, and not part of it. */
const around =
  /^(?:我(?:现在)?[是住]?(?:在|说|指|问|想问|要)的?(?:是)?|就(?:是)?在?|在|那就|那|嗯|哦|是在|应该是)|(?:吧|的|呢|啊|呀|哦|那边|这边|这里|那里)$/gu;
const ending = /[\s?？。.!！,，]+$/u;
/** A yes or no is about the question, and no part of it. */
const yesOrNo = /^(?:是|是的|对|对的|好|好的|行|可以|要|需要|不知道|不清楚|不确定|随便|不|不是|不用|不要|不需要|没有|有|没|否)$/u;
/** Chinese characters; a longer answer is a sentence. */
const longestName = 8;

/**
 * 天气如何 and 上海 give 上海天气如何; "weather?" and "Shanghai" give "weather: Shanghai". An answer that repeats the
 * subject of the question stands alone.
 */
export function compose(question: string, answer: string): string {
  const asked = wordsOf(question);
  if ([...wordsOf(answer)].some((word) => asked.has(word))) return answer.trim();
  const query = question.trim().replace(ending, '');
  const said = answer.trim().replace(ending, '');
  if (!hasHan(question)) return `${query}: ${said}`;
  const name = said.replace(around, '');
  const isNamed = hasHan(name) || /^\p{Lu}/u.test(name);
  const isName = isNamed && [...name].length <= longestName && !yesOrNo.test(said) && !/[，,；;]/u.test(name);
  return isName ? `${name}${query}` : `${query}：${said}`;
}

// Which of our two languages a text is in.

import { expect, test } from 'vitest';
import { languageOf } from '../../../src/plan/language.ts';

test.each([
  ['天气如何', 'zh'],
  ['请用 TypeScript 写一个 hello world', 'zh'],
  ['上海', 'zh'],
  ['How is the weather?', 'en'],
  ['What does 你好 mean in the language of the people there?', 'en'],
  ['Translate 天气很热 to English', 'en'],
  ['東京の天気はどうですか', 'en'],
  ['', 'en'],
  ['42 :-)', 'en'],
])('%s is answered in %s', (text, language) => {
  expect(languageOf(text)).toBe(language);
});

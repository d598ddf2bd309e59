import { expect, test } from 'vitest';
import { parameterText } from '../../../src/local/parameter-text.ts';

test.each([
  [null, null],
  ['null', 'null'],
  ['', ''],
  [7.5, '7.5'],
  [false, 'false'],
  [{ a: [1, 'ü'] }, '{"a":[1,"ü"]}'],
  [[], '{}'],
  [[1, null, 'NULL'], '{"1",NULL,"NULL"}'],
  [['a,b', 'q"uo\\te', '', '{x}', ' line\nbreak '], '{"a,b","q\\"uo\\\\te","","{x}"," line\nbreak "}'],
  [[[1, 2], [3]], '{{"1","2"},{"3"}}'],
  [[{ a: 'b' }], '{"{\\"a\\":\\"b\\"}"}'],
])('%j becomes the text %j', (value, text) => {
  expect(parameterText(value)).toBe(text);
});

// Words of a text, Chinese and English, made comparable: English stems and pairs of Chinese characters. Pure.

/** Beyond this many UTF-16 units no more words are looked for: a long text says early what it is about. */
const maxLength = 2000;

export function hasHan(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}

/** Words that say nothing of the subject. Question words about people and reasons are not among them. */
const stopWords = new Set(
  (
    'a about all also am an and any are as at be been but by can could day did do does for from had has have hello hi how i if in into is it its ' +
    'let like me mean my no not now of on one or our please should so some that the their them then there these they thing this time to today ' +
    'tomorrow too up us was we well were what when where which will with would yes yesterday you your need want know'
  ).split(' '),
);

/** Verbs that fit any request: they support a match, and never make one. */
const lightWords = new Set(
  'ask check create find get give help look make provide read run say show start take tell use write answer reply recommend suggest 写 做 说 讲 查 看 问 推荐 告诉'
    .split(' ')
    .map(stem),
);

/** When it is, and how a question is put, is not what it is about. */
const emptyPhrases = /今天|明天|后天|昨天|今晚|现在|目前|最近|请问|为什么|什么|怎么样?|怎样|如何|多少|哪里|哪些/gu;

/** Characters that join others without saying what it is about; they part words, as spaces do. */
const functionCharacters = /[的了吗呢吧啊呀嘛是在我你您他她它们这那有和与及或请帮给把被让要想能会可以不也都就还很个些一来去到对从为]/u;

/** Runs of Chinese characters, and words of other scripts and digits. */
const runs = /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}])+(?:'\p{L}+)?/gu;

/** Distinct words of a text: English stems in lower case, pairs of neighbouring Chinese characters, lone characters. */
export function wordsOf(text: string): ReadonlySet<string> {
  const plain = text.slice(0, maxLength).normalize('NFKC').toLowerCase().replaceAll('’', "'").replace(emptyPhrases, ' ');
  return new Set((plain.match(runs) ?? []).flatMap((run) => (hasHan(run) ? chineseWords(run) : englishWords(run))));
}

function englishWords(run: string): readonly string[] {
  const word = stem(run);
  return stopWords.has(word) || stopWords.has(run.replace(/'.*/u, '')) ? [] : [word];
}

function chineseWords(run: string): readonly string[] {
  return run.split(functionCharacters).flatMap((piece) => {
    const characters = [...piece];
    return characters.length === 1 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`);
  });
}

/** Whether a word alone may carry a match. */
export function isLight(word: string): boolean {
  return lightWords.has(word);
}

/** Rough on purpose: both sides of a comparison are cut alike. */
function stem(word: string): string {
  const bare = word.replace(/'.*/u, '');
  if (bare.length < 5) return bare.length === 4 && /[^s]s$/u.test(bare) ? bare.slice(0, -1) : bare;
  return bare
    .replace(/(?:ies|y)$/u, 'i')
    .replace(/(?:ations?|ings?|ers?|ed|es|s|e)$/u, '')
    .replace(/([b-df-hj-np-tv-z])\1$/u, '$1');
}

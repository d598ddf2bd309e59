// How a text is meant: a greeting, a request, an answer to a question, work on what was said. Pure.

import { hasHan } from './words.ts';

const trimmed = (text: string) => text.trim().replace(/[\s。.!！~～,，]+$/u, '');

export function isGreeting(text: string): boolean {
  return /^(hi|hello|hey|hi there|hello there|good (morning|afternoon|evening)|你好|您好|你好呀|你好啊|嗨|哈喽|早上好|早安|下午好|晚上好|在吗|大家好)$/iu.test(
    trimmed(text),
  );
}

export function isThanks(text: string): boolean {
  return /^(thanks?|thank you( very much| so much)?|thanks a lot|bye|goodbye|谢谢|谢谢你|谢谢您|多谢|再见|拜拜)$/iu.test(trimmed(text));
}

const englishAbilities =
  /^(?:help(?: me)?|menu|what (?:can|do|could) (?:you|i|we) (?:do|ask|help)(?: (?:for|with|me|us|here|you))*|how can you help(?: me| us)?|who are you|what are you|(?:which|what) agents(?: (?:are there|do you have|can help))?|list (?:the |all |your )?agents|what(?:'s| is) your name)$/iu;
const chineseAbilities =
  /^(?:请问)?(?:(?:你们?|您|这里)(?:都|现在)?(?:能|会|可以)(?:够)?(?:为我|帮我|给我|替我)?(?:做|干|帮|回答|问)(?:些|点|我)?(?:什么|啥|哪些)(?:事|事情|问题|忙)?(?:吗|呢|啊)?|(?:你们?|您)是谁|(?:你们?|您|这里)?(?:都)?有(?:哪些|什么|啥)(?:智能体|代理|功能|用)|帮助|怎么用)$/u;

/** "What can you do?", "who are you?" and the like, and nothing besides. */
export function asksForAbilities(text: string): boolean {
  const words = trimmed(text.replace(/[?？]+\s*$/u, ''));
  return englishAbilities.test(words) || chineseAbilities.test(words);
}

/** "Translate that", "shorten it", "compare the two": work on what was said before. */
export function asksForRework(text: string): { readonly asked: boolean; readonly pointing: boolean } {
  const asked =
    /\b(translate|translation|shorten|shorter|summari[sz]e|summary|rephrase|compare|in (english|chinese))\b/iu.test(text) ||
    /翻译|缩短|简短|精简|总结|概括|改写|换个说法|比较|对比|译成|用(中文|英文|英语)/u.test(text);
  const pointing =
    /\b(that|it|this|these|those|them|the above|the (last|previous) (answer|one)|the two|both)\b/iu.test(text) ||
    /[它这那]|上面|上述|以上|刚才|前面|两个|两者|上一/u.test(text);
  return { asked, pointing };
}

const englishAsks =
  /^(?:please\s+|ok(?:ay)?,?\s+|no,?\s+|so,?\s+|and\s+|then\s+|but\s+)*(?:who|whom|whose|what|what's|whats|when|where|why|how|how's|which|(?:is|are|was|were|does|do|did|can|could|will|would|should|shall)\s+(?:you|i|we|it|he|she|they|there|this|that|the|my|your)|tell|show|give|write|make|create|plan|recommend|suggest|find|search|look|explain|describe|translate|shorten|summari[sz]e|compare|help|list|say|run|wait|draw|build|calculate|compute|introduce|check|let's|let|stop|start|try|i need|i want|i'd like|i would like)(?![\p{L}'])/iu;
const chineseAsks =
  /谁|什么|怎么|怎样|如何|哪|为何|多少|多久|多大|多远|几[个点号天岁时月年次]|星期几|礼拜几|第几|是不是|能不能|会不会|可不可以|有没有|吗[?？]?$|^(?:那么?|请|麻烦|再|先)*(?:帮我|帮忙|给我|告诉|推荐|介绍|写|讲|说说|说一|查|翻译|画|算|解释|比较|总结|计算|搜|找|列出|规划|安排|做一|运行|让|创建|生成|开发|设计|等[\d一二两三四五六七八九十])|^我[想要](?:学|买|订|找|写|做|听|吃|玩)/u;
/** Question words that are no question: "anything will do". */
const anyWillDo = /(都行|都可以|都好|无所谓|随便)$/u;

/** Whether the text asks or orders something, by its own form. */
export function isRequest(text: string): boolean {
  const words = trimmed(text);
  if (isGreeting(words) || isThanks(words) || asksForAbilities(words)) return true;
  const { asked, pointing } = asksForRework(words);
  if (asked && pointing) return true;
  const plain = words.replace(/[?？]+$/u, '').replace(/呢$/u, '');
  if (anyWillDo.test(plain)) return false;
  if (englishAsks.test(plain) || chineseAsks.test(words)) return true;
  // "London?" and "上海呢？" are hesitant answers; a longer text with a question mark asks.
  return plain !== words && /[?？]$/u.test(words) && !isBrief(plain);
}

/** Whether the text is as short as a name, a number, a date, a yes or a no. */
export function isBrief(text: string): boolean {
  const words = trimmed(text);
  return hasHan(words) ? [...words].length <= 8 : words.split(/\s+/u).length <= 4 && words.length <= 40;
}

/** Longer texts are no answers to a question of an agent (UTF-16 units). */
const longestAnswer = 160;

/** Whether the text could answer a question that an agent asked: short enough, and not a request by its form. */
export function isAnswer(text: string): boolean {
  return text.trim().length <= longestAnswer && !isRequest(text);
}

/** The user no longer wants an answer. */
export function isDismissal(text: string): boolean {
  return /^(?:never ?mind|forget (?:it|that)|cancel(?: it| that)?|stop(?: it)?|drop it|算了吧?|取消吧?|不问了|别问了|不用查了)$/iu.test(
    trimmed(text),
  );
}

/** "Leave it": what the service asked to do again is not to be done. */
export function isRefusal(text: string): boolean {
  return /^(?:no|nope|leave|skip|never mind|forget|drop|cancel|stop|don't)(?![\p{L}])|算了|^不|取消|别|放弃/iu.test(trimmed(text));
}

/** Whether the text answers "shall I try again, or leave it?". */
export function isVerdict(text: string): boolean {
  return isRefusal(text) || /\b(?:again|retry|yes|ok|please do|go ahead)\b|再|重|是的|好的|可以/iu.test(text);
}

// Cities known by name in Chinese and English, and finding a place in a sentence about the weather. Pure.

import { isChinese } from './agent.ts';

const cities: readonly (readonly [zh: string, en: string])[] = [
  ['上海', 'Shanghai'],
  ['北京', 'Beijing'],
  ['广州', 'Guangzhou'],
  ['深圳', 'Shenzhen'],
  ['杭州', 'Hangzhou'],
  ['南京', 'Nanjing'],
  ['苏州', 'Suzhou'],
  ['成都', 'Chengdu'],
  ['重庆', 'Chongqing'],
  ['武汉', 'Wuhan'],
  ['西安', "Xi'an"],
  ['天津', 'Tianjin'],
  ['青岛', 'Qingdao'],
  ['大连', 'Dalian'],
  ['厦门', 'Xiamen'],
  ['长沙', 'Changsha'],
  ['昆明', 'Kunming'],
  ['哈尔滨', 'Harbin'],
  ['沈阳', 'Shenyang'],
  ['郑州', 'Zhengzhou'],
  ['济南', 'Jinan'],
  ['合肥', 'Hefei'],
  ['福州', 'Fuzhou'],
  ['南昌', 'Nanchang'],
  ['贵阳', 'Guiyang'],
  ['兰州', 'Lanzhou'],
  ['拉萨', 'Lhasa'],
  ['乌鲁木齐', 'Urumqi'],
  ['三亚', 'Sanya'],
  ['桂林', 'Guilin'],
  ['香港', 'Hong Kong'],
  ['澳门', 'Macau'],
  ['台北', 'Taipei'],
  ['东京', 'Tokyo'],
  ['大阪', 'Osaka'],
  ['首尔', 'Seoul'],
  ['曼谷', 'Bangkok'],
  ['新加坡', 'Singapore'],
  ['吉隆坡', 'Kuala Lumpur'],
  ['雅加达', 'Jakarta'],
  ['德里', 'Delhi'],
  ['孟买', 'Mumbai'],
  ['迪拜', 'Dubai'],
  ['伊斯坦布尔', 'Istanbul'],
  ['开罗', 'Cairo'],
  ['莫斯科', 'Moscow'],
  ['伦敦', 'London'],
  ['巴黎', 'Paris'],
  ['柏林', 'Berlin'],
  ['罗马', 'Rome'],
  ['马德里', 'Madrid'],
  ['阿姆斯特丹', 'Amsterdam'],
  ['维也纳', 'Vienna'],
  ['苏黎世', 'Zurich'],
  ['雅典', 'Athens'],
  ['纽约', 'New York'],
  ['洛杉矶', 'Los Angeles'],
  ['旧金山', 'San Francisco'],
  ['芝加哥', 'Chicago'],
  ['波士顿', 'Boston'],
  ['多伦多', 'Toronto'],
  ['墨西哥城', 'Mexico City'],
  ['圣保罗', 'São Paulo'],
  ['悉尼', 'Sydney'],
  ['墨尔本', 'Melbourne'],
];

/** Longest first, so that a sentence does not lose the end of a phrase. */
const chineseFiller =
  /天气预报|天气情况|请问一下|怎么样|怎么着|如何|天气|气温|温度|预报|下雨|下雪|请问|告诉我|想知道|查一下|看一下|查询|今天|明天|后天|现在|目前|今晚|这里|那里|我在|我问|我说|我想|多少度|几度|冷不冷|热不热|什么|那边|那个|会不会|[的吗呢吧啊呀了是在会有查看问想要我你您请帮很热冷度]/gu;
const englishFiller =
  /\b(weather|forecast|temperature|rain(?:ing|y)?|snow(?:ing|y)?|sunny|hot|cold|warm|degrees?|today|tonight|tomorrow|now|right|currently|please|tell|show|give|me|what|what's|whats|how|how's|hows|is|it|be|will|the|a|an|in|at|of|for|like|about|going|to|there|i|i'm|im|mean|want|need|know|check|and|do|does|you|can|could|would|any|am|city|near|here|outside|current|report|get)\b/giu;

/** More than this is no place's name (UTF-16 units). */
const longestPlace = 20;

/**
 * The place that a sentence names, in the language of the sentence: a city from the list, else what is left of it
 * without the words of a question about the weather, if that is short. Null: it names none.
 */
export function placeIn(text: string): string | null {
  const chinese = isChinese(text);
  for (const [zh, en] of cities) {
    if (text.includes(zh)) return zh;
    if (new RegExp(`(?<![\\p{L}])${en}(?![\\p{L}])`, 'iu').test(text)) return chinese ? zh : en;
  }
  const left = text
    .replace(/[’]/gu, "'")
    .replace(/[\p{P}\p{S}]+(?<!['-])/gu, ' ')
    .replace(chinese ? chineseFiller : /$^/u, ' ')
    .replace(englishFiller, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
  return /\p{L}{2}/u.test(left) && left.length <= longestPlace && (!chinese || !left.includes(' ')) ? left : null;
}

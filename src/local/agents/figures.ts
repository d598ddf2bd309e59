// Twenty people of history, each with the names that they are asked by and a sentence or two in two languages. Pure.

export interface Figure {
  /** As the card spells them: the first of each language. */
  readonly zh: readonly [string, ...string[]];
  readonly en: readonly [string, ...string[]];
  readonly said: { readonly zh: string; readonly en: string };
}

export const figures: readonly Figure[] = [
  {
    zh: ['孔子', '孔丘'],
    en: ['Confucius'],
    said: {
      zh: '孔子是春秋时期鲁国的思想家和教育家，儒家学派的创始人。他的言行记录在《论语》中。',
      en: 'Confucius was a Chinese thinker and teacher of the Spring and Autumn period, the founder of Confucianism. His sayings are collected in the Analects.',
    },
  },
  {
    zh: ['秦始皇', '嬴政'],
    en: ['Qin Shi Huang'],
    said: {
      zh: '秦始皇嬴政于公元前221年统一六国，建立秦朝，是中国第一位皇帝。',
      en: 'Qin Shi Huang unified China in 221 BC and became its first emperor.',
    },
  },
  {
    zh: ['曹操', '曹孟德'],
    en: ['Cao Cao'],
    said: {
      zh: '曹操是东汉末年的政治家、军事家和诗人，三国中曹魏政权的奠基人。',
      en: 'Cao Cao was a statesman, warlord and poet at the end of the Eastern Han dynasty, who laid the foundation of the state of Wei.',
    },
  },
  {
    zh: ['诸葛亮', '孔明'],
    en: ['Zhuge Liang'],
    said: {
      zh: '诸葛亮是三国时期蜀汉的丞相，著名的政治家和军事家，著有《出师表》。',
      en: 'Zhuge Liang was the chancellor and strategist of the state of Shu Han in the Three Kingdoms period.',
    },
  },
  {
    zh: ['武则天', '武曌'],
    en: ['Wu Zetian'],
    said: {
      zh: '武则天是中国历史上唯一的正统女皇帝，公元690年至705年在位。',
      en: 'Wu Zetian reigned from 690 to 705 and is the only woman in Chinese history who ruled as emperor in her own right.',
    },
  },
  {
    zh: ['李白', '李太白'],
    en: ['Li Bai', 'Li Po'],
    said: {
      zh: '李白是唐代伟大的浪漫主义诗人，被后人誉为“诗仙”。',
      en: 'Li Bai was one of the greatest poets of the Tang dynasty, known as the "Immortal Poet".',
    },
  },
  {
    zh: ['杜甫', '杜子美'],
    en: ['Du Fu'],
    said: {
      zh: '杜甫是唐代伟大的现实主义诗人，被后人尊为“诗圣”。',
      en: 'Du Fu was a poet of the Tang dynasty, often called the "Sage of Poetry".',
    },
  },
  {
    zh: ['苏轼', '苏东坡'],
    en: ['Su Shi', 'Su Dongpo'],
    said: {
      zh: '苏轼号东坡居士，是北宋的文学家、书法家和画家，“唐宋八大家”之一。',
      en: 'Su Shi, also called Su Dongpo, was a writer, calligrapher, painter and official of the Northern Song dynasty.',
    },
  },
  {
    zh: ['李清照', '易安居士'],
    en: ['Li Qingzhao'],
    said: {
      zh: '李清照是宋代女词人，婉约词派的代表人物。',
      en: 'Li Qingzhao was a poet of the Song dynasty, regarded as the greatest woman poet of China.',
    },
  },
  {
    zh: ['郑和', '三宝太监'],
    en: ['Zheng He'],
    said: {
      zh: '郑和是明代航海家，1405年至1433年间七次下西洋。',
      en: 'Zheng He was an admiral of the Ming dynasty who led seven voyages to the Indian Ocean between 1405 and 1433.',
    },
  },
  {
    zh: ['亚里士多德'],
    en: ['Aristotle'],
    said: {
      zh: '亚里士多德是古希腊哲学家，柏拉图的学生，亚历山大大帝的老师。',
      en: 'Aristotle was a Greek philosopher, a student of Plato and the teacher of Alexander the Great.',
    },
  },
  {
    zh: ['达·芬奇', '达芬奇'],
    en: ['Leonardo', 'da Vinci'],
    said: {
      zh: '达·芬奇是意大利文艺复兴时期的画家、发明家和博学者，《蒙娜丽莎》的作者。',
      en: 'Leonardo da Vinci was a painter, inventor and polymath of the Italian Renaissance, who painted the Mona Lisa.',
    },
  },
  {
    zh: ['莎士比亚'],
    en: ['Shakespeare'],
    said: {
      zh: '莎士比亚是英国剧作家和诗人，著有《哈姆雷特》《罗密欧与朱丽叶》等。',
      en: 'William Shakespeare was an English playwright and poet, the author of Hamlet and Romeo and Juliet.',
    },
  },
  {
    zh: ['牛顿'],
    en: ['Newton'],
    said: {
      zh: '牛顿是英国物理学家和数学家，提出了万有引力定律和三大运动定律。',
      en: 'Isaac Newton was an English physicist and mathematician who formulated the laws of motion and of universal gravitation.',
    },
  },
  {
    zh: ['拿破仑'],
    en: ['Napoleon'],
    said: {
      zh: '拿破仑·波拿巴是法国军事家和政治家，1804年成为法兰西皇帝。',
      en: 'Napoleon Bonaparte was a French general and statesman who became Emperor of the French in 1804.',
    },
  },
  {
    zh: ['达尔文'],
    en: ['Darwin'],
    said: {
      zh: '达尔文是英国博物学家，1859年出版《物种起源》，提出了以自然选择为基础的进化论。',
      en: 'Charles Darwin was an English naturalist who set out the theory of evolution by natural selection in On the Origin of Species (1859).',
    },
  },
  {
    zh: ['洛芙莱斯', '洛夫莱斯'],
    en: ['Ada Lovelace', 'Lovelace'],
    said: {
      zh: '阿达·洛芙莱斯是英国数学家，她为巴贝奇的分析机写下的算法常被视为第一个计算机程序。',
      en: "Ada Lovelace was an English mathematician whose algorithm for Babbage's Analytical Engine is often called the first computer program.",
    },
  },
  {
    zh: ['居里夫人', '玛丽·居里'],
    en: ['Marie Curie'],
    said: {
      zh: '居里夫人是波兰裔法国科学家，因放射性研究和发现镭、钋两次获得诺贝尔奖。',
      en: 'Marie Curie was a Polish-French scientist who won two Nobel Prizes for her work on radioactivity and the discovery of radium and polonium.',
    },
  },
  {
    zh: ['爱因斯坦'],
    en: ['Einstein'],
    said: {
      zh: '爱因斯坦是出生于德国的物理学家，提出了相对论，1921年获诺贝尔物理学奖。',
      en: 'Albert Einstein was a German-born physicist who developed the theory of relativity and received the 1921 Nobel Prize in Physics.',
    },
  },
  {
    zh: ['图灵'],
    en: ['Turing'],
    said: {
      zh: '图灵是英国数学家，计算机科学和人工智能的奠基人之一，二战中参与破译恩尼格玛密码。',
      en: 'Alan Turing was an English mathematician, a founder of computer science, who helped to break the Enigma cipher in the Second World War.',
    },
  },
];

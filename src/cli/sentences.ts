// What the terminal client says by itself, in English and Chinese. Pure.

import type { Language } from '../local/language.ts';

const en = {
  usage: `npm run ask -- "question" [--conversation <id>] [--url <url>]

  --conversation <id>   go on with this conversation
  --url <url>           of the service (default http://127.0.0.1:8787)
  --help                this text

A key of the service is taken from A2A_CHAT_TOKEN. The answer goes to standard output, everything else to standard error.
Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 an agent asks back.`,
  unreachable: (url: string) => `Nothing answers at ${url}. Is it running? npm run dev`,
  broken: 'The connection ended before the answer did. The work goes on; ask again in the same conversation to see where it is.',
  asks: (agent: string, question: string) => `${agent} asks: ${question}`,
  answerWith: (command: string) => `Answer with: ${command}`,
  yourAnswer: 'your answer',
} as const;

type Sentences = { readonly [Key in keyof typeof en]: (typeof en)[Key] extends string ? string : (typeof en)[Key] };

const zh: Sentences = {
  usage: `npm run ask -- "问题" [--conversation <id>] [--url <url>]

  --conversation <id>   继续这个对话
  --url <url>           服务地址（默认 http://127.0.0.1:8787）
  --help                显示本帮助

服务的密钥取自 A2A_CHAT_TOKEN。回答写到标准输出，其余写到标准错误。
退出码：0 已回答，1 失败，2 用法错误，3 智能体需要补充信息。`,
  unreachable: (url) => `${url} 没有响应。服务启动了吗？npm run dev`,
  broken: '回答完成前连接中断。工作仍在继续；在同一对话中再问即可得知进展。',
  asks: (agent, question) => `${agent} 问：${question}`,
  answerWith: (command) => `请这样回答：${command}`,
  yourAnswer: '您的回答',
};

export const sentences: Readonly<Record<Language, Sentences>> = { en, zh };

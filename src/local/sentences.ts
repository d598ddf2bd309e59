// What the runner says, in English and Chinese. Pure.

import type { Language } from './language.ts';
import type { ModelState } from './model-check.ts';

const curl = (url: string, question: string): string =>
  `curl -N ${url}/v1/chat -H 'content-type: application/json' -d '{"query":"${question}"}'`;

const en = {
  help: `npm run dev -- [options]

Starts everything on this machine: database, model, agents, service.

  --port <n>            port of the service (default 8787, or PORT)
  --data <folder>       what is kept between starts (default .local)
  --database-port <n>   port of the SQL bridge (default 4460, 0: any free one)
  --help                this text

Settings come from the environment, then from .dev.vars; .dev.vars.example explains them.`,
  wrong: (reason: string) => `${reason}. See npm run dev -- --help`,
  portTaken: (port: number) => `Port ${port} is in use. Is it running already? Another port: npm run dev -- --port <n>`,
  bridgePortTaken: (port: number) =>
    `Port ${port} is in use. Is it running already? To run beside it: npm run dev -- --database-port 0 --port <n> --data <folder>`,
  folderHeld: (folder: string) => `Another npm run dev holds ${folder}. End that one, or take another folder with --data`,
  badVariable: (detail: string) => `A setting is wrong: ${detail}`,
  databaseFailed: (which: string, reason: string) => `${which}: ${reason}`,
  died: (name: string, lines: readonly string[]) =>
    [`${name} has ended unexpectedly. Its last lines:`, ...lines.map((line) => `  ${line}`)].join('\n'),
  notReady: (lines: readonly string[]) => ['The service does not answer. Its last lines:', ...lines.map((line) => `  ${line}`)].join('\n'),
  database: 'database',
  migrations: (count: number) => (count === 0 ? 'schema is up to date' : `schema: ${count} migration${count === 1 ? '' : 's'} applied`),
  agents: 'agents',
  service: 'service',
  workerAgain: 'the Worker does not answer: it is started again',
  postgres: 'your Postgres (LOCAL_DATABASE_URL)',
  pglite: (folder: string) => `PGlite in ${folder}`,
  standIn: 'stand-in with fixed rules; set OPENAI_API_KEY for a real one (any value for a server that needs no key)',
  model: (name: string, baseUrl: string) => `${name} at ${baseUrl}`,
  modelState: (state: ModelState): string | null => {
    switch (state.kind) {
      case 'ready':
        return null;
      case 'key_refused':
        return 'The model refuses OPENAI_API_KEY';
      case 'unknown':
        return 'The model is not known there: check OPENAI_MODEL and OPENAI_BASE_URL';
      case 'no_tools':
        return 'The model makes no tool calls, so it cannot call agents: choose another OPENAI_MODEL';
      case 'silent':
        return 'The model does not answer within 20 s';
      case 'unreachable':
        return 'The model cannot be reached: check OPENAI_BASE_URL';
      case 'not_compatible':
        return 'What answers there is no OpenAI-compatible API: OPENAI_BASE_URL usually ends in /v1';
      case 'overloaded':
        return 'The model refuses for now: too many requests, or no credit';
      case 'refused':
        return `The model answers with HTTP status ${state.status}`;
    }
  },
  ready: ({ url, database, model, complaint, agents }: Ready) =>
    `
Ready at ${url}

  database  ${database}
  model     ${model}${complaint ? `\n            ! ${complaint}` : ''}
  agents    ${agents.join('\n            ')}

Try it:
  ${curl(url, '天气如何')}
  npm run ask -- ${elsewhere(url)}"Plan a trip to Beijing"

Stop it with Ctrl-C.`,
  stopping: 'Stopping ...',
} as const;

export type Sentences = { readonly [Key in keyof typeof en]: (typeof en)[Key] extends string ? string : (typeof en)[Key] };

const zh: Sentences = {
  help: `npm run dev -- [选项]

在本机启动全部组件：数据库、模型、智能体、服务。

  --port <n>            服务端口（默认 8787，或 PORT）
  --data <目录>         保存数据的目录（默认 .local）
  --database-port <n>   数据库桥接端口（默认 4460，0 表示任意空闲端口）
  --help                显示本帮助

设置先取自环境变量，再取自 .dev.vars；说明见 .dev.vars.example。`,
  wrong: (reason) => `${reason}。请看 npm run dev -- --help`,
  portTaken: (port) => `端口 ${port} 已被占用。是否已经在运行？换端口：npm run dev -- --port <n>`,
  bridgePortTaken: (port) =>
    `端口 ${port} 已被占用。是否已经在运行？同时再运行一个：npm run dev -- --database-port 0 --port <n> --data <目录>`,
  folderHeld: (folder) => `另一个 npm run dev 正在使用 ${folder}。请先结束它，或用 --data 指定其他目录`,
  badVariable: (detail) => `设置有误：${detail}`,
  databaseFailed: (which, reason) => `${which}：${reason}`,
  died: (name, lines) => [`${name} 意外退出。最后的输出：`, ...lines.map((line) => `  ${line}`)].join('\n'),
  notReady: (lines) => ['服务没有响应。最后的输出：', ...lines.map((line) => `  ${line}`)].join('\n'),
  database: '数据库',
  migrations: (count) => (count === 0 ? '表结构已是最新' : `表结构：执行了 ${count} 个迁移`),
  agents: '智能体',
  service: '服务',
  workerAgain: '服务没有响应，正在重新启动',
  postgres: '您的 Postgres（LOCAL_DATABASE_URL）',
  pglite: (folder) => `PGlite，位于 ${folder}`,
  standIn: '按固定规则应答的替身；设置 OPENAI_API_KEY 即用真实模型（不需要密钥的服务可填任意值）',
  model: (name, baseUrl) => `${name}，位于 ${baseUrl}`,
  modelState: (state) => {
    switch (state.kind) {
      case 'ready':
        return null;
      case 'key_refused':
        return '模型拒绝了 OPENAI_API_KEY';
      case 'unknown':
        return '没有这个模型：请检查 OPENAI_MODEL 和 OPENAI_BASE_URL';
      case 'no_tools':
        return '该模型不支持工具调用，无法调用智能体：请换一个 OPENAI_MODEL';
      case 'silent':
        return '模型 20 秒内没有响应';
      case 'unreachable':
        return '无法连接模型：请检查 OPENAI_BASE_URL';
      case 'not_compatible':
        return '该地址不是 OpenAI 兼容接口：OPENAI_BASE_URL 通常以 /v1 结尾';
      case 'overloaded':
        return '模型暂时拒绝请求：请求过多或额度不足';
      case 'refused':
        return `模型返回 HTTP 状态码 ${state.status}`;
    }
  },
  ready: ({ url, database, model, complaint, agents }) =>
    `
已就绪：${url}

  数据库  ${database}
  模型    ${model}${complaint ? `\n          ! ${complaint}` : ''}
  智能体  ${agents.join('\n          ')}

试一试：
  ${curl(url, '天气如何')}
  npm run ask -- ${elsewhere(url)}"推荐北京旅游路线"

按 Ctrl-C 停止。`,
  stopping: '正在停止 ...',
};

export interface Ready {
  readonly url: string;
  readonly database: string;
  readonly model: string;
  /** What the model was found to lack. */
  readonly complaint: string | null;
  readonly agents: readonly string[];
}

export const sentences: Readonly<Record<Language, Sentences>> = { en, zh };

/** The terminal client looks at the usual port by itself. */
const elsewhere = (url: string): string => (url === 'http://localhost:8787' ? '' : `--url ${url} `);

// The agent that writes programs, one artifact a file: by a language model if there is one, else from templates. Effects: the model.

import { type Agent, isChinese, type WrittenFile } from './agent.ts';
import { type CodeModel, writeFiles } from './code-model.ts';
import { templateFor } from './templates.ts';

export function coder(model: CodeModel | null): Agent {
  return {
    card: {
      name: 'coder',
      description: 'Writes code: small programs as files. 编写程序代码，以文件交付。',
      streaming: true,
      pushNotifications: false,
      skills: [
        {
          id: 'write-code',
          name: 'Write code 写代码',
          description: 'Programs, functions, scripts and web pages in Python, TypeScript, HTML. 写程序、函数、脚本、网页。',
          tags: ['code', 'program', 'function', 'python', 'typescript', 'javascript', 'html', '代码', '编程', '程序', '函数'],
          examples: [
            'write hello world in python',
            'a fibonacci function in typescript',
            'make an html page',
            '帮我写一个python程序',
            '写一个网页',
          ],
        },
      ],
    },
    async *answer({ text, signal }) {
      const chinese = isChinese(text);
      try {
        const files = model ? writeFiles(model, text, signal) : templateFor(text);
        for await (const file of files) yield { kind: 'artifact', name: file.name, text: summary(file, chinese), file };
      } catch (thrown) {
        console.error('coder: the model failed:', thrown instanceof Error ? thrown.message : thrown);
        yield { kind: 'failed', text: chinese ? '语言模型没有写出程序' : 'the language model wrote no program' };
      }
    },
  };
}

function summary(file: WrittenFile, chinese: boolean): string {
  const lines = file.text.trimEnd().split('\n').length;
  return chinese ? `${file.name}（${lines} 行）` : `${file.name} (${lines} ${lines === 1 ? 'line' : 'lines'})`;
}

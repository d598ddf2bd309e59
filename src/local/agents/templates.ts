// Small programs that the coder can write without a model. Pure.

import { extname } from 'node:path';
import type { WrittenFile } from './agent.ts';

interface Template {
  /** All must be found in the question. */
  readonly words: readonly RegExp[];
  readonly files: readonly [WrittenFile, ...WrittenFile[]];
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.py': 'text/x-python',
  '.sh': 'text/x-shellscript',
  '.sql': 'application/sql',
  '.ts': 'text/x-typescript',
};

/** A file with the media type that its name tells; plain text if it tells none. */
export function written(name: string, text: string): WrittenFile {
  return { name, mediaType: mediaTypes[extname(name).toLowerCase()] ?? 'text/plain', text };
}

const fallback: Template = { words: [], files: [written('hello.py', 'print("Hello, World!")\n')] };

/** The first that fits is taken. */
const templates: readonly Template[] = [
  {
    words: [/html|web ?page|网页|页面/iu],
    files: [
      written(
        'index.html',
        '<!doctype html>\n<html lang="en">\n  <head>\n    <meta charset="utf-8">\n    <title>Hello</title>\n    <link rel="stylesheet" href="style.css">\n  </head>\n  <body>\n    <h1>Hello, World!</h1>\n  </body>\n</html>\n',
      ),
      written('style.css', 'body {\n  font-family: sans-serif;\n  margin: 4rem auto;\n  max-width: 40rem;\n}\n'),
    ],
  },
  {
    words: [/fib|斐波那契/iu, /typescript|javascript|\bts\b|\bjs\b/iu],
    files: [
      written(
        'fibonacci.ts',
        'export function fibonacci(n: number): bigint {\n  let [a, b] = [0n, 1n];\n  for (let i = 0; i < n; i++) [a, b] = [b, a + b];\n  return a;\n}\n',
      ),
    ],
  },
  {
    words: [/fib|斐波那契/iu],
    files: [
      written(
        'fibonacci.py',
        'def fibonacci(n: int) -> int:\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n',
      ),
    ],
  },
  {
    words: [/sort|排序/iu],
    files: [
      written(
        'quicksort.py',
        'def quicksort(items: list) -> list:\n    if len(items) < 2:\n        return items\n    pivot, *rest = items\n    smaller = [x for x in rest if x < pivot]\n    larger = [x for x in rest if x >= pivot]\n    return quicksort(smaller) + [pivot] + quicksort(larger)\n',
      ),
    ],
  },
  {
    words: [/typescript|javascript|\bts\b|\bjs\b/iu],
    files: [written('hello.ts', "console.log('Hello, World!');\n")],
  },
  fallback,
];

export function templateFor(question: string): readonly WrittenFile[] {
  return (templates.find(({ words }) => words.every((word) => word.test(question))) ?? fallback).files;
}

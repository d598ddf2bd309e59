// The one command, as a newcomer runs it: `npm run dev`, a question in the terminal, Ctrl-C, and the same again.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/local/ports.ts';

interface Command {
  readonly child: ChildProcess;
  /** What it printed so far. */
  output(): string;
  ended: Promise<number | null>;
}

let folder: string;
let port: number;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chat-a2a-dev-'));
  port = (await freePort()) ?? 0;
});

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Without the keys of whoever runs the tests: the stand-in answers. */
function run(script: string, args: readonly string[]): Command {
  const env = { ...process.env, LANG: 'C', LC_ALL: 'C', NO_COLOR: '1', OPENAI_API_KEY: '', A2A_AGENTS: '', A2A_RUNTIME_ENDPOINT: '' };
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  running.add(child);
  const pieces: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => pieces.push(String(piece)));
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  return { child, output: () => pieces.join(''), ended };
}

const dev = (...args: readonly string[]) => run('src/local/dev.ts', ['--data', folder, '--database-port', '0', ...args]);

async function ready(command: Command): Promise<void> {
  const early = command.ended.then((code) => {
    throw new Error(`it ended with ${code}:\n${command.output()}`);
  });
  const printed = (async () => {
    while (!command.output().includes('Ctrl-C')) await new Promise((resolve) => setTimeout(resolve, 50));
  })();
  await Promise.race([printed, early]);
}

const ask = async (...args: readonly string[]) => {
  const command = run('src/cli/ask.ts', ['--url', `http://127.0.0.1:${port}`, ...args]);
  return { code: await command.ended, output: command.output() };
};

test('one command runs it all; a second beside it is told so; Ctrl-C ends it; a second start keeps the data', async () => {
  const first = dev('--port', String(port));
  await ready(first);
  expect(first.output()).toContain(`http://localhost:${port}`);
  expect(first.output()).toMatch(/curl -N .*\/v1\/chat/);

  const asked = await ask('天气如何');
  expect(asked).toMatchObject({ code: 3, output: expect.stringContaining('您问到哪里的天气') });
  const conversation = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(asked.output)?.[0] ?? '';
  expect(await ask('--conversation', conversation, '上海')).toMatchObject({ code: 0, output: expect.stringContaining('上海天气很热') });

  const beside = dev('--port', String(port));
  expect(await beside.ended).toBe(1);
  expect(beside.output().trim().split('\n')).toHaveLength(1);

  first.child.kill('SIGINT');
  expect(await first.ended).toBe(0);

  const second = dev('--port', String(port));
  await ready(second);
  const kept = await fetch(`http://127.0.0.1:${port}/v1/conversations/${conversation}/messages`);
  expect(await kept.json()).toMatchObject({ data: { length: 7 } });
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
});

test('an option that cannot be is named before anything starts', async () => {
  const command = run('src/local/dev.ts', ['--port', 'eighty']);
  expect(await command.ended).not.toBe(0);
  expect(command.output()).toContain('--port');
});

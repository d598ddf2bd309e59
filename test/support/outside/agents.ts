// Agents that outlive the service, or die for themselves, and what their disk says of what they heard. Effects: processes, files.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../../src/local/ports.ts';

const names = ['stream', 'poll', 'push', 'old', 'asks', 'long'] as const;

export interface OutsideAgents {
  /** By name; each card is at `<origin>/agent/.well-known/agent-card.json`. The same after a restart. */
  readonly origins: Readonly<Record<string, string>>;
  /** The messageId of everything that reached them, oldest first, over all their lives. */
  heard(): Promise<readonly { readonly agent: string; readonly messageId: string }[]>;
  /** SIGKILL. Their tasks are gone; what they noted stays. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends them and deletes what they noted. */
  close(): Promise<void>;
}

/** Takes about a second. */
export async function startAgents(): Promise<OutsideAgents> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-a2a-agents-'));
  const log = join(folder, 'heard');
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = (await freePort()) ?? 0;
  let end = async () => {};
  const start = async () => {
    const child = spawn(process.execPath, [new URL('./agents-process.ts', import.meta.url).pathname, JSON.stringify({ log, ports })], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    const over = once(child, 'exit');
    end = async () => {
      child.kill('SIGKILL');
      await over;
    };
    const listening = once(child.stdout, 'data').then(() => true);
    if (!(await Promise.race([listening, over.then(() => false)]))) throw new Error(`the agents ended:\n${said.join('\n')}`);
  };
  await start();
  return {
    origins: Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `http://127.0.0.1:${port}`])),
    async heard() {
      const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
      return lines.map((line) => {
        const [agent = '', messageId = ''] = line.split(' ');
        return { agent, messageId };
      });
    },
    kill: () => end(),
    start,
    async close() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

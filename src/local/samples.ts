// The sample agents and the stand-in for the model, each a process of its own. Effects: processes, HTTP.

import { fileURLToPath } from 'node:url';
import type { AgentSource } from '../agent/card.ts';
import { readSources } from '../agent/sources.ts';
import { freePort } from './ports.ts';
import { type Server, startServer } from './processes.ts';

const names = ['helloworld', 'travel', 'weather', 'people', 'coder', 'slow', 'flaky'] as const;
/** The first one's; the others follow. Fixed, so that agents keep their addresses from start to start. */
const firstPort = 9990;

interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly onLine: (name: string, line: string) => void;
  readonly signal: AbortSignal;
}

/** All at once. `coderEnv` is for the one that may use a model. */
export async function startSamples({ env, onLine, signal }: Surroundings, coderEnv: NodeJS.ProcessEnv): Promise<readonly Server[]> {
  const ports = await Promise.all(names.map((_, index) => freePort(firstPort + index)));
  return names.map((name, index) =>
    startServer(
      {
        name,
        args: [modulePath('agents/main.ts'), name, '--port', String(ports[index] ?? 0)],
        env: name === 'coder' ? { ...env, ...coderEnv } : env,
        onLine: (line) => onLine(name, line),
      },
      signal,
    ),
  );
}

/** Its API is under `<url>/v1`. */
export function startStandIn({ env, onLine, signal }: Surroundings): Server {
  const name = 'stand-in model';
  return startServer({ name, args: [modulePath('stand-in/main.ts'), '--port', '0'], env, onLine: (line) => onLine(name, line) }, signal);
}

const modulePath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const cardUrl = (url: string): string => `${url}/.well-known/agent-card.json`;

/** One line an agent, as the Worker will find them; one a source that has none, with the reason. */
export async function introduce(sources: readonly AgentSource[]): Promise<readonly string[]> {
  const found = (await readSources(sources)).flatMap(({ source, error, agents }) =>
    error === null
      ? agents.map(({ namespace, name, card }) => [
          namespace === 'default' ? name : `${namespace}/${name}`,
          firstSentence(card.description),
        ])
      : [[source, `! ${error}`]],
  );
  const width = Math.max(...found.map(([name = '']) => name.length));
  return found.map(([name = '', words = '']) => `${name.padEnd(width)}  ${words}`);
}

const firstSentence = (text: string): string => text.split(/(?<=[.。])/u)[0]?.trim() ?? '';

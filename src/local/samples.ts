// The sample agents and the stand-in for the model, each a process of its own. Effects: processes, HTTP.

import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { cappedText } from './capped-text.ts';
import { parseJson } from './json.ts';
import { freePort } from './ports.ts';
import { type Server, startServer } from './processes.ts';

const names = ['helloworld', 'travel', 'weather', 'people', 'coder', 'slow', 'flaky'] as const;
/** The first one's; the others follow. Fixed, so that agents keep their addresses from start to start. */
const firstPort = 9990;
const cardTimeoutMs = 5_000;
const maxCardBytes = 64 * 1024;

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

const cardSchema = z.object({ description: z.string() });

/** What the agent says of itself, its first sentence; empty when it says nothing. */
export async function introduction(url: string): Promise<string> {
  const response = await fetch(cardUrl(url), { signal: AbortSignal.timeout(cardTimeoutMs) }).catch(() => null);
  const text = response && (await cappedText(response, maxCardBytes).catch(() => null));
  const card = cardSchema.safeParse(parseJson(text ?? ''));
  return card.success ? (card.data.description.split(/(?<=[.。])/u)[0]?.trim() ?? '') : '';
}

// Starts a sample agent by its name. Effects: a loopback HTTP server.

import type { Agent } from './agent.ts';
import type { CodeModel } from './code-model.ts';
import { coder } from './coder.ts';
import { flaky } from './flaky.ts';
import { helloWorld } from './hello-world.ts';
import { people } from './people.ts';
import { type Served, serve } from './serve.ts';
import { slow } from './slow.ts';
import { travel } from './travel.ts';
import { weather } from './weather.ts';

export const agentNames = ['helloworld', 'travel', 'weather', 'people', 'coder', 'slow', 'flaky'] as const;
export type SampleName = (typeof agentNames)[number];

export function isSampleName(name: string): name is SampleName {
  return agentNames.some((known) => known === name);
}

/** `model` is for the coder alone; without it the coder writes from templates. */
export function startAgent(
  name: SampleName,
  { port = 0, model = null }: { readonly port?: number; readonly model?: CodeModel | null } = {},
): Promise<Served> {
  return serve(sample(name, model), port);
}

function sample(name: SampleName, model: CodeModel | null): Agent {
  switch (name) {
    case 'helloworld':
      return helloWorld;
    case 'travel':
      return travel;
    case 'weather':
      return weather;
    case 'people':
      return people;
    case 'coder':
      return coder(model);
    case 'slow':
      return slow;
    case 'flaky':
      return flaky;
  }
}

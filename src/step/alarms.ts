// The Runner port over the Durable Object namespace. Effects: Durable Objects.

import type { RunnerName } from '../intention/rules.ts';
import type { Settings } from '../settings.ts';
import type { Runner } from '../world.ts';
import type { Runner as RunnerObject } from './runner.ts';

/** `location` (a hint near the database) counts when an object is first created. */
export function createRunner(namespace: DurableObjectNamespace<RunnerObject>, location: Settings['runnerLocation']): Runner {
  const options = location === null ? {} : { locationHint: location };
  const at = (name: RunnerName) => namespace.getByName(name, options);
  return {
    arm: async (name, inMs) => {
      await at(name).arm(name, inMs);
    },
    kick: async (name) => {
      await at(name).kick(name);
    },
    disarm: async (name) => {
      await at(name).disarm();
    },
    stop: async (name) => {
      await at(name).stop(name);
    },
  };
}

// The Worker's bindings by name, and who may see them. Pure.

import { asFault } from '../fault.ts';
import type { Settings } from '../settings.ts';
import { readSettings } from '../settings.ts';

/** Anybody on this machine can read the arguments of a process; these travel in a file. */
export const secretNames = ['DATABASE_URL', 'OPENAI_API_KEY', 'A2A_AGENTS', 'PUSH_SECRET', 'PUSH_SECRET_PREVIOUS', 'API_KEYS'] as const;
export const plainNames = [
  'NEON_FETCH_ENDPOINT',
  'OPENAI_BASE_URL',
  'OPENAI_MODEL',
  'STAND_IN_MODEL',
  'PLAN_INSTRUCTIONS',
  'A2A_RUNTIME_ENDPOINT',
  'PUBLIC_URL',
  'ALLOW_ANONYMOUS',
  'RUNNER_LOCATION',
  'MAX_STEPS',
  'MAX_CALLS',
  'MAX_TOKENS',
] as const;
/** For the runner itself. */
const runnerNames = ['LOCAL_DATABASE_URL', 'PORT'] as const;

const allNames = [...secretNames, ...plainNames, ...runnerNames] as const;
type Name = (typeof allNames)[number];
/** Set to something: an empty value counts as none. */
export type Variables = Readonly<Partial<Record<Name, string>>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Ours out of an environment. */
export function pick(environment: Environment, names: readonly Name[] = allNames): Variables {
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** An environment without ours: agents are other people's programs, and our settings are none of their business. */
export function without(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !allNames.some((own) => own === name)));
}

/** As the Worker will read them, so that what is wrong is said before anything waits for it. */
export type BindingsRead =
  | { readonly kind: 'bindings'; readonly secrets: Variables; readonly plain: Variables; readonly settings: Settings }
  | { readonly kind: 'wrong'; readonly detail: string };

export function readBindings(variables: Variables): BindingsRead {
  const secrets = pick(variables, secretNames);
  const plain = pick(variables, plainNames);
  try {
    return { kind: 'bindings', secrets, plain, settings: readSettings({ ...secrets, ...plain }) };
  } catch (thrown) {
    return { kind: 'wrong', detail: asFault(thrown).detail ?? String(thrown) };
  }
}

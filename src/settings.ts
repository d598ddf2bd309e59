// The bindings into Settings: everything that is wrong with them is named at once. Pure.

import { v5 } from 'uuid';
import { z } from 'zod';
import type { AgentSource } from './agent/card.ts';
import { Fault } from './fault.ts';
import { maxCalls, maxSteps, maxTokens } from './intention/limits.ts';
import { type OwnerId, ownerId } from './intention/message.ts';

/** The bindings, parsed once. Units are in the names. */
export interface Settings {
  readonly databaseUrl: string;
  /** Full URL of a local stand-in for Neon's SQL endpoint; loopback only. */
  readonly databaseEndpoint: string | null;
  readonly model: { readonly baseUrl: string; readonly apiKey: string; readonly name: string; readonly standIn: boolean };
  readonly planInstructions: string;
  readonly agentSources: readonly AgentSource[];
  /** Where agents reach our webhook; null: we offer no push. */
  readonly publicUrl: string | null;
  /** The current one first, which new tokens are derived from; then the one before it, which is still accepted. Empty: none. */
  readonly pushSecrets: readonly string[];
  /** By the key's digest. */
  readonly apiKeys: ReadonlyMap<string, OwnerId>;
  readonly allowAnonymous: boolean;
  /** Near the database; counts when a Runner is first created. */
  readonly runnerLocation: 'wnam' | 'enam' | 'sam' | 'weur' | 'eeur' | 'apac' | 'oc' | 'afr' | 'me' | null;
  readonly maxSteps: number;
  readonly maxCalls: number;
  /** Of the model, in and out, over all steps of one intention. */
  readonly maxTokens: number;
}

const webUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const optional = <T>(schema: z.ZodType<T, string>) => z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const sourceForm = 'must be a JSON list of card URLs or {"url", "name"?, "headers"?, "deadline_seconds"?, "deduplicates"?}';

const sourceObject = z.strictObject({
  url: webUrl,
  name: z
    .string()
    .regex(/^[^\s/]{1,64}$/)
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  deadline_seconds: z.int().min(1).max(604_800).optional(),
  deduplicates: z.boolean().optional(),
});

/** A string is an object with an address alone. */
const sourceSchema = z.union([webUrl.transform((url): z.infer<typeof sourceObject> => ({ url })), sourceObject], {
  error: `${sourceForm}, deadline_seconds from 1 to 604800`,
});

const listOfSources = z
  .string()
  .transform((text, context) => {
    try {
      const value: unknown = JSON.parse(text);
      return value;
    } catch {
      context.addIssue({
        code: 'custom',
        message: sourceForm,
      });
      return z.NEVER;
    }
  })
  .pipe(z.array(sourceSchema));

const fewSteps = z
  .string()
  .regex(/^([1-9]|[1-4]\d|50)$/, 'must be a number from 1 to 50')
  .transform(Number);

const tokens = z
  .string()
  .regex(/^\d{4,8}$/, 'must be a number from 1000 to 10000000')
  .transform(Number)
  .refine((number) => number >= 1_000 && number <= 10_000_000, 'must be a number from 1000 to 10000000');

const secret = z.string().min(16, 'must have 16 characters or more');

const bindings = z.object({
  DATABASE_URL: z
    .string({ error: 'is required: the Neon connection string' })
    .regex(/^postgres(ql)?:\/\/\S+$/, 'must begin with postgres://'),
  NEON_FETCH_ENDPOINT: optional(
    webUrl.refine(
      (url) => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname),
      'may only point to this machine: it is sent the database password',
    ),
  ),
  OPENAI_API_KEY: z.string({ error: 'is required: the key of the model' }).min(1, 'is required: the key of the model'),
  OPENAI_BASE_URL: optional(webUrl),
  OPENAI_MODEL: optional(z.string()),
  STAND_IN_MODEL: optional(z.string()),
  PLAN_INSTRUCTIONS: optional(z.string().refine((text) => new TextEncoder().encode(text).length <= 4096, 'may be 4 KiB at most')),
  A2A_AGENTS: optional(listOfSources),
  A2A_RUNTIME_ENDPOINT: optional(webUrl),
  PUBLIC_URL: optional(webUrl),
  PUSH_SECRET: optional(secret),
  PUSH_SECRET_PREVIOUS: optional(secret),
  API_KEYS: optional(z.string()),
  ALLOW_ANONYMOUS: optional(z.string()),
  RUNNER_LOCATION: optional(z.enum(['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'])),
  MAX_STEPS: optional(fewSteps),
  MAX_CALLS: optional(fewSteps),
  MAX_TOKENS: optional(tokens),
});

/** Throws Fault `misconfigured` whose detail names every missing and malformed binding; values are never repeated. */
export function readSettings(env: Readonly<Record<string, unknown>>): Settings {
  const parsed = bindings.safeParse(env);
  const issues = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path[0]?.toString() ?? ''} ${issue.message}`);
  if (parsed.success && parsed.data.PUBLIC_URL && !parsed.data.PUSH_SECRET)
    issues.push('PUSH_SECRET is required with PUBLIC_URL: agents prove themselves with what is derived from it');
  if (!parsed.success || issues.length > 0) throw new Fault('misconfigured', { detail: [...new Set(issues)].join('; ') });
  const data = parsed.data;
  const cards = (data.A2A_AGENTS ?? []).map(cardSource);
  return {
    databaseUrl: data.DATABASE_URL,
    databaseEndpoint: data.NEON_FETCH_ENDPOINT ?? null,
    model: {
      baseUrl: data.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
      apiKey: data.OPENAI_API_KEY,
      name: data.OPENAI_MODEL ?? 'gpt-5-mini',
      standIn: data.STAND_IN_MODEL === '1',
    },
    planInstructions: data.PLAN_INSTRUCTIONS ?? '',
    agentSources: [...cards, ...(data.A2A_RUNTIME_ENDPOINT ? [{ kind: 'list', url: data.A2A_RUNTIME_ENDPOINT } as const] : [])],
    publicUrl: data.PUBLIC_URL?.replace(/\/$/, '') ?? null,
    pushSecrets: [data.PUSH_SECRET, data.PUSH_SECRET_PREVIOUS].filter((each) => each !== undefined),
    apiKeys: keysOf(data.API_KEYS ?? ''),
    allowAnonymous: data.ALLOW_ANONYMOUS === '1',
    runnerLocation: data.RUNNER_LOCATION ?? null,
    maxSteps: data.MAX_STEPS ?? maxSteps,
    maxCalls: data.MAX_CALLS ?? maxCalls,
    maxTokens: data.MAX_TOKENS ?? maxTokens,
  };
}

function cardSource({ url, name, headers, deadline_seconds, deduplicates }: z.infer<typeof sourceSchema>): AgentSource {
  return {
    kind: 'card',
    url,
    ...(name === undefined ? {} : { name }),
    ...(headers === undefined ? {} : { headers }),
    ...(deadline_seconds === undefined ? {} : { deadlineMs: deadline_seconds * 1_000 }),
    ...(deduplicates === undefined ? {} : { deduplicates }),
  };
}

/** Names the owner of a key, and finds it: comparing digests tells nothing of the key. */
export const keyDigest = (key: string): string => v5(key, '6f1e0c1c-7d3d-5e0b-9a55-0d9f6f3c2a11');

/** `owner=key` or `key`, separated by commas. A key without a name is an owner of its own. */
function keysOf(text: string): ReadonlyMap<string, OwnerId> {
  const entries = text.split(',').map((entry) => entry.trim());
  return new Map(
    entries.filter(Boolean).map((entry) => {
      const named = /^([A-Za-z0-9_-]{1,32})=(.+)$/.exec(entry);
      return named?.[1] && named[2] ? [keyDigest(named[2]), ownerId(named[1])] : [keyDigest(entry), ownerId(`key-${keyDigest(entry)}`)];
    }),
  );
}

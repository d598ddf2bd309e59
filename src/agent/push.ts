// The words between our webhook and the agents that call it: a secret per call, and what a notification says. Pure.

import { z } from 'zod';

const encoder = new TextEncoder();

/** The secret that an agent must show for this call. Nothing of it is at rest: it is derived, HMAC-SHA-256, base64url. */
export async function pushSecret(key: string, callId: string): Promise<string> {
  const secret = await crypto.subtle.importKey('raw', encoder.encode(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = await crypto.subtle.sign('HMAC', secret, encoder.encode(callId));
  return btoa(String.fromCharCode(...new Uint8Array(mac)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/**
 * Whether the sender knows the call's secret under one of the keys, from either header: some send the token, some the
 * credentials, few both. Each key takes the same work, whichever fits. Source: A2A v1.0 §4.3.3, §13.2.
 */
export async function verifyPush(keys: readonly string[], callId: string, headers: Headers): Promise<boolean> {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
  const token = headers.get('x-a2a-notification-token') ?? '';
  // Without a key nobody was ever given a secret.
  const secrets = await Promise.all(keys.filter((key) => key !== '').map((key) => pushSecret(key, callId)));
  const known = await Promise.all(secrets.flatMap((secret) => [equal(bearer, secret), equal(token, secret)]));
  return known.includes(true);
}

/** Compares digests, so that the time it takes tells nothing of where two texts differ. */
async function equal(given: string, secret: string): Promise<boolean> {
  const [one, other] = await Promise.all([given, secret].map(async (text) => crypto.subtle.digest('SHA-256', encoder.encode(text))));
  const bytes = new Uint8Array(other ?? new ArrayBuffer(0));
  return new Uint8Array(one ?? new ArrayBuffer(0)).reduce((differing, byte, place) => differing | (byte ^ (bytes[place] ?? 0)), 0) === 0;
}

const id = z.string().min(1);
/** A message need not belong to a task. */
const message = z.object({ taskId: id.optional() });
const update = z.object({ taskId: id });

/** v1.0: exactly one of four; v0.3: a bare object that says its kind; v0.1, and sloppy others: one that doesn't. Sources: A2A v1.0 §4.3.3; v0.3 §9.5. */
const notification = z.union([
  z.object({ task: z.object({ id }) }).transform(({ task }) => task.id),
  z.object({ statusUpdate: update }).transform(({ statusUpdate }) => statusUpdate.taskId),
  z.object({ artifactUpdate: update }).transform(({ artifactUpdate }) => artifactUpdate.taskId),
  z.object({ message }).transform((body) => body.message.taskId ?? null),
  z.object({ kind: z.enum(['status-update', 'artifact-update']), taskId: id }).transform(({ taskId }) => taskId),
  z.object({ kind: z.literal('message'), taskId: id.optional() }).transform(({ taskId }) => taskId ?? null),
  z.object({ id, artifact: z.looseObject({}) }).transform((update) => update.id),
  z.object({ kind: z.literal('task').optional(), id, status: z.looseObject({}) }).transform((task) => task.id),
]);

/** The task that a notification is about, if it names one; null: it is no notification. What it says of the task is a hint. */
export function readPush(body: unknown): { readonly taskId: string | null } | null {
  const read = notification.safeParse(body);
  return read.success ? { taskId: read.data } : null;
}

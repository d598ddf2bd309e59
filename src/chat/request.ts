// What every route reads from a request: who calls, ids, the body, cursors. Effects: the request's body.

import { z } from 'zod';
import { bytesOf } from '../body.ts';
import { Fault } from '../fault.ts';
import { type OwnerId, ownerId } from '../intention/message.ts';
import type { Settings } from '../settings.ts';
import { keyDigest } from '../settings.ts';

/** A key's owner; everybody is `anonymous` where that is allowed. Throws Fault `unauthorized`, `auth_not_configured`. */
export function callerOf(request: Request, settings: Settings): OwnerId {
  const key = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const owner = key === undefined ? undefined : settings.apiKeys.get(keyDigest(key));
  if (owner !== undefined) return owner;
  if (settings.allowAnonymous && key === undefined) return ownerId('anonymous');
  if (settings.apiKeys.size === 0 && !settings.allowAnonymous) throw new Fault('auth_not_configured');
  throw new Fault('unauthorized');
}

/** Throws Fault `not_found` for what cannot be an id: to the caller that is the same as an id that is not there. */
export function idOf<T>(value: string | undefined, brand: (id: string) => T): T {
  const parsed = z.uuid().safeParse(value);
  if (!parsed.success) throw new Fault('not_found');
  return brand(parsed.data.toLowerCase());
}

/** A JSON body and the hash of its bytes. Throws Fault `unsupported_media_type`, `body_too_large`, `malformed_json`, `validation_failed`. */
export async function bodyOf<T>(
  request: Request,
  schema: z.ZodType<T>,
  maxBytes: number,
): Promise<{ readonly body: T; readonly hash: string }> {
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  const bytes = await bytesOf(request, maxBytes);
  if (bytes.length > 0 && mediaType !== 'application/json') throw new Fault('unsupported_media_type');
  let value: unknown;
  try {
    value = bytes.length === 0 ? {} : JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    throw new Fault('malformed_json');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const errors = parsed.error.issues.slice(0, 20).map((issue) => ({
      pointer: `/${issue.path.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
      detail: issue.message.slice(0, 200),
    }));
    throw new Fault('validation_failed', { errors });
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
  return { body: parsed.data, hash: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('') };
}

/** `Idempotency-Key`: 1 to 255 visible ASCII characters. Throws Fault `invalid_request`. */
export function idempotencyKeyOf(request: Request): string | null {
  const key = request.headers.get('idempotency-key');
  if (key === null) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Fault('invalid_request', { detail: 'Idempotency-Key takes 1 to 255 visible ASCII characters' });
  return key;
}

/** `?limit=` within 1 and `max`. Throws Fault `invalid_request`. */
export function limitOf(value: string | undefined, max: number, standard: number): number {
  if (value === undefined) return standard;
  if (!/^\d{1,4}$/.test(value) || Number(value) < 1 || Number(value) > max)
    throw new Fault('invalid_request', { detail: `limit is a number from 1 to ${max}` });
  return Number(value);
}

/** An opaque cursor of ours. Throws Fault `invalid_request`. */
export function cursorOf<T>(value: string | undefined, schema: z.ZodType<T>): T | null {
  if (value === undefined) return null;
  try {
    return schema.parse(JSON.parse(atob(value.replaceAll('-', '+').replaceAll('_', '/'))));
  } catch {
    throw new Fault('invalid_request', { detail: 'the cursor is not one of ours' });
  }
}

export const cursorFor = (value: unknown): string =>
  btoa(JSON.stringify(value)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

// Where agents tell that a task has moved: a hint to look at it, made durable. Effects: by ports.

import { bytesOf } from '../body.ts';
import { asFault, Fault, toProblem, toWebhookStatus } from '../fault.ts';
import { armAheadMs } from '../intention/limits.ts';
import { callId } from '../intention/message.ts';
import type { Settings } from '../settings.ts';
import type { Ledger, Log, Runner } from '../world.ts';
import { readPush, verifyPush } from './push.ts';

/** A notification may hold a whole task; we only need to know that it is one. */
const maxBodyBytes = 1_048_576;

/** What of the World it needs. */
export interface PushWorld {
  readonly settings: Pick<Settings, 'pushSecrets'>;
  readonly ledger: Pick<Ledger, 'poke'>;
  readonly runner: Pick<Runner, 'arm' | 'kick'>;
  readonly log: Log;
}

/**
 * 202: the call will be looked at. 200: it is over, nothing happens. 401 without the call's secret, and alike for a call that
 * does not exist; 413; 400 for what is no notification; 503 when it may be sent again. Any number of repeats is harmless.
 */
export async function receivePush(world: PushWorld, call: string, request: Request): Promise<Response> {
  try {
    const poked = await takePush(world, call, request);
    world.log('push', { call_id: call, poked });
    return new Response(null, { status: poked === null ? 200 : 202 });
  } catch (thrown) {
    const fault = asFault(thrown);
    const status = toWebhookStatus(fault);
    world.log('push_failed', { call_id: call, code: fault.code, status });
    const headers = new Headers({ 'Content-Type': 'application/problem+json' });
    if (status === 401) headers.set('WWW-Authenticate', 'Bearer');
    return new Response(JSON.stringify({ ...toProblem(fault), status }), { status, headers });
  }
}

async function takePush({ ledger, runner, settings }: PushWorld, call: string, request: Request): Promise<'poked' | 'due' | null> {
  if (!(await verifyPush(settings.pushSecrets, call, request.headers)))
    throw new Fault('unauthorized', { detail: 'A push needs the secret of its call, not an API key' });
  const push = readPush(await readJson(request));
  if (push === null) throw new Fault('invalid_request', { detail: 'The body is not a push notification' });
  await runner.arm(`call:${call}`, armAheadMs);
  const poked = await ledger.poke(callId(call), push.taskId);
  // One that was due already is about to be looked at: a flood of notifications kicks once.
  if (poked === 'poked') await runner.kick(`call:${call}`);
  return poked;
}

async function readJson(request: Request): Promise<unknown> {
  const bytes = await bytesOf(request, maxBodyBytes);
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new Fault('malformed_json', { cause });
  }
}

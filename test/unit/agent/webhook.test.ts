// What the webhook answers, and what it sets in motion.

import { describe, expect, it } from 'vitest';
import { pushSecret } from '../../../src/agent/push.ts';
import { type PushWorld, receivePush } from '../../../src/agent/webhook.ts';
import { Fault } from '../../../src/fault.ts';

const key = 'a key of the service';
const call = '01900000-0000-7000-8000-000000000001';
const secret = await pushSecret(key, call);
const body = JSON.stringify({ task: { id: 't1', status: { state: 'TASK_STATE_COMPLETED' } } });

/** A world of these ports alone, that notes what it is asked in order. */
function world(poke: () => 'poked' | 'due' | null): { readonly asked: string[]; readonly world: PushWorld } {
  const asked: string[] = [];
  const ports: PushWorld = {
    settings: { pushSecrets: ['a key that came later', key] },
    log: () => undefined,
    ledger: {
      poke: async (id: string) => {
        asked.push(`poke ${id}`);
        return poke();
      },
    },
    runner: {
      arm: async (name: string, inMs: number) => void asked.push(`arm ${name} ${inMs}`),
      kick: async (name: string) => void asked.push(`kick ${name}`),
    },
  };
  return { asked, world: ports };
}

function notification(content: string, token = secret): Request {
  return new Request('https://chat.example/a2a/push/x', { method: 'POST', body: content, headers: { 'X-A2A-Notification-Token': token } });
}

describe('receivePush', () => {
  it('makes the hint durable before it wakes the call', async () => {
    const { asked, world: ports } = world(() => 'poked');
    const response = await receivePush(ports, call, notification(body));
    expect([response.status, await response.text()]).toEqual([202, '']);
    expect(asked).toEqual([`arm call:${call} 5000`, `poke ${call}`, `kick call:${call}`]);
  });

  it('wakes nobody for a call that is due already', async () => {
    const { asked, world: ports } = world(() => 'due');
    expect((await receivePush(ports, call, notification(body))).status).toBe(202);
    expect(asked).not.toContain(`kick call:${call}`);
  });

  it('answers 200 for a call that is over, and wakes nobody', async () => {
    const { asked, world: ports } = world(() => null);
    expect((await receivePush(ports, call, notification(body))).status).toBe(200);
    expect(asked).not.toContain(`kick call:${call}`);
  });

  it('tells a wrong secret and an unknown call by the same words, and does nothing', async () => {
    const { asked, world: ports } = world(() => 'poked');
    const refusals = await Promise.all([
      receivePush(ports, call, notification(body, 'wrong')),
      receivePush(ports, 'no-such-call', notification(body)),
      receivePush(ports, call, new Request('https://chat.example/', { method: 'POST', body })),
    ]);
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(new Set(await Promise.all(refusals.map((refusal) => refusal.text()))).size).toBe(1);
    expect(asked).toEqual([]);
  });

  it('refuses what is too large or no notification', async () => {
    const { asked, world: ports } = world(() => 'poked');
    const answers = [
      await receivePush(ports, call, notification('x'.repeat(1_048_577))),
      await receivePush(ports, call, notification('{"task":')),
      await receivePush(ports, call, notification('{"hello":"world"}')),
      await receivePush(ports, call, notification('')),
    ];
    expect(answers.map(({ status }) => status)).toEqual([413, 400, 400, 400]);
    expect(answers.map(({ headers }) => headers.get('content-type'))).toEqual(answers.map(() => 'application/problem+json'));
    expect(asked).toEqual([]);
  });

  it('asks to be told again when the hint could not be kept', async () => {
    const { world: ports } = world(() => {
      throw new Fault('database_down');
    });
    const response = await receivePush(ports, call, notification(body));
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'database_down' }]);
  });
});

// Five thousand calls and whatever can reach their webhooks: notifications are hints, and nothing but a hint is ever taken from them.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pushSecret } from '../../src/agent/push.ts';
import { type PushWorld, receivePush } from '../../src/agent/webhook.ts';
import { Fault } from '../../src/fault.ts';
import type { Call } from '../../src/intention/call.ts';
import { alarmMs } from '../../src/intention/limits.ts';
import type { RunnerName } from '../../src/intention/rules.ts';
import { readSettings } from '../../src/settings.ts';
import { wake } from '../../src/step/wake.ts';
import type { Agents, World } from '../../src/world.ts';
import { type LedgerUnderTest, onPostgres, reading } from '../support/ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { shift } from '../support/shift.ts';
import { aim, besiege, dice, keys, lanes, type Missile, pick, type Standing, shuffle, standings, type Target } from '../support/storm.ts';
import { broken } from '../support/workers/invariants.ts';

const intentions = 1_000;
const dropRates = [0, 0.2, 0.5, 0.8, 0.95, 1] as const;
const maxCopies = 20;
const width = 12;
const random = dice(20_261_121);

const listening: readonly Standing[] = ['sending', 'working', 'auth_required', 'unknown'];
const settings = readSettings({
  DATABASE_URL: 'postgres://x',
  OPENAI_API_KEY: 'x',
  PUSH_SECRET: keys[0],
  PUSH_SECRET_PREVIOUS: keys[1],
});

let postgres: PostgresServer;
let under: LedgerUnderTest;
let targets: readonly [Target, ...Target[]];
beforeAll(async () => {
  postgres = await startPostgres();
  under = await onPostgres(postgres);
  const running = standings.filter((standing) => !standing.startsWith('stopped'));
  const fives = Array.from({ length: intentions }, (_, number) => {
    const among: readonly Standing[] = number % 5 === 0 ? ['stopped', 'stopped nameless', 'stopped nameless', 'completed'] : running;
    return Array.from({ length: 5 }, () => among[Math.floor(random() * among.length)] ?? 'planned');
  });
  const made: Target[] = [];
  await lanes(fives, width, async (five) => void made.push(...(await besiege(under, five))));
  // Nobody runs out of time while the storm lasts.
  await under.query(`update call set deadline = deadline + interval '1 day' where state in ('planned', 'sending', 'working')`);
  const [first, ...rest] = made;
  if (!first) throw new Error('no calls');
  targets = [first, ...rest];
}, 240_000);
afterAll(async () => {
  await under.close();
  await postgres.stop();
});

const tables = ['agent', 'agent_source', 'accept_key', 'call_attempt', 'conversation', 'file', 'intention', 'message', 'call'];

/** Every row of every table, word for word, without the three columns that a push may set. */
async function everything(): Promise<readonly string[]> {
  const rows = await Promise.all(
    tables.map((table) =>
      under.query<{ readonly row: string }>(
        `select '${table} ' || (to_jsonb(t) - array['last_poke_at', 'wake_at'] - case '${table}' when 'call' then 'task_id' else '' end)::text as row from ${table} t order by 1`,
      ),
    ),
  );
  return rows.flat().map(({ row }) => row);
}

interface Hints extends Record<string, unknown> {
  readonly id: string;
  readonly task_id: string | null;
  readonly last_poke_at: string | null;
  readonly wake_at: string | null;
}
async function hints(): Promise<ReadonlyMap<string, Hints>> {
  const rows = await under.query<Hints>('select id, task_id, last_poke_at::text, wake_at::text from call');
  return new Map(rows.map((row) => [row.id, row]));
}

interface Landed {
  readonly missile: Missile;
  readonly status: number;
  readonly text: string;
}

const kicks = new Map<string, number>();
const counted = new Map<string, number>();
const doors: PushWorld = {
  settings,
  get ledger() {
    return under.ledger;
  },
  runner: { arm: async () => {}, kick: async (name) => void kicks.set(name, (kicks.get(name) ?? 0) + 1) },
  log: (event, { call_id, poked }) => {
    if (event === 'push' && poked === 'poked') counted.set(`call:${call_id}`, (counted.get(`call:${call_id}`) ?? 0) + 1);
  },
};

async function land(missiles: readonly Missile[]): Promise<readonly Landed[]> {
  const landed: Landed[] = [];
  await lanes(missiles, width, async (missile) => {
    const { id, headers, body } = missile;
    const url = `https://chat.example/a2a/push/${encodeURIComponent(id)}`;
    const response = await receivePush(doors, id, new Request(url, { method: 'POST', headers, body }));
    landed.push({ missile, status: response.status, text: await response.text() });
  });
  return landed;
}

describe('a storm', () => {
  let before: readonly string[];
  let first: ReadonlyMap<string, Hints>;
  let middle: ReadonlyMap<string, Hints>;
  let last: ReadonlyMap<string, Hints>;
  let landed: readonly Landed[];

  beforeAll(async () => {
    before = await everything();
    first = await hints();
    const missiles: Missile[] = [];
    await lanes(
      targets.map((target, number) => ({ target, number, drop: dropRates[number % dropRates.length] ?? 0 })),
      width,
      async ({ target, number, drop }) => {
        for (let push = 0; push < (number % 10 === 0 ? 2 : 1); push++) {
          const missile = await aim(random, target, targets);
          const copies = Array.from({ length: 1 + Math.floor(random() * maxCopies) }, () => missile);
          missiles.push(...copies.filter(() => random() >= drop));
        }
      },
    );
    const shuffled = shuffle(random, missiles);
    const half = Math.ceil(shuffled.length / 2);
    const early = await land(shuffled.slice(0, half));
    middle = await hints();
    landed = [...early, ...(await land(shuffled.slice(half)))];
    last = await hints();
    console.log(
      `${targets.length} calls, ${missiles.length} notifications of which ${landed.filter(({ status }) => status < 300).length} were let in`,
    );
  }, 240_000);

  test('reaches five thousand calls in every state with every answer there is', () => {
    expect(targets).toHaveLength(5 * intentions);
    expect(new Set(targets.map(({ standing }) => standing))).toEqual(new Set(standings));
    expect(new Set(landed.map(({ status }) => status))).toEqual(new Set([200, 202, 400, 401]));
  });

  test('leaves every row as it was, but for the hints', async () => {
    expect(await everything()).toEqual(before);
  });

  test('answers by what the sender knows alone: 401 in the same bytes for a forger and for a call that is not there', () => {
    const refused = landed.filter(({ missile }) => !missile.authentic);
    expect(new Set(refused.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(refused[0]?.status).toBe(401);
    const admitted = landed.filter(({ missile }) => missile.authentic);
    expect(admitted.filter(({ status }) => status === 401)).toEqual([]);
    expect(admitted.filter(({ missile, status }) => (status === 400) === missile.readable)).toEqual([]);
  });

  test('wakes calls that listen, and says of all others that nothing will happen', () => {
    const wrong = landed.filter(({ missile: { authentic, readable, target }, status }) => {
      if (!authentic || !readable || target.standing === 'stopped nameless') return false;
      return status !== (listening.includes(target.standing) ? 202 : 200);
    });
    expect(wrong).toEqual([]);
  });

  test('touches no call that is over or asks, and none that was only lied to', () => {
    const reached = new Set(landed.filter(({ status }) => status === 202).map(({ missile }) => missile.id));
    const untouched = targets.filter(({ call }) => !reached.has(call.id));
    expect(untouched.map(({ call }) => last.get(call.id))).toEqual(untouched.map(({ call }) => first.get(call.id)));
    const deaf = targets.filter(({ standing }) => ['input_required', 'completed', 'failed', 'stopped'].includes(standing));
    expect(deaf.map(({ call }) => last.get(call.id))).toEqual(deaf.map(({ call }) => first.get(call.id)));
  });

  test('binds a task once, to the call whose webhook named it, and never one that another call is at work on', async () => {
    const alive = new Map(
      targets.flatMap(({ call }) => {
        const task = first.get(call.id)?.task_id;
        return task ? [[task, call.id] as const] : [];
      }),
    );
    const named = Map.groupBy(
      landed.filter(({ status }) => status === 202),
      ({ missile }) => missile.id,
    );
    let bound = 0;
    for (const { call } of targets) {
      const tasks = [first, middle, last].map((look) => look.get(call.id)?.task_id ?? null);
      const [was, then, is] = tasks;
      // What is bound stays.
      if (was !== null) expect(tasks).toEqual([was, was, was]);
      else if (then !== null) expect(is).toBe(then);
      if (was !== null || is === null || is === undefined) continue;
      bound += 1;
      expect(named.get(call.id)?.some(({ missile }) => missile.names === is)).toBe(true);
      const owner = alive.get(is);
      const owned = owner === undefined ? undefined : targets.find((target) => target.call.id === owner);
      const isTaken = owned && owned.call.agent === call.agent && ['working', 'input_required', 'auth_required'].includes(owned.standing);
      expect(isTaken ? is : null).toBeNull();
    }
    expect(bound).toBeGreaterThan(intentions / 10);
    const shared = await under.query(
      `select agent_id, task_id from call where task_id is not null and state in ('sending', 'working', 'input_required', 'auth_required') group by 1, 2 having count(*) > 1`,
    );
    expect(shared).toEqual([]);
  });

  test('kicks once for each notification that counted, however many came', () => {
    expect(kicks).toEqual(counted);
    const kicked = [...kicks.values()].reduce((sum, times) => sum + times, 0);
    const calls = targets.filter(({ standing }) => listening.includes(standing) || standing === 'stopped nameless').length;
    // Once to look, and once more when its task was named only later.
    expect(kicked).toBeLessThanOrEqual(2 * calls);
  });

  test('meets no refusal of the database that was not settled', () => {
    expect(landed.filter(({ status }) => status >= 500)).toEqual([]);
  });
});

describe('after the storm', () => {
  const sends = new Map<string, number>();
  const looks = new Map<string, number>();

  /** What the agents know. One in ten of them has lost the task, one in ten is away now and then, one in three takes its time. */
  const agents: Agents = {
    read: async () => [reading()],
    async *send(_agent, call) {
      sends.set(call.messageId, (sends.get(call.messageId) ?? 0) + 1);
      yield { kind: 'bound', taskId: `task-${call.id}`, contextId: null };
      yield { kind: 'reply', reply: done(call, `task-${call.id}`) };
    },
    async *subscribe() {},
    async get(_agent, call) {
      const own = `task-${call.id}`;
      const look = (looks.get(call.id) ?? 0) + 1;
      looks.set(call.id, look);
      const kind = fate(call);
      if (kind === 'away' && look % 2 === 1) throw new Fault('agent_down');
      if (kind === 'lost') return null;
      if (call.taskId === null && kind !== 'lists') return null;
      if (call.taskId !== null && call.taskId !== own) return null;
      return kind === 'slow' && look < 3 ? { ...done(call, own), state: 'working', content: '' } : done(call, own);
    },
    async cancel(_agent, call) {
      const kind = fate(call);
      if (kind === 'away') throw new Fault('agent_down');
      return call.taskId === null ? null : 'canceled';
    },
  };
  const done = (call: Call, taskId: string) => ({
    taskId,
    contextId: null,
    state: 'completed' as const,
    content: `done for ${call.agent}`,
    parts: [],
    schema: null,
    fingerprint: `${taskId} done`,
    messageIds: [call.messageId],
  });
  /** By the call's id alone. */
  const fate = (call: Call) => {
    const number = Number.parseInt(call.id.slice(-6), 16) % 10;
    return number === 0 ? 'lost' : number === 1 ? 'away' : number < 5 ? 'slow' : number < 8 ? 'lists' : 'prompt';
  };
  const world = (): World => ({
    settings,
    ledger: under.ledger,
    archive: under.archive,
    files: { keep: async () => [], restore: async () => [], read: async () => null },
    planner: {
      decide: async () => ({ text: 'all is told', toolCalls: [], finish: 'stop', usage: { model: 'scripted' } }),
    },
    agents,
    stream: { publish: () => {}, relay: () => ({ append: () => {}, end: () => {} }), close: () => {}, settled: async () => {} },
    subscriptions: { watch: async () => new Response(), async *events() {} },
    runner: { arm: async () => {}, kick: async () => {}, disarm: async () => {}, stop: async () => {} },
    clock: { nowMs: () => Date.now() },
    ids: { next: () => crypto.randomUUID() },
    log: (event, notes) => {
      if (event === 'work failed') failed.push({ event, ...notes });
    },
  });
  const failed: unknown[] = [];

  /** Whatever is due, as the sweep names it; when nothing is, time passes. */
  async function workOff(): Promise<number> {
    const here = world();
    for (let rounds = 1; rounds < 300; rounds++) {
      const names: readonly RunnerName[] = await under.ledger.sweep(0, 10_000);
      await lanes(names, width, async (name) => {
        await wake(here, { name, signal: new AbortController().signal, endsAtMs: Date.now() + alarmMs, failures: 0, bugs: 0 });
      });
      const [next] = await under.query<{ readonly seconds: number | null }>(
        'select extract(epoch from min(wake_at) - now())::float8 as seconds from (select wake_at from call union all select wake_at from intention) due',
      );
      if (next?.seconds === null || next === undefined) return rounds;
      await shift(under.query, Math.max(60, Math.ceil(next.seconds)));
    }
    throw new Error('it does not end');
  }

  beforeAll(async () => {
    const began = performance.now();
    const rounds = await workOff();
    console.log(`worked off in ${rounds} rounds, ${Math.round(performance.now() - began)} ms`);
  }, 240_000);

  test('all work ends, whatever share of the notifications was lost', async () => {
    const left = await under.query(
      `select state as status from call where state in ('planned', 'sending', 'working', 'input_required', 'auth_required', 'unknown')
        union all select status from intention where status not in ('answered', 'canceled', 'expired')`,
    );
    expect(left).toEqual([]);
    expect(failed).toEqual([]);
  });

  test('each call closes once, each intention ends once, and nothing is sent twice', async () => {
    await under.query('create index on message (call_id)');
    expect(await broken(under.query)).toEqual({});
    expect([...sends.values()].filter((times) => times !== 1)).toEqual([]);
    expect(sends.size).toBe(targets.filter(({ standing }) => standing === 'planned').length);
  });

  test('calls at work came to the end that their agents knew, whatever share of the notifications was lost', async () => {
    const states = await under.query<{ readonly id: string; readonly state: string }>('select id, state from call');
    const stateOf = new Map(states.map(({ id, state }) => [id, state]));
    for (const [rate, drop] of dropRates.entries()) {
      const working = targets.filter(({ standing }, number) => number % dropRates.length === rate && standing === 'working');
      const wrong = working.filter(({ call }) => stateOf.get(call.id) !== (fate(call) === 'lost' ? 'failed' : 'completed'));
      expect(working.length).toBeGreaterThan(0);
      expect(wrong, `${drop} of them lost`).toEqual([]);
    }
  });

  test('of each CancelTask that was wanted it is known what came of it', async () => {
    const outcomes = await under.query<{ readonly cancel_outcome: string | null }>(
      `select cancel_outcome from call where cancel is not null group by 1 order by 1`,
    );
    expect(outcomes.map(({ cancel_outcome }) => cancel_outcome)).toEqual(['canceled', 'unsettled']);
  });

  /** The call's own agent tells of its task once more. */
  async function told({ call, task }: Target): Promise<number> {
    const headers = { 'X-A2A-Notification-Token': await pushSecret(pick(random, keys), call.id) };
    const body = JSON.stringify({ task: { id: task, status: { state: 'TASK_STATE_COMPLETED' } } });
    return (await receivePush(doors, call.id, new Request('https://chat.example/', { method: 'POST', headers, body }))).status;
  }

  test('a task of a stopped call that is named only now is canceled now', async () => {
    const nameless = await under.query<{ readonly id: string }>(`select id from call where cancel = 'wanted' and task_id is null`);
    const ids = new Set(nameless.map(({ id }) => id));
    const late = targets.filter(({ call }) => ids.has(call.id));
    expect(late.length).toBeGreaterThan(0);
    await lanes(late, width, async (target) => expect(await told(target)).toBe(202));
    await workOff();
    const outcomes = await under.query<{ readonly id: string; readonly cancel_outcome: string }>('select id, cancel_outcome from call');
    const outcomeOf = new Map(outcomes.map(({ id, cancel_outcome }) => [id, cancel_outcome]));
    const prompt = late.filter(({ call }) => fate(call) !== 'away');
    expect(prompt.map(({ call }) => outcomeOf.get(call.id))).toEqual(prompt.map(() => 'canceled'));
  });

  test('a notification for any of them is answered 200, and wakes nobody', async () => {
    const rows = await everything();
    kicks.clear();
    await lanes(shuffle(random, targets).slice(0, 500), width, async (target) => expect(await told(target)).toBe(200));
    expect(kicks.size).toBe(0);
    expect(await everything()).toEqual(rows);
  });
});

test('one task that two calls are told of at once is given to one of them, and neither is turned away', async () => {
  const fives = await Promise.all(
    Array.from({ length: 60 }, () =>
      besiege(
        under,
        Array.from({ length: 5 }, () => 'sending' as const),
      ),
    ),
  );
  const statuses: number[] = [];
  for (const five of fives) {
    const task = `task that ${five[0]?.call.id} shares`;
    const twins = five.filter(({ call }) => call.agent === 'weather');
    const notify = async ({ call }: Target) => {
      const headers = { 'X-A2A-Notification-Token': await pushSecret(keys[0], call.id) };
      const body = JSON.stringify({ statusUpdate: { taskId: task, status: { state: 'TASK_STATE_WORKING' } } });
      return (await receivePush(doors, call.id, new Request('https://chat.example/', { method: 'POST', headers, body }))).status;
    };
    statuses.push(...(await Promise.all([...twins, ...twins, ...twins].map(notify))));
    const held = await under.query('select id from call where task_id = $1', [task]);
    expect(held).toHaveLength(1);
  }
  expect(new Set(statuses)).toEqual(new Set([202]));
});

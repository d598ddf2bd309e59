// The Durable Object that wakes work: an alarm clock and nothing else. Effects: alarms; its work has the others.

import { DurableObject } from 'cloudflare:workers';
import { bind } from '../bind.ts';
import { asFault, bugOf, toRetryMs } from '../fault.ts';
import { alarmMs } from '../intention/limits.ts';
import type { RunnerName } from '../intention/rules.ts';
import { runCall } from './call.ts';
import { runIntention } from './run.ts';

/**
 * Named `intention:<id>` or `call:<id>`. `alarm` is the only place where work runs, and it never throws: the platform
 * drops an alarm that threw seven times. Re-arming only ever moves an alarm earlier. It owns no truth: what it forgets,
 * the sweep finds in Postgres.
 */
export class Runner extends DurableObject<Env> {
  /** Of the alarm in flight. */
  #work: AbortController | null = null;
  #failures = 0;

  async arm(name: RunnerName, inMs: number): Promise<void> {
    this.ctx.storage.kv.put('name', name);
    const at = Date.now() + inMs;
    const armed = await this.ctx.storage.getAlarm();
    if (armed === null || armed > at) await this.ctx.storage.setAlarm(at);
  }

  async kick(name: RunnerName): Promise<void> {
    await this.arm(name, 0);
  }

  async disarm(): Promise<void> {
    if (this.#work !== null) return;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async stop(name: RunnerName): Promise<void> {
    this.#work?.abort();
    await this.kick(name);
  }

  override async alarm(): Promise<void> {
    const name = this.ctx.storage.kv.get<RunnerName>('name');
    if (name === undefined) return;
    const endsAtMs = Date.now() + alarmMs;
    const work = new AbortController();
    this.#work = work;
    const world = bind(this.env);
    let inMs: number | null;
    try {
      inMs = await (name.startsWith('call:') ? runCall : runIntention)(world, { name, signal: work.signal, endsAtMs });
      this.#failures = 0;
    } catch (thrown) {
      const fault = asFault(thrown);
      this.#failures += 1;
      inMs = toRetryMs(fault, this.#failures);
      world.log('work failed', { runner: name, code: fault.code, failures: this.#failures, ...fault.notes, bug: bugOf(fault) });
    } finally {
      this.#work = null;
    }
    await world.stream.settled();
    if (inMs !== null) await this.arm(name, inMs);
    else if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.deleteAll();
  }
}

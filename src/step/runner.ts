// The Durable Object that wakes work: an alarm clock and nothing else. Effects: alarms; its work has the others.

import { DurableObject } from 'cloudflare:workers';
import { bind } from '../bind.ts';
import { alarmMs, misconfiguredMs } from '../intention/limits.ts';
import type { RunnerName } from '../intention/rules.ts';
import type { World } from '../world.ts';
import { wake } from './wake.ts';

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

  /** Null while the configuration is not whole: whoever asks over HTTP is told, and the work waits. */
  #world(): World | null {
    try {
      return bind(this.env);
    } catch {
      return null;
    }
  }

  override async alarm(): Promise<void> {
    const name = this.ctx.storage.kv.get<RunnerName>('name');
    if (name === undefined) return;
    const world = this.#world();
    if (world === null) return this.arm(name, misconfiguredMs);
    const endsAtMs = Date.now() + alarmMs;
    const work = new AbortController();
    this.#work = work;
    // Bugs are counted across evictions, or a call that meets one each time would be tried for ever.
    const bugs = this.ctx.storage.kv.get<number>('bugs') ?? 0;
    const woken = await wake(world, { name, signal: work.signal, endsAtMs, failures: this.#failures, bugs });
    this.#work = null;
    this.#failures = woken.failures;
    if (woken.bugs !== bugs) this.ctx.storage.kv.put('bugs', woken.bugs);
    if (woken.inMs !== null) await this.arm(name, woken.inMs);
    else if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.deleteAll();
  }
}

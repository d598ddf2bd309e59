// Rule 5, Sweep: due work that nobody took up. It names Runners and changes nothing. Effects: Postgres.

import { sql } from 'drizzle-orm';
import type { RunnerName } from '../intention/rules.ts';
import type { Database } from './database.ts';

/** One request; oldest first. A row that is due for longer than the grace is an anomaly: its alarm was lost. */
export async function sweep(db: Database, graceSeconds: number, limit: number): Promise<readonly RunnerName[]> {
  const rows = await db.one<{ name: RunnerName }>(sql`select name from (
      select 'intention:' || id as name, wake_at from intention where wake_at < now() - ${graceSeconds} * interval '1 second'
      union all
      select 'call:' || id, wake_at from call where wake_at < now() - ${graceSeconds} * interval '1 second') due
    order by wake_at limit ${limit}`);
  return rows.map((row) => row.name);
}

// The agents that the configured sources told of. Effects: Postgres.

import { sql } from 'drizzle-orm';
import type { AgentSource, SourceReading } from '../agent/card.ts';
import type { Ids, Registry } from '../world.ts';
import { type Database, json } from './database.ts';
import { type AgentRow, agentFrom } from './rows.ts';

/**
 * One request. An agent keeps its id under its name when its source moves, but not what was learned of it at its old
 * address; a name that another configured source holds gets a number. A source that could not be read keeps the agents it had.
 */
export async function keepAgents(
  db: Database,
  readings: readonly SourceReading[],
  sources: readonly AgentSource[],
  ids: Ids,
): Promise<void> {
  if (readings.length === 0) return;
  const urls = json(sources.map((source) => source.url));
  const found = readings.flatMap((reading) =>
    reading.agents.map((agent) => ({
      id: ids.next(),
      namespace: agent.namespace,
      name: agent.name,
      source: reading.source,
      card_url: agent.cardUrl,
      card: agent.card,
    })),
  );
  await db.batch([
    sql`insert into agent_source (url, fetched_at, fresh_until, error)
      select x.url, now(), now() + x.ms * interval '1 millisecond', x.error
      from jsonb_to_recordset(${json(readings.map((reading) => ({ url: reading.source, ms: reading.freshForMs, error: reading.error })))}) as x(url text, ms bigint, error text)
      on conflict (url) do update set fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until, error = excluded.error`,
    sql`with x as (select x.*, row_number() over (partition by x.namespace, x.name order by x.source) as twin
        from jsonb_to_recordset(${json(found)}) as x(id uuid, namespace text, name text, source text, card_url text, card jsonb)),
      named as (select x.*, x.name || case
          when x.twin > 1 then '-' || x.twin
          when exists (select 1 from agent a where a.namespace = x.namespace and a.name = x.name and a.source <> x.source and a.missing_since is null
            and a.source in (select value from jsonb_array_elements_text(${urls}))) then '-2'
          else '' end as unique_name from x)
      insert into agent (id, namespace, name, source, card_url, card, fetched_at)
      select id, namespace, unique_name, source, card_url, card, now() from named
      on conflict (namespace, name) do update set source = excluded.source, card_url = excluded.card_url, card = excluded.card,
        fetched_at = excluded.fetched_at, missing_since = null,
        deduplicates = case when agent.card_url = excluded.card_url then agent.deduplicates end,
        probed_at = case when agent.card_url = excluded.card_url then agent.probed_at end,
        failures = case when agent.card_url = excluded.card_url then agent.failures else 0 end,
        down_until = case when agent.card_url = excluded.card_url then agent.down_until end`,
    sql`update agent a set missing_since = now()
      from jsonb_to_recordset(${json(readings.filter((reading) => reading.error === null).map((reading) => ({ url: reading.source })))}) as x(url text)
      where a.source = x.url and a.missing_since is null and a.fetched_at < now()`,
  ]);
}

/** What a probe of an agent showed. */
export async function probed(db: Database, agentId: string, deduplicates: boolean): Promise<void> {
  await db.one(sql`update agent set deduplicates = ${deduplicates}, probed_at = now() where id = ${agentId}::uuid`);
}

/** One request: the enabled agents of the configured sources, which sources want reading, and what was wrong when they were read. */
export async function readRegistry(db: Database, sources: readonly AgentSource[]): Promise<Registry> {
  const urls = json(sources.map((source) => source.url));
  const [row] = await db.one<{
    agents: readonly AgentRow[] | null;
    stale: readonly string[] | null;
    errors: readonly { source: string; error: string }[] | null;
  }>(sql`select
      (select jsonb_agg(to_jsonb(a) order by a.namespace, a.name) from agent a
        where a.enabled and a.missing_since is null and a.source in (select value from jsonb_array_elements_text(${urls}))) as agents,
      (select jsonb_agg(u.value) from jsonb_array_elements_text(${urls}) u
        where not exists (select 1 from agent_source s where s.url = u.value and s.fresh_until > now())) as stale,
      (select jsonb_agg(jsonb_build_object('source', s.url, 'error', s.error)) from agent_source s
        where s.error is not null and s.url in (select value from jsonb_array_elements_text(${urls}))) as errors`);
  return {
    agents: (row?.agents ?? []).map((agent) => agentFrom(agent, sources)),
    staleSources: sources.filter((source) => row?.stale?.includes(source.url)),
    errors: row?.errors ?? [],
  };
}

// Reads the configured sources of agents: single cards, and lists of agents. Effects: network.

import { z } from 'zod';
import { asFault, Fault } from '../fault.ts';
import { maxFreshMs, minFreshMs, readCardMs, rereadMs, usualFreshMs } from '../intention/limits.ts';
import { planName } from '../intention/message.ts';
import type { AgentSource, SourceReading } from './card.ts';
import { line } from './clean.ts';
import { statusFault } from './failure.ts';
import { callable } from './origin.ts';
import { agentSlug, cardHome, readCard } from './read-card.ts';
import { maxCardBytes, safeFetch } from './safe-fetch.ts';

/** Agents of one list. */
const maxAgents = 200;
/** UTF-16 units. */
const maxName = 100;

type Found = SourceReading['agents'][number];

/** The list of a runtime. Source: the README of a2a-runtime, `GET /`. */
const agentList = z.array(z.object({ namespace: z.string().catch('default'), name: z.string().catch(''), card: z.unknown() }));

/** All at once; what went wrong with one is in its reading. Never rejects. */
export async function readSources(sources: readonly AgentSource[]): Promise<readonly SourceReading[]> {
  return Promise.all(sources.map(readSource));
}

async function readSource(source: AgentSource): Promise<SourceReading> {
  try {
    const { agents, freshForMs } = await (source.kind === 'card' ? readOne(source) : readList(source));
    return { source: source.url, freshForMs, error: null, agents };
  } catch (thrown) {
    const fault = asFault(thrown);
    return { source: source.url, freshForMs: rereadMs, error: fault.detail ?? fault.code, agents: [] };
  }
}

async function readOne(source: AgentSource) {
  const addresses = cardAddresses(source.url);
  for (const [place, address] of addresses.entries()) {
    try {
      const { json, freshForMs } = await getJson(address, source);
      const card = readCard(json, address);
      if (typeof card === 'string') throw invalid(card);
      return { agents: [{ ...wireName(source.name ?? agentSlug(card.name)), cardUrl: address, card }], freshForMs };
    } catch (thrown) {
      // Who cannot be reached at one address is not asked at the other.
      if (place === addresses.length - 1 || asFault(thrown).code === 'agent_down') throw thrown;
    }
  }
  throw invalid('its address is not one we call');
}

async function readList(source: AgentSource) {
  const { json, freshForMs } = await getJson(source.url, source);
  const entries = agentList.safeParse(json);
  if (!entries.success) throw invalid('it is not a list of agents, each with namespace, name and card');
  const read = entries.data.slice(0, maxAgents).map((entry) => readEntry(entry, source.url));
  const agents = read.filter((found) => typeof found !== 'string');
  const wrong = read.find((found) => typeof found === 'string');
  if (agents.length === 0 && wrong !== undefined) throw invalid(wrong);
  return { agents, freshForMs };
}

function readEntry(entry: z.infer<typeof agentList>[number], listUrl: string): Found | string {
  const card = readCard(entry.card, listUrl);
  if (typeof card === 'string') return card;
  const home = callable(cardHome(entry.card) ?? '', listUrl);
  if (home === null) return 'the card names no address of the agent';
  const name = line(entry.name, maxName) || agentSlug(card.name);
  const namespace = line(entry.namespace, maxName) || 'default';
  return { ...unlikePlan(namespace, name), cardUrl: wellKnown(home, 'agent-card.json'), card };
}

/** `namespace/name`, as it stands on every wire. */
function wireName(name: string): Pick<Found, 'namespace' | 'name'> {
  const clean = line(name, maxName);
  const [namespace = '', ...rest] = clean.split('/');
  return namespace !== '' && rest.join('/') !== '' ? unlikePlan(namespace, rest.join('/')) : unlikePlan('default', clean || 'agent');
}

function unlikePlan(namespace: string, name: string): Pick<Found, 'namespace' | 'name'> {
  return { namespace, name: namespace === 'default' && name === planName ? agentSlug(name) : name };
}

/** Where the card may be: the address itself, or the places of v0.3 and later, and of v0.2. */
function cardAddresses(address: string): readonly string[] {
  const url = callable(address);
  if (url === null) return [];
  if (url.pathname.endsWith('.json')) return [url.href];
  return ['agent-card.json', 'agent.json'].map((file) => wellKnown(url, file));
}

function wellKnown(home: URL, file: string): string {
  return `${home.origin}${home.pathname.replace(/\/+$/, '')}/.well-known/${file}`;
}

async function getJson(url: string, source: AgentSource): Promise<{ readonly json: unknown; readonly freshForMs: number }> {
  const agent = source.name ?? URL.parse(url)?.host ?? '';
  const init = { headers: { Accept: 'application/json', 'A2A-Version': '1.0' } };
  const response = await safeFetch({ url, init, agent, source, timeoutMs: readCardMs, maxBytes: maxCardBytes, knock: null });
  if (!response.ok) throw statusFault(response.status, response.headers.get('retry-after'), agent);
  const text = await response.text();
  try {
    return { json: JSON.parse(text), freshForMs: freshFor(response.headers.get('cache-control')) };
  } catch (thrown) {
    throw invalid('it answered with something that is not JSON', thrown);
  }
}

function freshFor(cacheControl: string | null): number {
  const seconds = /\bmax-age=(\d+)/i.exec(cacheControl ?? '')?.[1];
  if (/\bno-(store|cache)\b/i.test(cacheControl ?? '')) return minFreshMs;
  return seconds === undefined ? usualFreshMs : Math.min(maxFreshMs, Math.max(minFreshMs, Number(seconds) * 1_000));
}

function invalid(detail: string, cause?: unknown): Fault {
  return new Fault('agent_invalid', { detail, cause });
}

// Reads an agent card of any protocol version into the one that we keep. Pure.

import { z } from 'zod';
import { planName } from '../intention/message.ts';
import type { AgentCard, AgentInterface, AgentSkill } from './card.ts';
import { line } from './clean.ts';
import { callable, sameOrigin } from './origin.ts';

/** Caps in UTF-16 units and counts: all of it may stand in a prompt, and nobody vouches for it. */
const maxName = 100;
const maxDescription = 2_000;
const maxSkills = 20;
const maxSkillDescription = 300;
const maxExamples = 10;
const maxExample = 200;
const maxTags = 10;
const maxTag = 50;

const text = (max: number) =>
  z
    .string()
    .catch('')
    .transform((value) => line(value, max));

/** The items that fit; what else stands in the list, or instead of one, is passed over. */
const list = <Item extends z.ZodType>(item: Item, max: number) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((values) => values.map((value) => item.safeParse(value)).flatMap((read) => (read.success ? [read.data] : [])))
    .transform((items) => items.slice(0, max));

const flag = z.boolean().catch(false);
const word = z.string().optional().catch(undefined);
const texts = (count: number, max: number) =>
  list(
    z.string().transform((value) => line(value, max)),
    count,
  );

/** Both wires at once. Sources: A2A v1.0 §4.4.1 and §4.4.6; v0.3 §5.5 (`url`, `preferredTransport`, `additionalInterfaces`). */
const wireCard = z.looseObject({
  name: text(maxName),
  description: text(maxDescription),
  version: text(maxName),
  url: word,
  preferredTransport: word,
  protocolVersion: word,
  supportedInterfaces: list(z.object({ url: z.string(), protocolBinding: word, protocolVersion: word, tenant: word }), 20),
  additionalInterfaces: list(z.object({ url: z.string(), transport: word }), 20),
  capabilities: z.object({ streaming: flag, pushNotifications: flag }).catch({ streaming: false, pushNotifications: false }),
  skills: list(
    z.object({
      id: text(maxName),
      name: text(maxName),
      description: text(maxSkillDescription),
      tags: texts(maxTags, maxTag),
      examples: texts(maxExamples, maxExample),
    }),
    maxSkills,
  ),
});

/** One way to reach the agent, as its card names it. */
interface Offer {
  readonly url: string;
  readonly binding: string;
  readonly version: string;
  readonly tenant: string | undefined;
}

/**
 * The card, every text capped, or in words what is wrong with it. Interfaces are resolved against `cardUrl`; those that are
 * not on its origin or not of a kind we speak are dropped, and of the others the newest comes first, else the card's order is kept.
 */
export function readCard(json: unknown, cardUrl: string): AgentCard | string {
  const home = callable(cardUrl);
  if (home === null) return `the address of the card is not one we call: ${line(cardUrl, maxExample)}`;
  const read = wireCard.safeParse(json);
  if (!read.success) return 'the card is not a JSON object';
  const card = read.data;

  const offers: readonly Offer[] = [
    ...card.supportedInterfaces.map((offer) => ({
      url: offer.url,
      binding: offer.protocolBinding ?? 'JSONRPC',
      version: offer.protocolVersion || '1.0',
      tenant: offer.tenant,
    })),
    ...(card.url === undefined
      ? []
      : [{ url: card.url, binding: card.preferredTransport ?? 'JSONRPC', version: legacyVersion(card), tenant: undefined }]),
    ...card.additionalInterfaces.map((offer) => ({
      url: offer.url,
      binding: offer.transport ?? 'JSONRPC',
      version: '0.3',
      tenant: undefined,
    })),
  ];
  if (offers.length === 0) return 'the card names no address of the agent';

  const spoken = offers.flatMap((offer) => readInterface(offer, home));
  if (spoken.length === 0) return 'the card offers neither JSONRPC nor HTTP+JSON in a version that we speak (1.0, 0.3, 0.1)';
  const ours = spoken.filter((offer) => sameOrigin(new URL(offer.url), home));
  if (ours.length === 0) return `the agent's addresses are not on the origin of its card, ${home.origin}`;

  return {
    name: card.name || home.hostname,
    description: card.description,
    version: card.version,
    interfaces: byVersion(ours),
    streaming: card.capabilities.streaming,
    pushNotifications: card.capabilities.pushNotifications,
    skills: card.skills.map((skill): AgentSkill => ({ ...skill, name: skill.name || skill.id })),
  };
}

/** The address that a card gives for itself where it came without one: in a list. Null: it names none. */
export function cardHome(json: unknown): string | null {
  const read = wireCard.safeParse(json);
  return read.success ? (read.data.supportedInterfaces[0]?.url ?? read.data.url ?? null) : null;
}

/** A name for the wire where the configuration gives none: letters and digits of any script, else `-`. Never empty, never the planner's. */
export function agentSlug(cardName: string): string {
  const slug = line(cardName, maxName)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
  if (slug === planName) return `${slug}-agent`;
  return slug || 'agent';
}

/**
 * In a hybrid card `protocolVersion` may be the new one's; without new interfaces it says what is spoken at `url`. Where it
 * says nothing, only v0.1 had `authentication`, and what v0.2 put in its place was `security`.
 */
function legacyVersion(card: z.infer<typeof wireCard>): string {
  if (card.supportedInterfaces.length > 0) return '0.3';
  if (card.protocolVersion) return card.protocolVersion;
  const later = ['preferredTransport', 'additionalInterfaces', 'security', 'securitySchemes'];
  return 'authentication' in card && !later.some((field) => isSaid(card[field])) ? '0.1' : '0.3';
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

/** The newest first, else as the card has it; a v0.3 card may name its preferred interface again among the others. */
function byVersion(offers: readonly AgentInterface[]): readonly AgentInterface[] {
  const different = offers.filter((offer, place) => place === offers.findIndex((former) => isSameWay(former, offer)));
  return (['1.0', '0.3', '0.1'] as const).flatMap((wanted) => different.filter(({ version }) => version === wanted));
}

function isSameWay(one: AgentInterface, other: AgentInterface): boolean {
  return one.url === other.url && one.binding === other.binding && one.version === other.version && one.tenant === other.tenant;
}

function readInterface(offer: Offer, home: URL): readonly AgentInterface[] {
  const url = callable(offer.url, home.href);
  const letters = offer.binding.toUpperCase().replaceAll(/[^A-Z]/g, '');
  const binding = (['JSONRPC', 'HTTP+JSON'] as const).find((known) => known.replace('+', '') === letters);
  const version = readVersion(offer.version);
  if (url === null || binding === undefined || version === null) return [];
  return [{ url: url.href, binding, version, ...(offer.tenant ? { tenant: offer.tenant } : {}) }];
}

/** v0.2 spoke JSON-RPC alone, which v0.3 left as it was. Null: a version that we don't know. */
function readVersion(named: string): AgentInterface['version'] | null {
  const [, major, minor] = /^v?(\d+)(?:\.(\d+))?/i.exec(named.trim()) ?? [];
  if (major === '1') return '1.0';
  if (major !== '0') return null;
  return minor === '1' ? '0.1' : '0.3';
}

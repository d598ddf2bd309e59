// A card that A2A v1.0 and v0.3 clients can both read. Pure.

import { AgentCard } from '@a2a-js/sdk';
import type { CardWords } from './agent.ts';

/** The v1.0 card, as the SDK's request handler wants it. */
export function v1Card(words: CardWords, url: string): AgentCard {
  return AgentCard.fromJSON({
    name: words.name,
    description: words.description,
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: words.streaming, pushNotifications: words.pushNotifications },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: words.skills,
  });
}

/** The card on the wire: v1.0 with the fields that a v0.3 client needs. Source: A2A v0.3 §5.5 AgentCard. */
export function hybridCard(card: AgentCard, url: string): unknown {
  const json = AgentCard.toJSON(card);
  return Object.assign({}, json, { url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' });
}

// An agent's card as we keep it: parsed, capped, cleaned; and the registry's words. Pure.

import type { AgentName } from '../intention/message.ts';

/** One way to reach the agent. Source: A2A v1.0 §4.4.6 AgentInterface; older cards are read into it. */
export interface AgentInterface {
  readonly url: string;
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  /** What is spoken there: 0.3 stands for v0.2 too, which sends the same. */
  readonly version: '1.0' | '0.3' | '0.1';
  readonly tenant?: string;
}

export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples: readonly string[];
}

/** The part of an agent card that we use, every text capped. All interfaces are on the card's own origin. */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly interfaces: readonly AgentInterface[];
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  readonly skills: readonly AgentSkill[];
}

/** Where agents come from: the URL of one card, or of a list of agents. `headers` go to its origin alone, never into rows. */
export interface AgentSource {
  readonly kind: 'card' | 'list';
  readonly url: string;
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long a call to its agents may take. Absent: as limits.ts says. */
  readonly deadlineMs?: number;
  /** Its agents answer a repeated messageId with the task they have, so that a message may be sent again under it. */
  readonly deduplicates?: boolean;
}

/** An agent that the planner may choose. Source: table `agent`. */
export interface Agent {
  readonly id: string;
  readonly name: AgentName;
  /** The URL of the source that told of it. */
  readonly source: string;
  readonly cardUrl: string;
  readonly card: AgentCard;
  /** It answers a repeated messageId with the task it has: by configuration, or by a probe that an operator started. */
  readonly deduplicates: boolean;
  /** How long one call may take, by configuration; null: as limits.ts says. */
  readonly allowedMs: number | null;
  /** Too many calls in a row did not reach it: it is not asked before then. Milliseconds since the epoch, the database's clock. */
  readonly downUntilMs: number | null;
}

/** What a look at one source brought: its agents, or why there are none. Milliseconds until it should be looked at again. */
export interface SourceReading {
  readonly source: string;
  readonly freshForMs: number;
  readonly error: string | null;
  readonly agents: readonly { readonly namespace: string; readonly name: string; readonly cardUrl: string; readonly card: AgentCard }[];
}

// Which agents a text calls for: its words against those of the agents' cards. Pure.

import { isLight, wordsOf } from './words.ts';

/** What is known of an agent. Lists may be empty: a request need not show everything. */
export interface KnownAgent {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Names of skills. */
  readonly skills: readonly string[];
  readonly examples: readonly string[];
}

/** `strong`: a name, a tag or a skill's name was said, not only a word of a description or an example. */
export interface Match {
  readonly agent: KnownAgent;
  readonly score: number;
  readonly strong: boolean;
  /** How many of the text's words the agent knows, light ones apart. */
  readonly hits: number;
}

const weights = { name: 3, tag: 2, skill: 2, description: 1, example: 1 } as const;
const strongWeight = 2;
/** What a light word counts, of its weight. */
const lightShare = 0.2;
/** A weak match needs this share of the text's words: one common word in a long text is chance. */
const weakShare = 0.25;

/** The agents that a text calls for, best first; empty if none does. */
export function matches(text: string, agents: readonly KnownAgent[]): readonly Match[] {
  const asked = [...wordsOf(text)];
  const heavy = asked.filter((word) => !isLight(word));
  const known = agents.map((agent) => ({ agent, words: weighted(agent) }));
  const rarity = (word: string) => Math.log(1 + agents.length / Math.max(1, known.filter(({ words }) => words.has(word)).length));
  return known
    .map(({ agent, words }): Match => {
      const hits = heavy.filter((word) => words.has(word));
      const sum = asked.reduce((total, word) => total + (words.get(word) ?? 0) * rarity(word) * (isLight(word) ? lightShare : 1), 0);
      const coverage = heavy.length === 0 ? 0 : hits.length / heavy.length;
      return {
        agent,
        score: sum * (0.5 + 0.5 * coverage),
        strong: hits.some((word) => (words.get(word) ?? 0) >= strongWeight),
        hits: hits.length,
      };
    })
    .filter(({ hits, strong }) => hits > 0 && (strong || hits / heavy.length >= weakShare))
    .toSorted((one, other) => other.score - one.score);
}

function weighted(agent: KnownAgent): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const word of wordsOf(text)) words.set(word, Math.max(words.get(word) ?? 0, weight));
  };
  add(agent.name, weights.name);
  for (const tag of agent.tags) add(tag, weights.tag);
  for (const skill of agent.skills) add(skill, weights.skill);
  add(agent.description, weights.description);
  for (const example of agent.examples) add(example, weights.example);
  return words;
}

/** A part of a question, in the user's own words, with the agents it calls for (at least one), best first. */
export interface QuestionPart {
  readonly query: string;
  readonly matches: readonly Match[];
}

const joints =
  /(?:[，,；;。？?！!.]\s*)?(?:然后再|然后|接着|并且|而且|另外|还有|同时|以及|再|并|和)|[，,；;。？?！!.]\s+(?:and\s+)?(?:then\s+|also\s+)?|[，；。？！]|\s+and\s+(?:then\s+|also\s+)?|\s+then\s+/giu;

/** A question has a handful; a long senseless text may have thousands. */
const maxJoints = 12;

/**
 * The parts of a question that different agents answer: it is parted at a joining word if both sides are requests of
 * their own for different agents. Empty: no agent fits. A question for one agent stays whole.
 */
export function parts(question: string, agents: readonly KnownAgent[]): readonly QuestionPart[] {
  for (const joint of [...question.matchAll(joints)].slice(0, maxJoints)) {
    const left = part(question.slice(0, joint.index), agents);
    const rest = question.slice(joint.index + joint[0].length);
    const right = part(rest, agents);
    if (!left || !right || left.matches[0]?.agent.name === right.matches[0]?.agent.name) continue;
    return [left, ...parts(right.query, agents)];
  }
  const whole = matches(question, agents);
  return whole.length > 0 ? [{ query: question.trim(), matches: whole }] : [];
}

/** Null: not a request of its own (a lone name of something is not). */
function part(text: string, agents: readonly KnownAgent[]): QuestionPart | null {
  const query = text
    .replace(/^\s*(?:first,?\s+|先|首先)/iu, '')
    .replace(/[\s，,；;。]+$/u, '')
    .trim();
  const found = matches(query, agents);
  return found[0] && (found[0].strong || found[0].hits > 1) ? { query, matches: found } : null;
}

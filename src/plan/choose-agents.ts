// Which agents a prompt shows, and how their cards are written down: as data, one line per fact. Pure.

import type { Agent } from '../agent/card.ts';
import { capUnits, oneLine } from './text.ts';

export const maxAgents = 40;
/** Of one agent's block. */
const maxCardUnits = 600;

/**
 * At most `maxAgents`, ascending by name so that the same choice gives the same bytes. When there are more: `kept` ones
 * first, then those whose cards share most with the question; a word that few cards have counts for more.
 */
export function chooseAgents(agents: readonly Agent[], question: string, kept: ReadonlySet<string>): readonly Agent[] {
  const chosen = agents.length <= maxAgents ? agents : best(agents, question, kept);
  return [...chosen].sort(byName);
}

function byName(a: Agent, b: Agent): number {
  return a.name < b.name ? -1 : 1;
}

function best(agents: readonly Agent[], question: string, kept: ReadonlySet<string>): readonly Agent[] {
  const asked = wordsOf(question);
  const shared = agents.map((agent) => ({ agent, words: [...wordsOf(wholeText(agent))].filter((word) => asked.has(word)) }));
  const rarity = new Map<string, number>();
  for (const { words } of shared) for (const word of words) rarity.set(word, (rarity.get(word) ?? 0) + 1);
  return shared
    .map(({ agent, words }) => ({
      agent,
      score: kept.has(agent.name) ? Number.POSITIVE_INFINITY : words.reduce((sum, word) => sum + 1 / (rarity.get(word) ?? 1), 0),
    }))
    .sort((a, b) => (a.score === b.score ? byName(a.agent, b.agent) : b.score - a.score))
    .slice(0, maxAgents)
    .map(({ agent }) => agent);
}

function wholeText({ name, card }: Agent): string {
  return [
    name,
    card.name,
    card.description,
    ...card.skills.flatMap((skill) => [skill.name, skill.description, ...skill.tags, ...skill.examples]),
  ].join('\n');
}

const runsWithoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;

/** Words of two letters or more; of scripts without spaces, pairs of neighbours. */
function wordsOf(text: string): ReadonlySet<string> {
  const folded = text.normalize('NFKC').toLowerCase();
  const words = folded.replace(runsWithoutSpaces, ' ').match(/[\p{Letter}\p{Number}]{2,}/gu) ?? [];
  const runs = folded.match(runsWithoutSpaces) ?? [];
  const pairs = runs.map((run) => [...run]).flatMap((run) => run.slice(1).map((character, index) => `${run[index]}${character}`));
  return new Set([...words, ...pairs]);
}

/**
 * The list of agents as the model (and the stand-in for it) reads it:
 *
 *     <agents>
 *     - weather: Tells the weather of a city.
 *       skill: Forecast: Weather of the next days; examples: 上海天气如何 | Weather in Paris?
 *     </agents>
 *
 * Each value is one line without the fence's own tokens; a block is at most 600 UTF-16 units. A name ends at the first colon.
 */
export function describeAgents(agents: readonly Agent[]): string {
  return ['<agents>', ...agents.map(describe), '</agents>'].join('\n');
}

function describe({ name, card }: Agent): string {
  const skills = card.skills.map((skill) => {
    const examples = skill.examples.map(data).filter((example) => example !== '');
    return `  skill: ${data(skill.name)}: ${data(skill.description)}${examples.length > 0 ? `; examples: ${examples.join(' | ')}` : ''}`;
  });
  return capUnits([`- ${name}: ${data(card.description) || data(card.name)}`, ...skills].join('\n'), maxCardUnits);
}

/** Card text is untrusted. The bracket is replaced, not removed: what is left can never form the token again. */
function data(text: string): string {
  return oneLine(text).replace(/<(?=\s*\/?\s*agents\b)/gi, '‹');
}

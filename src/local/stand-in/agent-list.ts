// Reads the list of agents that a planner shows its model. Pure.

import type { KnownAgent } from './match.ts';

/** On lines of its own: the rules speak of the fence, too. */
const fence = /<agents>\n([\s\S]*?)\n<\/agents>/u;

/** A text without its list of agents. */
export function withoutAgents(text: string): string {
  return text.replace(fence, '').trim();
}

/**
 * The agents of the first list among `texts`, as far as they are among `names`; a name without an entry is known by its
 * name alone. Source: `describeAgents` in src/plan/choose-agents.ts.
 */
export function agentsIn(texts: readonly string[], names: readonly string[]): readonly KnownAgent[] {
  const list = texts.map((text) => fence.exec(text)?.[1]).find((found) => found !== undefined) ?? '';
  const blocks = new Map(list.split(/^- /mu).map((block) => [block.slice(0, block.indexOf(': ')), block] as const));
  return names.map((name) => read(name, blocks.get(name) ?? `${name}: `));
}

function read(name: string, block: string): KnownAgent {
  const [head = '', ...lines] = block.split('\n');
  const skills = lines.flatMap((line) => {
    const [, skill = '', rest = ''] = /^\s*skill: ([^:]*):? ?(.*)$/u.exec(line) ?? [];
    if (skill === '') return [];
    const [said = '', examples = ''] = rest.split(/;? ?\bexamples: /u);
    return [{ skill, said, examples: examples.split(' | ').filter((example) => example !== '' && !example.endsWith('…')) }];
  });
  const tags = lines.flatMap((line) => /\btags: ([^;]*)/u.exec(line)?.[1]?.split(/[,|]/u) ?? []);
  return {
    name,
    description: [head.slice(name.length + 2), ...skills.map(({ said }) => said)].join('\n'),
    tags,
    skills: skills.map(({ skill }) => skill),
    examples: skills.flatMap(({ examples }) => examples),
  };
}

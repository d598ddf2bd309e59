// One decision by fixed rules, from nothing but what the request holds. Pure.

import { type Language, languageOf } from '../../plan/language.ts';
import { compose } from './compose.ts';
import { asksForAbilities, asksForRework, isAnswer, isBrief, isDismissal, isGreeting, isRefusal, isThanks, isVerdict } from './manner.ts';
import { type KnownAgent, matches, parts, type QuestionPart } from './match.ts';
import { progress, report } from './report.ts';
import type { CompletionRequest } from './request.ts';
import { type MadeCall, type Scene, sceneOf } from './scene.ts';
import { abilities, sentences } from './sentences.ts';
import { lastOf, threadsOf } from './threads.ts';

export type Decision =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: 'call_agent' | 'reassign'; readonly input: Readonly<Record<string, string>> };

/** At most one call at a time: parts of a question are worked on in turn. */
export function decide(request: CompletionRequest): Decision {
  const scene = sceneOf(request);
  const language = languageOf(scene.question);
  if (!scene.mayCall) return forced(scene, language);
  if (scene.said !== null) return answering(scene, scene.said);
  if (scene.calls.length === 0) return opening(scene, language);
  return going(scene, language);
}

const text = (said: string): Decision => ({ kind: 'text', text: said });
const move = (to: string): Decision => ({ kind: 'call', tool: 'reassign', input: { to } });

/** Tools may not be called: only what is known is reported. */
function forced(scene: Scene, language: Language): Decision {
  return scene.calls.length > 0 ? text(report(scene, language)) : nobodyCalled(scene, language);
}

/** The user spoke after the calls: to the agent that asks, unless the words are of something else. */
function answering(scene: Scene, said: string): Decision {
  const asking = threadsOf(scene.calls)
    .map(lastOf)
    .findLast(({ result: { kind } }) => kind === 'asked' || kind === 'unsure');
  if (!asking) return opening({ ...scene, question: said, said: null, calls: [] }, languageOf(said));
  if (isDismissal(said) && asking.result.kind === 'asked') return text(sentences[languageOf(said)].left);
  const unsure = asking.result.kind === 'unsure';
  if (scene.moves.includes('new') && !(unsure && isVerdict(said)) && isChangeOfSubject(scene, asking, said)) return move('new');
  const language = languageOf(asking.query);
  if (unsure && isRefusal(said)) return text(sentences[languageOf(said)].left);
  const query = unsure ? asking.query : compose(asking.query, said);
  const answers = scene.answerable.get(asking.agent);
  return {
    kind: 'call',
    tool: 'call_agent',
    input: { agent: asking.agent, query, reason: sentences[language].answered, ...(answers === undefined ? {} : { answers }) },
  };
}

function isChangeOfSubject(scene: Scene, asking: MadeCall, said: string): boolean {
  if (isGreeting(said) || isThanks(said) || asksForAbilities(said)) return true;
  const [best] = matches(said, scene.agents);
  if (best?.agent.name === asking.agent) return false;
  if (!isAnswer(said)) return true;
  // Who is called by name is meant.
  return best !== undefined && (said.includes(best.agent.name) || (!isBrief(said) && best.hits > 1));
}

/** The first look at a question. */
function opening(scene: Scene, language: Language): Decision {
  const { question, agents, moves } = scene;
  const newest = moves.findLast((id) => id !== 'new');
  if (newest !== undefined && answersAnother(scene)) return move(newest);
  const talk = smallTalk(scene, language);
  if (talk !== null) return text(talk);
  const [first] = parts(question, agents);
  const { asked, pointing } = asksForRework(question);
  if (asked && (pointing || !first)) return text(sentences[language].cannotRework(scene.lastReport));
  return first ? ask(first, language, []) : nobodyCalled(scene, language);
}

/** A lone name, number or date asks for nothing itself, unless it names an agent or its skill. */
function answersAnother({ question, agents }: Scene): boolean {
  if (!isAnswer(question) || !isBrief(question)) return false;
  return !matches(question, agents).some(({ strong }) => strong);
}

/** Calls were made and their results are here: the next part, another agent after a failure, or the report. */
function going(scene: Scene, language: Language): Decision {
  const { next, tried } = progress(scene);
  return next ? ask(next, language, tried) : text(report(scene, language));
}

function ask(part: QuestionPart, language: Language, tried: readonly string[]): Decision {
  const agent = part.matches.find((match) => !tried.includes(match.agent.name))?.agent.name ?? '';
  const reason = sentences[language][tried.length > 0 ? 'instead' : 'fits'];
  return { kind: 'call', tool: 'call_agent', input: { agent, query: part.query, reason } };
}

function smallTalk({ question, agents }: Scene, language: Language): string | null {
  const own = sentences[language];
  if (isThanks(question)) return own.welcome;
  if (isGreeting(question)) return listed(own.hello, agents, language);
  if (asksForAbilities(question)) return listed(own.abilities, agents, language);
  return null;
}

function nobodyCalled(scene: Scene, language: Language): Decision {
  const own = sentences[language];
  const away = scene.down.map(({ agent, until }) => own.down(agent, until)).join('\n');
  const nobody = scene.agents.length > 0 ? listed(own.nobodyFits, scene.agents, language) : away === '' ? own.noAgents : '';
  return text(smallTalk(scene, language) ?? [away, nobody].filter(Boolean).join('\n'));
}

function listed(head: string, agents: readonly KnownAgent[], language: Language): string {
  return agents.length > 0 ? `${head}\n${abilities(agents, language)}` : sentences[language].noAgents;
}

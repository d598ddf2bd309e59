// Short names for open questions, and the note that tells the model of them. Pure.

import type { CallId } from '../intention/message.ts';
import type { OpenQuestion, StepContext } from '../step/context.ts';
import { capUnits, oneLine } from './text.ts';

export interface NamedQuestions {
  /** Of every question that this intention ever asked, so that a transcript can go on saying q1. */
  readonly aliases: ReadonlyMap<CallId, string>;
  /** This intention's open questions by alias. */
  readonly own: ReadonlyMap<string, OpenQuestion>;
  /** The open questions of the conversation's other intentions by alias. */
  readonly others: ReadonlyMap<string, OpenQuestion>;
}

/** q1, q2, ...: this intention's in the order of their asking, which never changes, then the others', oldest first. */
export function nameQuestions({ intentionId, messages, questions }: StepContext): NamedQuestions {
  const asked = messages.flatMap((row) =>
    (row.type === 'input_required' || row.type === 'auth_required') && row.callId ? [row.callId] : [],
  );
  const ours = questions.filter((question) => question.intentionId === intentionId);
  const aliases = new Map([...new Set([...asked, ...ours.map((question) => question.callId)])].map((id, index) => [id, `q${index + 1}`]));
  const others = questions.filter((question) => question.intentionId !== intentionId);
  return {
    aliases,
    own: new Map(ours.map((question) => [aliases.get(question.callId) ?? '', question])),
    others: new Map(others.map((question, index) => [`q${aliases.size + index + 1}`, question])),
  };
}

/** Of a question's or query's text in a note. */
const maxQuoteUnits = 300;

/**
 * The lines of the note at the newest user message, one question each. Agents' words stand quoted on one line.
 * `answered`: the question that the caller named; `movable`: reassign is offered.
 */
export function questionLines(named: NamedQuestions, answered: string | null, movable: boolean): readonly string[] {
  const own = [...named.own].map(([alias, question]) => line(alias, question));
  const others = movable ? [...named.others].map(([alias, question]) => line(alias, question)) : [];
  return [
    ...(own.length > 0 ? ['Open questions of this exchange:', ...own] : []),
    ...(answered ? [`The user says that this message answers ${answered}.`] : []),
    ...(others.length > 0
      ? ['Open questions of other exchanges:', ...others, 'If this message answers one of those, call reassign with its id.']
      : []),
    ...(movable && own.length > 0 ? ['If this message starts something else, call reassign with new.'] : []),
  ];
}

function line(alias: string, { agent, content, query }: OpenQuestion): string {
  return `- ${alias} (${agent}): ${quote(content)} after ${quote(query)}`;
}

function quote(text: string): string {
  return JSON.stringify(capUnits(oneLine(text), maxQuoteUnits));
}

// What a terminal is told of one question: steps beside the answer, the answer as it is made. Pure state.

import { said } from '../chat/said.ts';
import type { IntentionStatus } from '../intention/intention.ts';
import { plain, type ShownEvent } from './event.ts';

/** `step` is for standard error, `answer` for standard output. */
export type Told =
  | { readonly kind: 'step' | 'agent' | 'trouble'; readonly line: string }
  | { readonly kind: 'answer'; readonly text: string };

export interface View {
  show(event: ShownEvent): readonly Told[];
  /** How things stand: the newest status, and the questions that are open. */
  status(): IntentionStatus | null;
  conversationId(): string | null;
  questions(): readonly { readonly agent: string; readonly text: string }[];
}

/** Text of the planner that is shorter may still turn out to be a note beside a call. UTF-16 units. */
const minReport = 160;

/** `base`: of the service, for the addresses of its files. */
export function createView(base: string): View {
  let status: IntentionStatus | null = null;
  let conversationId: string | null = null;
  let questions: { readonly callId: string | null; readonly agent: string; readonly text: string }[] = [];
  let report = said();
  let reportStep: number | null = null;

  const speak = (text: string): readonly Told[] => (text === '' ? [] : [{ kind: 'answer', text: plain(text) }]);

  /** A standard output takes nothing back: a note that was told as the answer stays, and is ended. */
  const newReport = (step: number | null): readonly Told[] => {
    const ended = report.spoken() ? speak('\n\n') : [];
    report = said();
    reportStep = step;
    return ended;
  };

  const showRow = (row: Extract<ShownEvent, { kind: 'message' }>['data']): readonly Told[] => {
    conversationId = row.conversation_id;
    const files = row.parts.map(
      (file): Told => ({
        kind: 'agent',
        line: `  [${file.name ?? 'file'}] ${URL.canParse(file.url, base) ? new URL(file.url, base) : file.url}`,
      }),
    );
    if (row.role === 'user') return [];
    if (row.type === 'query') {
      questions = [];
      const why = row.reason ? ` (${row.reason})` : '';
      return [...newReport(null), { kind: 'step', line: `→ ${row.to_agent}: ${row.content}${why}` }];
    }
    if (row.type === 'input_required' || row.type === 'auth_required') {
      questions.push({ callId: row.call_id, agent: row.agent ?? '', text: row.content });
      return files;
    }
    if (row.role === 'assistant' && (row.type === null || row.type === 'answer')) {
      const before = row.step === reportStep ? [] : newReport(row.step);
      return [...before, ...speak(`${report.finish(row.content)}\n`), ...files];
    }
    questions = questions.filter((question) => question.callId !== row.call_id);
    const lines = indent(row.content);
    return [{ kind: row.type === 'answer' ? 'agent' : 'trouble', line: lines }, ...files];
  };

  return {
    show(event) {
      switch (event.kind) {
        case 'message':
          return showRow(event.data);
        case 'delta': {
          const { data } = event;
          if (data.call_id !== null) return [];
          const before = data.step === reportStep ? [] : newReport(data.step);
          report.hear(data);
          return [...before, ...(report.heard() >= minReport ? speak(report.speak()) : [])];
        }
        case 'status':
          status = event.data.status;
          return [];
      }
    },
    status: () => status,
    conversationId: () => conversationId,
    questions: () => questions,
  };
}

const indent = (text: string): string => text.replaceAll(/^/gm, '  ');

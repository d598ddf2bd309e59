// The one question that is measured: two agents, one after the other, and a report in pieces. Constants.

export const agentNames = ['one', 'two'] as const;

/** In UTF-16 units: 40 pieces make about 200 tokens. */
export const reportPieceLength = 20;
const pieces = 40;

/** The last piece: whoever has read it has read all. */
export const reportEnd = 'and that is the end.';

export const report = `${'what the agents knew'.repeat(pieces - 1)}${reportEnd}`;

export const quickQuestion = 'What do both agents know of Shanghai?';

/** An agent that is asked with this word answers after `slowMs`. */
export const slowWord = 'slowly';
export const slowMs = 3_000;
export const slowQuestion = `What do both agents know of Shanghai, said ${slowWord}?`;

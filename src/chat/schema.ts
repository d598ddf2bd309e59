// What callers may post. Unknown fields are refused on native routes and ignored on `/v1/chat`. Pure.

import { z } from 'zod';
import { maxJsonDepth, storable, storableJson } from '../agent/clean.ts';
import type { RawPart } from '../agent/reply.ts';
import { type AgentName, agentName } from '../intention/message.ts';
import type { OnBusy } from '../intention/rules.ts';

/** One message with everything that it encloses. */
export const maxMessageBytes = 64 * 1024;

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' || value === null || (depth > 0 && Object.values(value).every((item) => isWithin(item, depth - 1)));

const text = z.string().transform(storable);
const json = z
  .unknown()
  .refine((value) => value !== undefined, 'is required')
  .refine((value) => isWithin(value, maxJsonDepth), `is nested deeper than ${maxJsonDepth} levels`)
  .transform((value) => storableJson(value));
const about = {
  name: z.string().max(256).transform(storable).optional(),
  media_type: z.string().max(128).transform(storable).optional(),
  metadata: json.optional(),
};

const part = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text, ...about }),
  z.strictObject({ kind: z.literal('data'), data: json, ...about }),
  z.strictObject({
    kind: z.literal('file'),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .transform(storable),
    ...about,
  }),
  /** `bytes` in base64. */
  z.strictObject({ kind: z.literal('bytes'), bytes: z.base64(), ...about }),
]);

export const messageBody = z
  .strictObject({
    content: text.optional(),
    parts: z.array(part).min(1).max(50).optional(),
    /** A call or an intention that asks; null: something new. */
    answer_to: z.uuid().nullable().optional(),
    on_busy: z.enum(['enqueue', 'interrupt', 'parallel', 'reject']).optional(),
    agents: z.array(z.string().min(1).max(200).transform(storable)).min(1).max(100).optional(),
  })
  .refine((body) => (body.content === undefined) !== (body.parts === undefined), {
    message: 'either content or parts is required',
    path: ['content'],
  })
  .refine((body) => contentOf(body).trim() !== '' || (body.parts ?? []).some((each) => each.kind !== 'text'), {
    message: 'is empty',
    path: ['content'],
  });

export type MessageBody = z.infer<typeof messageBody>;

/** What to do about a call whose outcome nobody knows: look again, ask again, or leave it. */
export const resolveBody = z.strictObject({ action: z.enum(['check', 'retry', 'leave']) });
export type ResolveAction = z.infer<typeof resolveBody>['action'];

const maxProbeBytes = 4 * 1024;

export const probeBody = z.strictObject({
  text: text
    .refine((words) => words.trim() !== '', 'is empty')
    .refine((words) => new TextEncoder().encode(words).length <= maxProbeBytes, `may be ${maxProbeBytes} bytes at most`),
});

/** The original service's body; what it does not know is ignored. */
export const chatBody = z.object({
  query: text.refine((query) => query.trim() !== '', 'is empty'),
  conversation_id: z.string().nullish(),
});

/** A message may come alone or as `message`; without one (null) the conversation is opened empty. What is wrong is told of the form that was meant. */
export const conversationBody = z.record(z.string(), z.unknown()).transform((body, context): MessageBody | null => {
  const nested = 'message' in body;
  const form = nested ? z.strictObject({ message: messageBody }).transform(({ message }) => message) : messageBody;
  if (Object.keys(body).length === 0) return null;
  const parsed = form.safeParse(body);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message });
  return z.NEVER;
});

/** A posted message in our words. */
export interface Posted {
  readonly content: string;
  readonly parts: readonly RawPart[];
  readonly answerTo: string | null | undefined;
  readonly onBusy: OnBusy;
  readonly agents: readonly AgentName[] | undefined;
  /** It decides of the question that it answers. */
  readonly resolve?: 'retry';
}

function contentOf(body: { content?: string | undefined; parts?: readonly z.infer<typeof part>[] | undefined }): string {
  return body.content ?? (body.parts ?? []).flatMap((each) => (each.kind === 'text' ? [each.text] : [])).join('\n');
}

export function posted(body: MessageBody): Posted {
  return {
    content: contentOf(body),
    parts: (body.parts ?? []).map(rawPart),
    answerTo: body.answer_to,
    onBusy: body.on_busy ?? 'enqueue',
    agents: body.agents?.map(agentName),
  };
}

function rawPart(given: z.infer<typeof part>): RawPart {
  const rest = {
    ...(given.name === undefined ? {} : { name: given.name }),
    ...(given.media_type === undefined ? {} : { media_type: given.media_type }),
    ...(given.metadata === undefined ? {} : { metadata: given.metadata }),
  };
  switch (given.kind) {
    case 'text':
      return { kind: 'text', text: given.text, ...rest };
    case 'data':
      return { kind: 'data', data: given.data, ...rest };
    case 'file':
      return { kind: 'link', url: given.url, ...rest };
    case 'bytes':
      return { kind: 'bytes', bytes: Uint8Array.from(atob(given.bytes), (character) => character.charCodeAt(0)), ...rest };
  }
}

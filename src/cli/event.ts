// One event of the service's stream, as far as a terminal shows it. Pure.

import type { EventSourceMessage } from 'eventsource-parser';
import { z } from 'zod';
import { agentName, callId, intentionId } from '../intention/message.ts';
import { parseJson } from '../local/json.ts';

const text = z.string().transform(plain);
const file = z.object({ kind: z.literal('file'), url: text, name: text.optional() });

const row = z.object({
  conversation_id: text,
  step: z.number().nullable(),
  role: z.enum(['user', 'agent', 'assistant']),
  type: z.string().nullable(),
  agent: text.nullable(),
  to_agent: text.nullable(),
  reason: text.nullable(),
  call_id: z.string().nullable(),
  content: text,
  parts: z.unknown().transform((parts) => (Array.isArray(parts) ? parts.flatMap((part) => file.safeParse(part).data ?? []) : [])),
});

const delta = z.object({
  intention_id: z.string().transform(intentionId),
  step: z.number(),
  agent: z.string().transform(agentName),
  call_id: z.string().transform(callId).nullable(),
  attempt: z.number(),
  offset: z.number(),
  // Unchanged in length, since offsets count its units.
  text: z.string(),
});

const status = z.object({
  status: z.enum(['queued', 'planning', 'calling', 'input_required', 'auth_required', 'answered', 'failed', 'canceled', 'expired']),
});

export type ShownEvent =
  | { readonly kind: 'message'; readonly data: z.infer<typeof row> }
  | { readonly kind: 'delta'; readonly data: z.infer<typeof delta> }
  | { readonly kind: 'status'; readonly data: z.infer<typeof status> };

/** Null: nothing that we know, and readers ignore what they do not know. Source: `StreamEvent`. */
export function readEvent({ event, data }: EventSourceMessage): ShownEvent | null {
  const parsed = z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('message'), data: row }),
      z.object({ kind: z.literal('delta'), data: delta }),
      z.object({ kind: z.literal('status'), data: status }),
    ])
    .safeParse({ kind: event, data: parseJson(data) });
  return parsed.data ?? null;
}

/** Without control characters: what agents say must not move the cursor of whoever reads it. */
export function plain(words: string): string {
  return words.replaceAll(/[\p{Cc}--[\n\t]]/gv, '');
}

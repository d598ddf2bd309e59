// Our requests in the words of the original protocol, v0.1. Pure.

import { z } from 'zod';
import type { Call } from '../intention/call.ts';
import type { AgentInterface } from './card.ts';

const methods: ReadonlyMap<string, string> = new Map([
  ['message/send', 'tasks/send'],
  ['message/stream', 'tasks/sendSubscribe'],
]);

/** As the SDK writes it for v0.3. */
const sendRequest = z.looseObject({
  method: z.string(),
  params: z.looseObject({
    message: z.looseObject({
      messageId: z.string(),
      taskId: z.string().optional(),
      contextId: z.string().optional(),
      role: z.string(),
      parts: z.array(z.looseObject({ kind: z.string() })),
      metadata: z.unknown().optional(),
    }),
    configuration: z
      .looseObject({
        acceptedOutputModes: z.array(z.string()).optional(),
        pushNotificationConfig: z.looseObject({}).optional(),
      })
      .optional(),
  }),
});

/**
 * The body of a v0.3 request as v0.1 has it. Only sending differs: `tasks/get`, `tasks/cancel` and `tasks/resubscribe` are the
 * same in both. Null: it sends no message.
 */
export function firstRequest(body: string): string | null {
  const read = sendRequest.safeParse(JSON.parse(body));
  const method = read.success ? methods.get(read.data.method) : undefined;
  if (!read.success || method === undefined) return null;
  const { message, configuration } = read.data.params;
  const { id: _, ...push } = configuration?.pushNotificationConfig ?? {};
  const id = message.taskId ?? message.messageId;
  return JSON.stringify({
    ...read.data,
    method,
    params: {
      id,
      sessionId: message.contextId ?? id,
      message: {
        role: message.role,
        parts: message.parts.map(({ kind, ...part }) => ({ type: kind, ...part })),
        metadata: message.metadata,
      },
      acceptedOutputModes: configuration?.acceptedOutputModes,
      ...('url' in push ? { pushNotification: push } : {}),
    },
  });
}

/**
 * In v0.1 the client names the task. We name it after our message, which is derived from the call: when the reply to a send
 * is lost, or this process with it, the task can still be asked for, and its outcome does not stay unknown.
 */
export function knownTask(way: AgentInterface, call: Call): string | null {
  return call.taskId ?? (way.version === '0.1' ? call.messageId : null);
}

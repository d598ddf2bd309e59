// The part of an OpenAI chat completions request that the stand-in reads. Pure.

import { z } from 'zod';

const text = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() })), z.null()])
  .optional()
  .transform((content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')));

const toolCall = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: text }),
  z.object({ role: z.literal('user'), content: text }),
  z.object({ role: z.literal('assistant'), content: text, tool_calls: z.array(toolCall).default([]) }),
  z.object({ role: z.literal('tool'), content: text, tool_call_id: z.string() }),
]);

const parameter = z.looseObject({ description: z.string().default(''), enum: z.array(z.string()).optional() });

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    description: z.string().default(''),
    parameters: z.looseObject({ properties: z.record(z.string(), parameter).default({}) }).default({ properties: {} }),
  }),
});

/** Fields that do not matter here are let through unread. Source: OpenAI API reference, "Create chat completion". */
export const completionRequest = z.object({
  model: z.string().default('stand-in'),
  messages: z.array(message).min(1),
  tools: z.array(tool).default([]),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).default('auto'),
  stream: z.boolean().nullable().default(false),
  stream_options: z.looseObject({ include_usage: z.boolean().default(false) }).nullish(),
});
export type CompletionRequest = z.infer<typeof completionRequest>;
export type RequestMessage = CompletionRequest['messages'][number];
export type RequestTool = CompletionRequest['tools'][number];

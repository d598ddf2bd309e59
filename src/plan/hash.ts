// A short name for a prompt's exact content, for the audit of decisions. Pure.

import type { Prompt } from './plan.ts';

/** 32 hex digits of the SHA-256 of the prompt as JSON. */
export async function promptHash(prompt: Prompt): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(prompt)));
  return [...new Uint8Array(digest).subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

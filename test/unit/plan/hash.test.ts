// The name of a prompt for the audit.

import { expect, test } from 'vitest';
import { promptHash } from '../../../src/plan/hash.ts';

test('equal prompts have equal names, different ones different', async () => {
  const prompt = { instructions: 'Plan.', turns: [], tools: [], forced: false };
  expect(await promptHash(prompt)).toMatch(/^[0-9a-f]{32}$/);
  expect(await promptHash({ ...prompt })).toBe(await promptHash(prompt));
  expect(await promptHash({ ...prompt, forced: true })).not.toBe(await promptHash(prompt));
});

import { describe, expect, test } from 'vitest';
import { asFault, Fault, retryAfterSeconds, toProblem, toRetryMs, toSentence, toWebhookStatus } from '../../src/fault.ts';

describe('a fault at its borders', () => {
  test('of the caller is a 4xx with its detail, and is final at the webhook', () => {
    const fault = new Fault('validation_failed', { detail: 'content is empty', errors: [{ pointer: '/content', detail: 'is empty' }] });
    expect(toProblem(fault, 'r1')).toEqual({
      type: 'about:blank',
      title: 'The body does not have the right fields',
      status: 422,
      code: 'validation_failed',
      detail: 'content is empty',
      errors: [{ pointer: '/content', detail: 'is empty' }],
      request_id: 'r1',
    });
    expect([toWebhookStatus(fault), retryAfterSeconds(fault)]).toEqual([422, undefined]);
  });

  test('of the world is a 503 that says when to come back, without its reason', () => {
    const fault = new Fault('database_down', { detail: 'password authentication failed for alice' });
    expect(JSON.stringify(toProblem(fault))).not.toContain('alice');
    expect([toRetryMs(fault, 1), toRetryMs(fault, 3), toRetryMs(fault, 99), toWebhookStatus(fault), retryAfterSeconds(fault)]).toEqual([
      1_000, 4_000, 60_000, 503, 5,
    ]);
  });

  test('whatever else is thrown is ours: 500, nothing of it leaves the house', () => {
    const fault = asFault(new TypeError('secret is not a function'));
    expect(toProblem(fault)).toEqual({ type: 'about:blank', title: 'Something went wrong', status: 500, code: 'internal' });
    expect(toSentence(fault, 'en', 'incident-7')).toContain('incident-7');
    expect(toSentence(fault, 'zh', 'incident-7')).toContain('incident-7');
  });
});

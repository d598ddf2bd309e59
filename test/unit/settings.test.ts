import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/fault.ts';
import { keyDigest, readSettings } from '../../src/settings.ts';

const whole = { DATABASE_URL: 'postgres://u:p@ep.neon.tech/db', OPENAI_API_KEY: 'sk-1' };

function complaintOf(env: Readonly<Record<string, unknown>>): string {
  try {
    readSettings(env);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'misconfigured') return thrown.detail ?? '';
    throw thrown;
  }
  return '';
}

describe('the settings', () => {
  test('need a database and a key; the rest has defaults', () => {
    expect(readSettings(whole)).toMatchObject({
      databaseEndpoint: null,
      model: { baseUrl: 'https://api.openai.com/v1', apiKey: 'sk-1', standIn: false },
      agentSources: [],
      publicUrl: null,
      allowAnonymous: false,
      maxSteps: 8,
      maxCalls: 8,
      maxTokens: 200_000,
      pushSecrets: [],
    });
  });

  test('that are wrong are named all at once, and no value is repeated', () => {
    const complaint = complaintOf({
      DATABASE_URL: 'mysql://root:hunter2@db',
      NEON_FETCH_ENDPOINT: 'https://evil.example/sql',
      A2A_AGENTS: '{not json',
      PUBLIC_URL: 'ftp://x',
      RUNNER_LOCATION: 'moon',
    });
    for (const name of ['DATABASE_URL', 'OPENAI_API_KEY', 'NEON_FETCH_ENDPOINT', 'A2A_AGENTS', 'PUBLIC_URL', 'RUNNER_LOCATION']) {
      expect(complaint).toContain(name);
    }
    for (const value of ['hunter2', 'evil.example', 'not json', 'moon']) expect(complaint).not.toContain(value);
  });

  test('a public address needs a secret to derive the push tokens from', () => {
    expect(complaintOf({ ...whole, PUBLIC_URL: 'https://chat.example' })).toContain('PUSH_SECRET');
    expect(readSettings({ ...whole, PUBLIC_URL: 'https://chat.example/', PUSH_SECRET: '0123456789abcdef' }).publicUrl).toBe(
      'https://chat.example',
    );
  });

  test('agents are card URLs, or objects with a name and headers, or one list', () => {
    const { agentSources } = readSettings({
      ...whole,
      A2A_AGENTS: JSON.stringify([
        'http://a.example/',
        { url: 'http://b.example/card.json', name: 'b', headers: { authorization: 'Bearer t' } },
      ]),
      A2A_RUNTIME_ENDPOINT: 'http://runtime.example:9999',
    });
    expect(agentSources).toEqual([
      { kind: 'card', url: 'http://a.example/' },
      { kind: 'card', url: 'http://b.example/card.json', name: 'b', headers: { authorization: 'Bearer t' } },
      { kind: 'list', url: 'http://runtime.example:9999' },
    ]);
  });

  test('an agent may be given its time, and be said to deduplicate', () => {
    const { agentSources } = readSettings({
      ...whole,
      A2A_AGENTS: JSON.stringify([
        { url: 'http://a.example/', deadline_seconds: 604_800, deduplicates: true },
        { url: 'http://b.example/', deadline_seconds: 1, deduplicates: false },
      ]),
    });
    expect(agentSources).toEqual([
      { kind: 'card', url: 'http://a.example/', deadlineMs: 604_800_000, deduplicates: true },
      { kind: 'card', url: 'http://b.example/', deadlineMs: 1_000, deduplicates: false },
    ]);
    for (const entry of [{ deadline_seconds: 0 }, { deadline_seconds: 604_801 }, { deadline_seconds: 1.5 }, { deduplicates: 'yes' }])
      expect(complaintOf({ ...whole, A2A_AGENTS: JSON.stringify([{ url: 'http://a.example/', ...entry }]) })).toContain('A2A_AGENTS');
  });

  test('the push secret may have one before it, which comes second', () => {
    const [current, previous] = ['0123456789abcdef', 'fedcba9876543210'];
    expect(readSettings({ ...whole, PUSH_SECRET: current, PUSH_SECRET_PREVIOUS: previous }).pushSecrets).toEqual([current, previous]);
    expect(readSettings({ ...whole, PUSH_SECRET: current, PUSH_SECRET_PREVIOUS: '' }).pushSecrets).toEqual([current]);
    expect(complaintOf({ ...whole, PUSH_SECRET: current, PUSH_SECRET_PREVIOUS: 'short' })).toContain('PUSH_SECRET_PREVIOUS');
    expect(complaintOf({ ...whole, PUBLIC_URL: 'https://chat.example', PUSH_SECRET_PREVIOUS: previous })).toContain('PUSH_SECRET is');
  });

  test('the tokens of a question are a number from 1,000 to 10,000,000', () => {
    expect(readSettings({ ...whole, MAX_TOKENS: '1000' }).maxTokens).toBe(1_000);
    expect(readSettings({ ...whole, MAX_TOKENS: '10000000' }).maxTokens).toBe(10_000_000);
    for (const wrong of ['999', '0999', '10000001', '1e4', '-5000', '5000.5', 'many'])
      expect(complaintOf({ ...whole, MAX_TOKENS: wrong }), wrong).toContain('MAX_TOKENS');
  });

  test('a key names its owner, or is one of its own whatever its place in the list', () => {
    const { apiKeys } = readSettings({ ...whole, API_KEYS: 'alice=k1, k2,alice=k3' });
    expect([apiKeys.get(keyDigest('k1')), apiKeys.get(keyDigest('k3'))]).toEqual(['alice', 'alice']);
    expect(apiKeys.get(keyDigest('k2'))).toBe(readSettings({ ...whole, API_KEYS: 'k2' }).apiKeys.get(keyDigest('k2')));
    expect(apiKeys.get(keyDigest('k4'))).toBeUndefined();
  });
});

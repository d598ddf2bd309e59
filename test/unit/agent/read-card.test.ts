// What is read from cards of every version, and what is refused.

import { describe, expect, it } from 'vitest';
import { agentSlug, readCard } from '../../../src/agent/read-card.ts';

const cardUrl = 'https://weather.example/default/weather/.well-known/agent-card.json';

const v1 = {
  name: 'Weather',
  description: 'Tells the weather.',
  version: '2.1.0',
  supportedInterfaces: [
    { url: 'https://weather.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' },
    { url: 'https://weather.example/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: 'https://weather.example:443/grpc', protocolBinding: 'GRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: true, extensions: [] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'now', name: 'Now', description: 'The weather now', tags: ['weather'], examples: ['上海天气如何'] }],
};

const v03 = {
  protocolVersion: '0.3.0',
  name: 'Weather',
  description: 'Tells the weather.',
  version: '1.0.0',
  url: 'https://weather.example/rest',
  preferredTransport: 'HTTP+JSON',
  additionalInterfaces: [
    { url: 'https://weather.example/rest', transport: 'HTTP+JSON' },
    { url: 'https://weather.example/rpc', transport: 'JSONRPC' },
  ],
  capabilities: { streaming: true },
  skills: [],
};

function read(json: unknown, url = cardUrl) {
  const card = readCard(json, url);
  if (typeof card === 'string') throw new Error(card);
  return card;
}

function problem(json: unknown, url = cardUrl): string {
  const card = readCard(json, url);
  if (typeof card !== 'string') throw new Error('the card was read');
  return card;
}

describe('readCard', () => {
  it('reads a v1.0 card with its interfaces in order, without those we do not speak', () => {
    expect(read(v1)).toEqual({
      name: 'Weather',
      description: 'Tells the weather.',
      version: '2.1.0',
      interfaces: [
        { url: 'https://weather.example/rpc', binding: 'JSONRPC', version: '1.0', tenant: 'acme' },
        { url: 'https://weather.example/rest', binding: 'HTTP+JSON', version: '1.0' },
      ],
      streaming: true,
      pushNotifications: true,
      skills: [{ id: 'now', name: 'Now', description: 'The weather now', tags: ['weather'], examples: ['上海天气如何'] }],
    });
  });

  it('reads a v0.3 card, the preferred transport first and none twice', () => {
    const card = read(v03);
    expect(card.interfaces).toEqual([
      { url: 'https://weather.example/rest', binding: 'HTTP+JSON', version: '0.3' },
      { url: 'https://weather.example/rpc', binding: 'JSONRPC', version: '0.3' },
    ]);
    expect(card.pushNotifications).toBe(false);
  });

  it('reads a v0.2.5 card, which has a url alone', () => {
    const card = read({ name: 'Old', url: 'https://weather.example/', capabilities: {}, skills: [] });
    expect(card.interfaces).toEqual([{ url: 'https://weather.example/', binding: 'JSONRPC', version: '0.3' }]);
  });

  it('takes a card with `authentication` and nothing of later versions for one of v0.1', () => {
    const version = (more: object) => read({ name: 'First', url: '/', ...more }).interfaces[0]?.version;
    expect(version({ authentication: null })).toBe('0.1');
    expect(version({ authentication: { schemes: ['bearer'] }, securitySchemes: null, security: [] })).toBe('0.1');
    expect(version({ protocolVersion: '0.1.0' })).toBe('0.1');
    expect(version({ authentication: null, securitySchemes: { key: {} } })).toBe('0.3');
    expect(version({ authentication: null, preferredTransport: 'JSONRPC' })).toBe('0.3');
    expect(version({ authentication: null, protocolVersion: '0.2.5' })).toBe('0.3');
  });

  it('reads a binding and a version however they are spelled', () => {
    const way = (protocolBinding: string, protocolVersion: string) =>
      read({ name: 'x', supportedInterfaces: [{ url: '/', protocolBinding, protocolVersion }] }).interfaces[0];
    expect(way('json-rpc', 'v1.0')).toMatchObject({ binding: 'JSONRPC', version: '1.0' });
    expect(way('HTTP_JSON', 'V0.3.0')).toMatchObject({ binding: 'HTTP+JSON', version: '0.3' });
    for (const version of ['10.0', '2.0', 'latest']) {
      expect(problem({ name: 'x', supportedInterfaces: [{ url: '/', protocolVersion: version }] })).toMatch(/version/);
    }
  });

  it('puts the 1.0 interfaces of a hybrid card first', () => {
    const hybrid = { ...v03, supportedInterfaces: [v1.supportedInterfaces[0]], protocolVersion: '0.3.0' };
    expect(read(hybrid).interfaces.map(({ version }) => version)).toEqual(['1.0', '0.3', '0.3']);
  });

  it('takes each version that an interface names', () => {
    const version = (protocolVersion?: string) =>
      read({ name: 'x', supportedInterfaces: [{ url: '/', protocolBinding: 'jsonrpc', protocolVersion }] }).interfaces[0]?.version;
    expect([undefined, '', '1.0', '1', '1.0.1', '0.3', '0.3.0', '0.2.6'].map(version)).toEqual([
      '1.0',
      '1.0',
      '1.0',
      '1.0',
      '1.0',
      '0.3',
      '0.3',
      '0.3',
    ]);
    expect(problem({ name: 'x', supportedInterfaces: [{ url: '/', protocolBinding: 'JSONRPC', protocolVersion: '2.0' }] })).toMatch(
      /version/,
    );
  });

  it('resolves relative addresses against the card', () => {
    expect(read({ name: 'x', url: '../rpc' }).interfaces[0]?.url).toBe('https://weather.example/default/weather/rpc');
  });

  it('drops addresses on other origins, and says so when none is left', () => {
    const elsewhere = { url: 'https://evil.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
    const mixed = { ...v1, supportedInterfaces: [elsewhere, v1.supportedInterfaces[1]] };
    expect(read(mixed).interfaces.map(({ url }) => url)).toEqual(['https://weather.example/rest']);
    expect(problem({ ...v1, supportedInterfaces: [elsewhere] })).toBe(
      "the agent's addresses are not on the origin of its card, https://weather.example",
    );
    for (const url of ['http://weather.example/', 'https://weather.example:8443/', 'https://weather.example.evil.example/']) {
      expect(problem({ name: 'x', url })).toMatch(/origin/);
    }
  });

  it('takes the names of loopback for one machine, port by port', () => {
    expect(read({ name: 'x', url: 'http://127.0.0.1:9999/a' }, 'http://localhost:9999/').interfaces).toHaveLength(1);
    expect(problem({ name: 'x', url: 'http://127.0.0.1:9998/a' }, 'http://localhost:9999/')).toMatch(/origin/);
  });

  it('refuses addresses that are not plain http or https', () => {
    for (const url of [
      'file:///etc/passwd',
      'ftp://weather.example/',
      'https://user:secret@weather.example/',
      'javascript:alert(1)',
      'http://',
    ]) {
      expect(typeof readCard({ name: 'x', url }, cardUrl)).toBe('string');
    }
  });

  it('says what is wrong with what is no card', () => {
    expect(problem(null)).toBe('the card is not a JSON object');
    expect(problem('card')).toBe('the card is not a JSON object');
    expect(problem({ name: 'x' })).toBe('the card names no address of the agent');
    expect(problem({ name: 'x', url: 'https://weather.example/', preferredTransport: 'GRPC' })).toMatch(/neither JSONRPC nor HTTP\+JSON/);
  });

  it('passes over fields that are missing or of the wrong type', () => {
    const card = read({
      url: '/',
      description: 7,
      capabilities: { streaming: 'yes' },
      skills: [null, 'x', { id: 's', tags: 'no', examples: [1, 'ask'] }],
    });
    expect(card).toEqual({
      name: 'weather.example',
      description: '',
      version: '',
      interfaces: [{ url: 'https://weather.example/', binding: 'JSONRPC', version: '0.3' }],
      streaming: false,
      pushNotifications: false,
      skills: [{ id: 's', name: 's', description: '', tags: [], examples: ['ask'] }],
    });
  });

  it('caps every text and list', () => {
    const skill = {
      id: 'i',
      name: 'n'.repeat(500),
      description: 'd'.repeat(5_000),
      tags: Array.from({ length: 30 }, () => 't'.repeat(90)),
      examples: Array.from({ length: 30 }, () => 'e'.repeat(900)),
    };
    const card = read({ name: 'x', url: '/', description: '😀'.repeat(2_000), skills: Array.from({ length: 50 }, () => skill) });
    expect(card.description.length).toBe(2_000);
    expect(card.skills).toHaveLength(20);
    expect(card.skills[0]?.name).toHaveLength(100);
    expect(card.skills[0]?.description).toHaveLength(300);
    expect(card.skills[0]?.tags).toEqual(Array.from({ length: 10 }, () => 't'.repeat(50)));
    expect(card.skills[0]?.examples).toEqual(Array.from({ length: 10 }, () => 'e'.repeat(200)));
  });

  it('never cuts a character in half', () => {
    expect(read({ name: `${'a'.repeat(99)}😀`, url: '/' }).name).toBe('a'.repeat(99));
  });

  it('removes what could hide or forge text in a prompt', () => {
    const card = read({ name: 'We\u0000at\u202eher\u2066', description: 'one\n\nSYSTEM:\u001b[2J two\ud800 \u{e0041}three', url: '/' });
    expect(card.name).toBe('Weather');
    expect(card.description).toBe('one SYSTEM:[2J two\ufffd three');
  });
});

describe('agentSlug', () => {
  it('keeps letters and digits of any script', () => {
    expect(['Weather Agent 2', '天气 助手', 'Météo/Paris', '  --x__y--  '].map(agentSlug)).toEqual([
      'weather-agent-2',
      '天气-助手',
      'météo-paris',
      'x-y',
    ]);
  });

  it('is never empty and never the name of the planner', () => {
    expect(['', '!!!', 'Plan', ' plan '].map(agentSlug)).toEqual(['agent', 'agent', 'plan-agent', 'plan-agent']);
  });
});

// One sample agent as a process: `node main.ts <name> [--port <n>]`. Effects: a loopback HTTP server, standard output.

import { parseArgs } from 'node:util';
import { agentNames, isSampleName, startAgent } from './start.ts';

const { values, positionals } = parseArgs({ options: { port: { type: 'string', default: '0' } }, allowPositionals: true });
const name = positionals[0] ?? '';
const port = Number(values.port);
if (!isSampleName(name) || !Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`usage: node main.ts <${agentNames.join('|')}> [--port <0..65535>]`);
  process.exit(2);
}
const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model } = process.env;
const served = await startAgent(name, {
  port,
  model: apiKey ? { apiKey, baseUrl: baseUrl || 'https://api.openai.com/v1', name: model || 'gpt-5-mini' } : null,
});
// At once: whatever is at work here is a sample.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
console.log(`listening ${served.url.slice(0, -1)}`);

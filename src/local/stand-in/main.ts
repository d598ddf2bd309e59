// The stand-in for a model as a process: `node main.ts [--port <n>]`. Effects: a loopback HTTP server, standard output.

import { parseArgs } from 'node:util';
import { serveStandIn } from './server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const port = Number(values.port);
const { STAND_IN_DELAY_MS = '5' } = process.env;
const delayMs = Number(STAND_IN_DELAY_MS);
if (!Number.isInteger(port) || port < 0 || port > 65_535 || !(delayMs >= 0)) {
  console.error('usage: [STAND_IN_DELAY_MS=<n>] node main.ts [--port <0..65535>]');
  process.exit(2);
}
const { url } = await serveStandIn({ port, delayMs });
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
console.log(`listening ${url}`);

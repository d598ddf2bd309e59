// What the Worker under test reaches: a real Postgres behind the bridge, the stand-in model, three agents. Effects: processes, HTTP.

import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { startAgent } from '../../src/local/agents/start.ts';
import { createBridge } from '../../src/local/bridge.ts';
import { postgresBackend } from '../../src/local/postgres-backend.ts';
import { serveStandIn } from '../../src/local/stand-in/server.ts';
import { createDatabase, startPostgres } from './postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Full URL of the bridge. */
    database: string;
    /** Base URL of an OpenAI-compatible server. */
    model: string;
    /** A2A_AGENTS: the sample agents weather, people and flaky. */
    agents: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const backend = postgresBackend(await createDatabase(postgres, new URL('../../migrations', import.meta.url).pathname));
  const bridge = createBridge(() => backend);
  await new Promise<void>((resolve) => bridge.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = bridge.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const model = await serveStandIn({ delayMs: 0 });
  const agents = [await startAgent('weather'), await startAgent('people'), await startAgent('flaky')];
  project.provide('agents', JSON.stringify(agents.map((agent) => agent.url)));
  project.provide('database', `http://127.0.0.1:${address.port}/sql`);
  project.provide('model', `${model.url.replace(/\/$/, '')}/v1`);
  return async () => {
    bridge.closeAllConnections();
    bridge.close();
    for (const agent of agents) await agent.close();
    await model.close();
    await backend.close();
    await postgres.stop();
  };
}

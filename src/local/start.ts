// Starts the embedded world, one part after another, and knows how to end it. Effects: processes, files, HTTP.

import type { Backend } from './backend.ts';
import { pick, readBindings, type Variables, without } from './bindings.ts';
import { type DataFolder, holdFolder, pushSecret } from './data-folder.ts';
import { bridgedUrl, bridgeTo, endpointOf, migrateThrough, openBackend } from './embedded-database.ts';
import { checkModel } from './model-check.ts';
import type { Options } from './options.ts';
import { freePort, listen, loopback } from './ports.ts';
import type { Child } from './processes.ts';
import { cardUrl, introduce, startSamples, startStandIn } from './samples.ts';
import type { Ready, Sentences } from './sentences.ts';
import { isReady, startPulse, startWorker, tick } from './wrangler.ts';

/** Production ticks once an hour; here somebody may be watching. */
const tickIntervalMs = 30_000;

export interface Surroundings {
  readonly options: Options;
  readonly say: Sentences;
  /** A line about a part that is there now. */
  readonly progress: (line: string) => void;
  /** A line that a child wrote. */
  readonly onLine: (name: string, line: string) => void;
  /** Aborts when the user, or a child that died, ends it all: then `start` gives up soon. */
  readonly stopping: AbortSignal;
  /** Ends it all, for the reason given. */
  readonly fail: (reason: string) => void;
  /** What was started, to be ended in the opposite order. */
  readonly stack: AsyncDisposableStack;
}

/** Throws an Error whose message is for the user. */
export async function start(world: Surroundings): Promise<Ready> {
  const { options, say, stopping } = world;
  if ((await freePort(options.port)) === null) throw new Error(say.portTaken(options.port));
  const database = await startDatabase(world);
  stopping.throwIfAborted();

  const agents = await startAgents(world);
  const model = await startModel(world);
  stopping.throwIfAborted();

  const bindings = readBindings({
    PUBLIC_URL: `http://${loopback}:${options.port}`,
    PUSH_SECRET: await pushSecret(database.folder),
    ALLOW_ANONYMOUS: '1',
    ...options.variables,
    ...model.bindings,
    ...agents.bindings,
    DATABASE_URL: bridgedUrl,
    NEON_FETCH_ENDPOINT: endpointOf(database.port),
  });
  if (bindings.kind === 'wrong') throw new Error(say.badVariable(bindings.detail));
  const { settings } = bindings;
  const modelState = settings.model.standIn ? null : checkModel(settings.model, stopping);
  await runWorker(world, database.folder, bindings.plain, bindings.secrets);
  return {
    url: `http://localhost:${options.port}`,
    database: database.name,
    model: settings.model.standIn ? say.standIn : say.model(settings.model.name, settings.model.baseUrl),
    complaint: modelState && say.modelState(await modelState),
    agents: await introduce(settings.agentSources),
  };
}

/** The bridge listens first: its port, and with it the folder, are ours before anything in there is touched. */
async function startDatabase({ options, say, stack, progress }: Surroundings) {
  const opening = Promise.withResolvers<Backend>();
  const bridge = bridgeTo(opening.promise);
  const port = await listen(bridge, options.databasePort);
  if (port === null) throw new Error(say.bridgePortTaken(options.databasePort));
  stack.defer(() => {
    bridge.closeAllConnections();
    bridge.close();
  });
  const folder = await holdFolder(options.data, port);
  if (folder === null) throw new Error(say.folderHeld(options.data));
  stack.defer(folder.release);

  const url = options.variables.LOCAL_DATABASE_URL ?? null;
  const backend = await openBackend(url, folder.postgres).catch((refused: unknown) => {
    const reason = refused instanceof Error ? refused.message || refused.name : String(refused);
    throw new Error(say.databaseFailed(url === null ? folder.postgres : 'LOCAL_DATABASE_URL', reason));
  });
  stack.defer(backend.close);
  opening.resolve(backend);
  progress(say.database);
  progress(say.migrations(await migrateThrough(port)));
  return { port, folder, name: url === null ? say.pglite(folder.postgres) : say.postgres };
}

/** None, when the user has agents of their own. */
async function startAgents(world: Surroundings) {
  const { options, onLine, stopping } = world;
  if (options.variables.A2A_AGENTS || options.variables.A2A_RUNTIME_ENDPOINT) return { bindings: {} };
  const coderVariables = options.variables.OPENAI_API_KEY
    ? pick(options.variables, ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL'])
    : {};
  const servers = await startSamples({ env: without(process.env), onLine, signal: stopping }, coderVariables);
  keep(
    world,
    servers.map((server) => server.child),
  );
  const urls = (await Promise.all(servers.map((server) => server.url))).filter((url) => url !== null);
  stopping.throwIfAborted();
  world.progress(world.say.agents);
  return { bindings: { A2A_AGENTS: JSON.stringify(urls.map(cardUrl)) } };
}

async function startModel(world: Surroundings) {
  const { options, onLine, stopping } = world;
  if (options.variables.OPENAI_API_KEY) return { bindings: { STAND_IN_MODEL: '' } };
  const server = startStandIn({ env: without(process.env), onLine, signal: stopping });
  keep(world, [server.child]);
  const url = await server.url;
  stopping.throwIfAborted();
  return { bindings: { OPENAI_API_KEY: 'stand-in', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'stand-in', STAND_IN_MODEL: '1' } };
}

async function runWorker(world: Surroundings, folder: DataFolder, plain: Variables, secrets: Variables): Promise<void> {
  const { options, say, stack, stopping, progress, onLine, fail } = world;
  const begin = () => startWorker({ port: options.port, folder, plain, secrets, onLine: (line) => onLine('worker', line) });
  let worker: Child | null = null;
  const watch = async (child: Child) => {
    await child.ended;
    if (!stopping.aborted && child === worker) fail(say.died(child.name, child.lines()));
  };
  const replace = async () => {
    // The end of this one is wanted.
    const former = worker;
    worker = null;
    await former?.stop();
    worker = await begin();
    void watch(worker);
  };
  stack.defer(() => worker?.stop());
  await replace();
  if (!(await isReady(options.port, stopping))) {
    stopping.throwIfAborted();
    throw new Error(say.notReady(linesOf(worker)));
  }
  const clock = setInterval(() => tick(options.port), tickIntervalMs);
  stack.defer(() => clearInterval(clock));
  // wrangler starts a runtime that was killed again, but may leave its own door shut.
  const pulse = startPulse(options.port, async () => {
    progress(say.workerAgain);
    await replace();
    await isReady(options.port, stopping);
  });
  stack.defer(pulse);
  progress(say.service);
}

const linesOf = (child: Child | null): readonly string[] => child?.lines() ?? [];

/** They end with the world, at the same time; and the world ends when one of them does. */
function keep({ say, stack, stopping, fail }: Surroundings, children: readonly Child[]): void {
  stack.defer(async () => {
    await Promise.all(children.map((child) => child.stop()));
  });
  for (const child of children) {
    child.ended.then(() => {
      if (!stopping.aborted) fail(say.died(child.name, child.lines()));
    });
  }
}

// The port Agents on the A2A SDK: v1.0, v0.3 and, in its words, what came before; JSON-RPC and HTTP+JSON. Effects: network.

import * as a2a from '@a2a-js/sdk';
import { type Client, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { Fault } from '../fault.ts';
import type { Call } from '../intention/call.ts';
import { lookRequestMs, replyMs } from '../intention/limits.ts';
import type { Settings } from '../settings.ts';
import type { Agents } from '../world.ts';
import { accumulate } from './accumulate.ts';
import type { Agent, AgentInterface } from './card.ts';
import { converse } from './converse.ts';
import { isOver, isProtocolError, isUnknownTask, sdkFault, statusFault } from './failure.ts';
import { knownTask } from './first-version.ts';
import { writePart } from './part.ts';
import { pushSecret } from './push.ts';
import { type AgentEvent, type AgentReply, messageReply, type RawPart, taskReply } from './reply.ts';
import { type Knock, maxAnswerBytes, maxStreamBytes, safeFetch } from './safe-fetch.ts';
import { readSources } from './sources.ts';

/** What we can show or plan with; the catch-all is for agents that compare literally. */
const acceptedOutputModes = ['text/plain', 'text', 'application/json', '*/*'];

/** These statuses mean the same whatever the body says; of others the body may be an error of the protocol. */
const plainStatuses = new Set([401, 403, 407, 429, 503]);

/** Tasks looked through, and of their history, when a task is known by our messageId alone. */
const maxListed = 50;

type AgentSettings = Pick<Settings, 'agentSources' | 'publicUrl' | 'pushSecrets'>;

/** `knock` is asked before anything is sent to this machine itself; null: whoever refuses is told from the error. */
export function createAgents(settings: AgentSettings, knock: Knock | null): Agents {
  const connect = async (agent: Agent, timeoutMs: number, maxBytes: number): Promise<Client> => {
    const way = wayTo(agent);
    const source = settings.agentSources.find(({ url }) => url === agent.source) ?? null;
    const fetchImpl: typeof fetch = async (input, init = {}) => {
      const url = input instanceof Request ? input.url : String(input);
      const exchange = async (sent: RequestInit): Promise<Response> => {
        const response = await safeFetch({ url, init: sent, agent: agent.name, source, timeoutMs, maxBytes, knock });
        if (response.ok) return response;
        const body = plainStatuses.has(response.status) ? '' : await response.text();
        if (!isProtocolError(body, way.binding)) throw statusFault(response.status, response.headers.get('retry-after'), agent.name);
        return new Response(body, response);
      };
      if (way.binding !== 'JSONRPC' || typeof init.body !== 'string') return exchange(init);
      return converse(way.version, init.body, (body) => exchange({ ...init, body }));
    };
    const options = { fetchImpl, legacyCompat: { enabled: true } };
    const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)] });
    return factory.createFromAgentCard(sdkCard(agent, way));
  };

  /** One question about a task and its answer. */
  const ask = async <Answer>(agent: Agent, question: (client: Client) => Promise<Answer>): Promise<Answer> =>
    question(await connect(agent, lookRequestMs, maxAnswerBytes));

  const get: Agents['get'] = async (agent, call, signal) => {
    try {
      const taskId = knownTask(wayTo(agent), call) ?? (await ask(agent, (client) => findTask(client, call, signal)));
      if (taskId === null) return null;
      const task = await ask(agent, (client) => client.getTask(a2a.GetTaskRequest.fromJSON({ id: taskId }), { signal }));
      return taskReply(task, call.messageId);
    } catch (thrown) {
      if (isUnknownTask(thrown)) return null;
      throw sdkFault(thrown, agent.name);
    }
  };

  /** Some agents call a task completed before they tell what came of it: who says nothing is looked at once more. */
  async function* complete(
    agent: Agent,
    call: Call,
    events: AsyncIterable<AgentEvent>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, void, undefined> {
    for await (const event of events) {
      if (event.kind === 'reply' && isEmpty(event.reply)) {
        const { reply } = event;
        const whole = await get(agent, { ...call, taskId: reply.taskId }, signal).catch(() => null);
        if (whole?.state === 'completed' && !isEmpty(whole)) {
          if (whole.content !== '') yield { kind: 'text', text: whole.content };
          yield { kind: 'reply', reply: { ...whole, contextId: whole.contextId ?? reply.contextId } };
          continue;
        }
      }
      yield event;
    }
  }

  return {
    read: readSources,

    async *send(agent, call, parts, signal) {
      const request = await sendRequest(settings, agent, call, parts);
      const { streaming } = agent.card;
      const client = await connect(agent, replyMs, streaming ? maxStreamBytes : maxAnswerBytes);
      const events = streaming
        ? listen(agent, call, client.sendMessageStream(request, { signal }))
        : answer(agent, call, client.sendMessage(request, { signal }));
      yield* complete(agent, call, events, signal);
    },

    async *subscribe(agent, call, signal) {
      const id = knownTask(wayTo(agent), call);
      if (id === null) return;
      const client = await connect(agent, replyMs, maxStreamBytes);
      const events = listen(agent, call, client.resubscribeTask(a2a.SubscribeToTaskRequest.fromJSON({ id }), { signal }));
      yield* complete(agent, call, events, signal);
    },

    get,

    async cancel(agent, call, signal) {
      try {
        const id = knownTask(wayTo(agent), call);
        if (id === null) return null;
        const request = a2a.CancelTaskRequest.fromJSON({ id });
        const task = await ask(agent, (client) => client.cancelTask(request, { signal }));
        const { state } = taskReply(task, call.messageId);
        return state === 'canceled' ? 'canceled' : state === 'completed' || state === 'failed' || state === 'rejected' ? 'finished' : null;
      } catch (thrown) {
        if (isUnknownTask(thrown)) return 'gone';
        if (isOver(thrown)) return 'finished';
        throw sdkFault(thrown, agent.name);
      }
    },
  };
}

/** v1.0 first; else the card's order. */
function wayTo(agent: Agent): AgentInterface {
  const { interfaces } = agent.card;
  const way = interfaces.find(({ version }) => version === '1.0') ?? interfaces[0];
  if (way === undefined) throw new Fault('agent_invalid', { notes: { agent: agent.name, sent: false } });
  return way;
}

/** The card as the SDK needs it: the one interface that we chose, and what it looks at. */
function sdkCard(agent: Agent, way: AgentInterface): a2a.AgentCard {
  const { name, streaming, pushNotifications } = agent.card;
  const supportedInterfaces = [{ url: way.url, protocolBinding: way.binding, protocolVersion: sdkVersion(way), tenant: way.tenant ?? '' }];
  return a2a.AgentCard.fromJSON({ name, supportedInterfaces, capabilities: { streaming, pushNotifications } });
}

/** The SDK speaks to v0.1 as to v0.3; `converse` makes of it what was meant. */
function sdkVersion({ version }: AgentInterface): string {
  return version === '0.1' ? '0.3' : version;
}

/** Nothing in it tells who the user is. */
async function sendRequest(settings: AgentSettings, agent: Agent, call: Call, parts: readonly RawPart[]): Promise<a2a.SendMessageRequest> {
  const request = a2a.SendMessageRequest.fromJSON({
    message: {
      messageId: call.messageId,
      role: 'ROLE_USER',
      ...(call.taskId === null ? {} : { taskId: call.taskId }),
      ...(call.contextId === null ? {} : { contextId: call.contextId }),
      referenceTaskIds: call.referenceTaskIds,
    },
    configuration: {
      acceptedOutputModes,
      returnImmediately: !agent.card.streaming,
      ...(agent.card.pushNotifications && settings.publicUrl !== null
        ? { taskPushNotificationConfig: await pushConfiguration(settings.publicUrl, settings.pushSecrets[0] ?? '', call) }
        : {}),
    },
  });
  request.message?.parts.push(writePart({ kind: 'text', text: call.query }), ...parts.map(writePart));
  return request;
}

/** The secret goes both ways that agents know: as the token, and as a bearer. */
async function pushConfiguration(publicUrl: string, key: string, call: Call) {
  const secret = await pushSecret(key, call.id);
  const url = `${publicUrl.replace(/\/+$/, '')}/a2a/push/${call.id}`;
  return { id: call.id, url, token: secret, authentication: { scheme: 'Bearer', credentials: secret } };
}

/** A stream that breaks off, or lasts too long, just ends: what became of the task is to be looked up. */
async function* listen(agent: Agent, call: Call, stream: AsyncIterable<a2a.StreamResponse>): AsyncGenerator<AgentEvent, void, undefined> {
  try {
    yield* accumulate(stream, call);
  } catch (thrown) {
    const fault = sdkFault(thrown, agent.name);
    const { cut } = fault.notes;
    if (fault.code !== 'agent_down' || cut !== true) throw fault;
  }
}

function isEmpty({ state, taskId, parts }: AgentReply): boolean {
  return state === 'completed' && taskId !== null && parts.length === 0;
}

async function* answer(agent: Agent, call: Call, sent: Promise<a2a.SendMessageResult>): AsyncGenerator<AgentEvent, void, undefined> {
  const result = await sent.catch((thrown: unknown) => {
    throw sdkFault(thrown, agent.name);
  });
  const reply = 'messageId' in result ? messageReply(result) : taskReply(result, call.messageId);
  if (reply.taskId !== null) yield { kind: 'bound', taskId: reply.taskId, contextId: reply.contextId };
  yield { kind: 'reply', reply };
}

/** By our messageId, among the tasks that the agent lists. Only v1.0 has such a list, and an agent need not offer it. */
async function findTask(client: Client, call: Call, signal: AbortSignal): Promise<string | null> {
  if (client.protocolVersion !== '1.0') return null;
  const request = { contextId: call.contextId ?? '', pageSize: maxListed, historyLength: maxListed };
  const { tasks } = await client.listTasks(a2a.ListTasksRequest.fromJSON(request), { signal });
  return tasks.find(({ history }) => history.some(({ messageId }) => messageId === call.messageId))?.id ?? null;
}

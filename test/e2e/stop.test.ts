// A question that its user stops: over at once and for good, and every agent that was asked hears of it, whenever its task becomes known.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { maxCancels } from '../../src/intention/limits.ts';
import { serve } from '../support/a2a-peer.ts';
import { type Client, clientOf, type Receipt } from '../support/client.ts';
import { callsAgents, reports } from '../support/model-server.ts';
import { type Exchange, moved, piece, push, type ScriptedAgent, scriptedAgent, task } from '../support/scripted-agent.ts';
import { useTown } from '../support/town.ts';

let streamer: ScriptedAgent;
let poller: ScriptedAgent;
let pusher: ScriptedAgent;
const town = useTown(async () => {
  streamer = await scriptedAgent('streamer', { streaming: true });
  poller = await scriptedAgent('poller');
  pusher = await scriptedAgent('pusher', { push: true });
  return { agents: [], others: [streamer.source, poller.source, pusher.source] };
});
afterAll(async () => {
  for (const { site } of [streamer, poller, pusher]) await site.close();
});

/** A second, and what two busy cores may add. */
const soonMs = 3_000;

async function soon<Value>(what: string, promise: Promise<Value>): Promise<Value> {
  return Promise.race([
    promise,
    pause(soonMs).then(() => {
      throw new Error(`${what} took more than ${soonMs} ms`);
    }),
  ]);
}

/** Calls to these agents at once; a report if anybody still asks for one. */
async function begin(agents: readonly ScriptedAgent[], client: Client = town().client): Promise<Receipt> {
  const script = [callsAgents(...agents.map(({ name }) => ({ agent: name, query: `ask ${name}` })))];
  town().model.follow(() => script.shift() ?? reports('once too often'));
  return client.tell(null, 'something that takes long');
}

const stoppedSchema = z.object({ id: z.string(), status: z.string(), ended: z.boolean() });
const stop = async ({ conversation_id, intention_id }: Receipt, client: Client = town().client) =>
  stoppedSchema.parse(await (await client.post(`/v1/conversations/${conversation_id}/intentions/${intention_id}/cancel`, {})).json());

const shownSchema = z.object({
  status: z.string(),
  calls: z.array(z.looseObject({ agent: z.string(), state: z.string(), cancel: z.string().nullable() })),
});
async function cancels({ conversation_id, intention_id }: Receipt): Promise<Readonly<Record<string, string | null>>> {
  const path = `/v1/conversations/${conversation_id}/intentions/${intention_id}`;
  const { calls } = shownSchema.parse(await (await town().client.send(path)).json());
  return Object.fromEntries(calls.map(({ agent, cancel }) => [agent, cancel]));
}

/** The rows after the user's. */
const rows = async ({ conversation_id }: Receipt) =>
  (await town().client.rows(conversation_id)).slice(1).map(({ role, type, agent }) => [role, type, agent]);

/** Every stopped conversation of a test, and the rows it ended with. */
const ended: { readonly receipt: Receipt; readonly rows: unknown }[] = [];
async function stopped(receipt: Receipt): Promise<void> {
  expect(await stop(receipt)).toEqual({ id: receipt.intention_id, status: 'canceled', ended: true });
  const left = await rows(receipt);
  expect(left.at(-1)).toEqual(['assistant', 'canceled', null]);
  ended.push({ receipt, rows: left });
}
afterEach(async () => {
  for (const { receipt, rows: left } of ended.splice(0)) {
    // Nothing of it reaches the agents of the next test.
    await expect.poll(async () => Object.values(await cancels(receipt)), { timeout: 20_000 }).not.toContain('wanted');
    expect(await rows(receipt)).toEqual(left);
    expect(await town().client.status(receipt.conversation_id, receipt.intention_id)).toBe('canceled');
    expect(await stop(receipt)).toEqual({ id: receipt.intention_id, status: 'canceled', ended: true });
  }
});

/** Agents of every kind that work until they are canceled. */
function work(id: string): void {
  const canceled = ({ result, params }: Exchange) => result(task(params.id ?? '', 'CANCELED'));
  streamer.behave({
    SendStreamingMessage({ event }) {
      event({ task: task(`${id} streamed`, 'WORKING') });
      event(piece(`${id} streamed`, 'so far ', false));
    },
    CancelTask: canceled,
  });
  for (const agent of [poller, pusher]) {
    agent.behave({
      SendMessage: ({ result }) => result({ task: task(`${id} of ${agent.name}`, 'WORKING') }),
      GetTask: ({ result, params }) => result(task(params.id ?? '', 'WORKING')),
      CancelTask: canceled,
    });
  }
}

describe('Stop', () => {
  it('is one end, however often and by however many it is asked for', async () => {
    work('often');
    const receipt = await begin([streamer, poller]);
    await streamer.asked('SendStreamingMessage');
    const answers = await Promise.all(Array.from({ length: 8 }, () => stop(receipt)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    await stopped(receipt);
    expect((await rows(receipt)).filter(([role]) => role === 'assistant')).toHaveLength(1);
  });

  it('reaches agents that stream, that are polled and that push, and shows what came of each', async () => {
    work('all');
    const receipt = await begin([streamer, poller, pusher]);
    const events = town().client.events(receipt.conversation_id);
    const [stream] = await Promise.all([streamer.asked('SendStreamingMessage'), poller.asked('SendMessage'), pusher.asked('SendMessage')]);
    await expect
      .poll(
        async () =>
          (await town().database.query('select 1 from call where conversation_id = $1 and task_id is not null', [receipt.conversation_id]))
            .length,
        {
          timeout: 10_000,
        },
      )
      .toBe(3);
    const told: unknown[] = [];
    const hearing = (async () => {
      for await (const { event, data } of events) {
        if (event === 'call') told.push(JSON.parse(data));
        if (told.length === 3) return;
      }
    })();
    await stopped(receipt);
    const closed = soon('the stream', stream.closed);
    await soon('CancelTask', Promise.all([streamer.asked('CancelTask'), poller.asked('CancelTask'), pusher.asked('CancelTask')]));
    await closed;
    expect((await streamer.asked('CancelTask')).params.id).toBe('all streamed');
    expect((await poller.asked('CancelTask')).params.id).toBe('all of poller');
    await soon('the outcomes on the stream', hearing);
    const outcome = { intention_id: receipt.intention_id, state: 'canceled', cancel: 'canceled' };
    expect(told).toHaveLength(3);
    for (const agent of ['streamer', 'poller', 'pusher']) expect(told).toContainEqual(expect.objectContaining({ ...outcome, agent }));
    expect(await cancels(receipt)).toEqual({ streamer: 'canceled', poller: 'canceled', pusher: 'canceled' });
  });

  it('says of each agent how it took it', async () => {
    work('outcomes');
    streamer.behave({
      SendStreamingMessage: ({ event }) => event({ task: task('took', 'WORKING') }),
      CancelTask: ({ error }) => error(-32002),
    });
    poller.behave({ SendMessage: ({ result }) => result({ task: task('forgot', 'WORKING') }), CancelTask: ({ error }) => error(-32001) });
    const receipt = await begin([streamer, poller, pusher]);
    await Promise.all([streamer.asked('SendStreamingMessage'), poller.asked('SendMessage'), pusher.asked('SendMessage')]);
    await pause(1_500);
    await stopped(receipt);
    await expect.poll(() => cancels(receipt), { timeout: 10_000 }).toEqual({ streamer: 'finished', poller: 'gone', pusher: 'canceled' });
  });

  it('ends a model call that is under way', async () => {
    let heard: () => void = () => {};
    let gone: () => void = () => {};
    const [asked, closed] = [new Promise<void>((resolve) => (heard = resolve)), new Promise<void>((resolve) => (gone = resolve))];
    const model = await serve((_, response) => {
      response.once('close', gone);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      heard();
    });
    const service = await town().neighbour({ OPENAI_BASE_URL: `${model.origin}/v1` });
    const client = clientOf(service.url);
    const receipt = await client.tell(null, 'a question for a slow model');
    await asked;
    expect(await stop(receipt, client)).toMatchObject({ status: 'canceled' });
    await soon('the model call', closed);
    expect(await rows(receipt)).toEqual([['assistant', 'canceled', null]]);
    await service.stop();
    await model.close();
  });

  it('leaves late results to the audit: they change no row and no state', async () => {
    work('late');
    const receipt = await begin([streamer, pusher]);
    const [stream, send] = await Promise.all([streamer.asked('SendStreamingMessage'), pusher.asked('SendMessage')]);
    await pause(1_200);
    await stopped(receipt);
    stream.event(moved('late streamed', 'COMPLETED'));
    stream.end();
    await expect.poll(() => cancels(receipt), { timeout: 10_000 }).toEqual({ streamer: 'canceled', pusher: 'canceled' });
    for (let repeat = 0; repeat < 3; repeat++) expect(await push(send, 'late of pusher', 'COMPLETED')).toBe(200);
    const attempts = await town().database.query<{ readonly state: string; readonly attempts: number }>(
      `select c.state, count(a.*)::int as attempts from call c join call_attempt a on a.call_id = c.id where c.conversation_id = $1 group by c.id, c.state`,
      [receipt.conversation_id],
    );
    expect(attempts).toEqual([
      { state: 'canceled', attempts: 1 },
      { state: 'canceled', attempts: 1 },
    ]);
    expect(
      town()
        .model.requests.at(-1)
        ?.body.messages.some(({ role }) => role === 'tool'),
    ).toBe(false);
  });
});

describe('a task that has no name when its question is stopped', () => {
  it('is canceled when its agent is found to have it', async () => {
    let message: unknown = null;
    poller.behave({
      SendMessage: ({ params }) => {
        message = params.message;
      },
      ListTasks: ({ result }) =>
        result({ tasks: [task('listed', 'WORKING', '', [message])], nextPageToken: '', pageSize: 50, totalSize: 1 }),
      GetTask: ({ result }) => result(task('listed', 'WORKING')),
      CancelTask: ({ result }) => result(task('listed', 'CANCELED')),
    });
    const receipt = await begin([poller]);
    const send = await poller.asked('SendMessage');
    await stopped(receipt);
    await soon('the send', send.closed);
    expect((await poller.asked('CancelTask')).params.id).toBe('listed');
    await expect.poll(() => cancels(receipt), { timeout: 10_000 }).toEqual({ poller: 'canceled' });
  });

  it('is canceled when its agent names it by push', async () => {
    pusher.behave({ SendMessage: () => {}, CancelTask: ({ result }) => result(task('pushed', 'CANCELED')) });
    const receipt = await begin([pusher]);
    const send = await pusher.asked('SendMessage');
    await stopped(receipt);
    await soon('the send', send.closed);
    expect(await push(send, 'pushed', 'WORKING')).toBe(202);
    expect((await pusher.asked('CancelTask')).params.id).toBe('pushed');
    await expect.poll(() => cancels(receipt), { timeout: 10_000 }).toEqual({ pusher: 'canceled' });
    expect(await push(send, 'pushed', 'CANCELED')).toBe(200);
  });

  it('is canceled when its agent answers the send after all', async () => {
    let message: unknown = null;
    poller.behave({
      async SendMessage({ result, params, closed }) {
        // Begun before the Stop and ended after it: nobody is there to hear it.
        await closed;
        result({ task: task('answered late', 'WORKING') });
        message = params.message;
      },
      ListTasks: ({ result }) =>
        result({ tasks: [task('answered late', 'WORKING', '', [message])], nextPageToken: '', pageSize: 50, totalSize: 1 }),
      GetTask: ({ result }) => result(task('answered late', 'WORKING')),
      CancelTask: ({ result }) => result(task('answered late', 'CANCELED')),
    });
    const receipt = await begin([poller]);
    await poller.asked('SendMessage');
    await stopped(receipt);
    expect((await poller.asked('CancelTask')).params.id).toBe('answered late');
  });
});

describe('an agent that does not take CancelTask', () => {
  it(`is asked ${maxCancels} times, then left`, async () => {
    work('stubborn');
    poller.behave({
      SendMessage: ({ result }) => result({ task: task('stubborn', 'WORKING') }),
      GetTask: ({ result }) => result(task('stubborn', 'WORKING')),
      CancelTask: ({ cut }) => cut(),
    });
    const receipt = await begin([poller]);
    await poller.asked('SendMessage');
    await expect
      .poll(
        async () =>
          (await town().database.query('select 1 from call where conversation_id = $1 and task_id is not null', [receipt.conversation_id]))
            .length,
      )
      .toBe(1);
    await stopped(receipt);
    for (let tries = 1; tries <= maxCancels + 1; tries++) {
      if (tries <= maxCancels) await poller.asked('CancelTask', tries);
      await pause(300);
      await town().database.shift(600);
      await town().service.tick();
    }
    await pause(300);
    expect(poller.methods().filter((method) => method === 'CancelTask')).toHaveLength(maxCancels);
    expect(await cancels(receipt)).toEqual({ poller: 'unsettled' });
  });
});

// What becomes of a call whose agent breaks off, forgets or keeps silent: each way of hearing of it is taken when the one before it fails.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { maxResubscriptions } from '../../src/intention/limits.ts';
import { type Client, clientOf, type Receipt } from '../support/client.ts';
import { callsAgents, reports } from '../support/model-server.ts';
import { type Exchange, moved, piece, push, type ScriptedAgent, scriptedAgent, task } from '../support/scripted-agent.ts';
import { useTown } from '../support/town.ts';

const deadlineSeconds = 3;
let streamer: ScriptedAgent;
let poller: ScriptedAgent;
let pusher: ScriptedAgent;
let hasty: ScriptedAgent;
let clerk: ScriptedAgent;
const town = useTown(async () => {
  streamer = await scriptedAgent('streamer', { streaming: true });
  poller = await scriptedAgent('poller');
  pusher = await scriptedAgent('pusher', { push: true });
  hasty = await scriptedAgent('hasty', { streaming: true });
  clerk = await scriptedAgent('clerk');
  const clerkSource = { ...clerk.source, deduplicates: true };
  const others = [streamer.source, poller.source, pusher.source, { ...hasty.source, deadline_seconds: deadlineSeconds }, clerkSource];
  return { agents: [], others };
});
afterAll(async () => {
  for (const { site } of [streamer, poller, pusher, hasty, clerk]) await site.close();
});

/** One call to that agent, then the report. */
function plan(agent: ScriptedAgent): void {
  const script = [callsAgents({ agent: agent.name, query: 'do it' }), reports('the report')];
  town().model.follow(() => script.shift() ?? reports('once too often'));
}

const begin = (agent: ScriptedAgent, client: Client = town().client): Promise<Receipt> => {
  plan(agent);
  return client.tell(null, `something for ${agent.name}`);
};

/** Its rows once its intention has ended or asks. */
async function rested({ conversation_id, intention_id }: Receipt, status: 'answered' | 'input_required' = 'answered') {
  await expect.poll(() => town().client.status(conversation_id, intention_id), { timeout: 40_000 }).toBe(status);
  const rows = await town().client.rows(conversation_id);
  return rows.slice(2).map(({ type, agent, content }) => [type, agent, content]);
}

/** What came of it, when its agent was heard in the end. */
const heard = (agent: ScriptedAgent, content: string) => [
  ['answer', agent.name, content],
  [null, null, 'the report'],
];

const sends = (agent: ScriptedAgent) => agent.methods().filter((method) => method.startsWith('Send'));

describe('a send whose reply is lost, to an agent that is known to recognise a repeated message,', () => {
  const messages = () => clerk.exchanges.flatMap(({ params }) => params.message ?? []);
  const since = () => messages().slice(-sends(clerk).length);

  it('is sent again, the very same message', async () => {
    clerk.behave({
      SendMessage: ({ cut, result }) => (sends(clerk).length < 3 ? cut() : result({ task: task('third', 'COMPLETED', 'once is enough') })),
    });
    expect(await rested(await begin(clerk))).toEqual(heard(clerk, 'once is enough'));
    const [first, ...repeated] = since();
    expect(repeated).toEqual([first, first]);
  });

  it('is sent three times, then said to be unknown', async () => {
    clerk.behave({ SendMessage: ({ cut }) => cut() });
    const receipt = await begin(clerk);
    expect((await rested(receipt, 'input_required')).map(([type, agent]) => [type, agent])).toEqual([['input_required', 'plan']]);
    expect(sends(clerk)).toHaveLength(3);
  });

  it('and refused the second time, is not said to have been refused', async () => {
    clerk.behave({ SendMessage: ({ cut, error }) => (sends(clerk).length < 2 ? cut() : error(-32602)) });
    const receipt = await begin(clerk);
    expect((await rested(receipt, 'input_required')).map(([type, agent]) => [type, agent])).toEqual([['input_required', 'plan']]);
  });
});

describe('a stream that is cut', () => {
  it('in the middle of its text is read on where the agent is', async () => {
    streamer.behave({
      SendStreamingMessage({ event, end }) {
        event({ task: task('mid-text', 'WORKING') });
        event(piece('mid-text', 'one half, ', false));
        end();
      },
      GetTask: ({ result }) => result(task('mid-text', 'WORKING', 'one half, ')),
      SubscribeToTask({ event, end, params }) {
        expect(params.id).toBe('mid-text');
        event({ task: task('mid-text', 'WORKING', 'one half, ') });
        event(piece('mid-text', 'and the other'));
        event(moved('mid-text', 'COMPLETED'));
        end();
      },
    });
    expect(await rested(await begin(streamer))).toEqual(heard(streamer, 'one half, and the other'));
    expect(streamer.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask']);
  });

  it.each(['ended', 'broken off'])('before the task was named (%s) is found by its message', async (how) => {
    const id = `found ${how}`;
    streamer.behave({
      SendStreamingMessage: (send) => (how === 'ended' ? send.end() : send.cut()),
      ListTasks: ({ result }) =>
        result({
          tasks: [task(id, 'WORKING', '', [streamer.exchanges.at(-2)?.params.message])],
          nextPageToken: '',
          pageSize: 50,
          totalSize: 1,
        }),
      GetTask: ({ result }) =>
        result(task(id, streamer.methods().filter((method) => method === 'GetTask').length < 2 ? 'WORKING' : 'COMPLETED', 'found')),
    });
    expect(await rested(await begin(streamer))).toEqual(heard(streamer, 'found'));
    expect(streamer.methods()).toEqual(['SendStreamingMessage', 'ListTasks', 'GetTask', 'GetTask']);
  });

  it('before the task was named, and cannot be found, is told to the user, and nothing is sent again', async () => {
    streamer.behave({ SendStreamingMessage: ({ cut }) => cut() });
    const [[type, agent, content] = []] = await rested(await begin(streamer), 'input_required');
    expect([type, agent]).toEqual(['input_required', 'plan']);
    expect(content).toContain('It may or may not have happened');
    expect(sends(streamer)).toHaveLength(1);
  });

  it('and cannot be subscribed to is polled', async () => {
    let looks = 0;
    streamer.behave({
      SendStreamingMessage({ event, cut }) {
        event({ task: task('refused', 'WORKING') });
        setTimeout(cut, 50);
      },
      GetTask: ({ result }) => result(task('refused', ++looks < 3 ? 'WORKING' : 'COMPLETED', 'polled')),
      SubscribeToTask: ({ error }) => error(-32004),
    });
    expect(await rested(await begin(streamer))).toEqual(heard(streamer, 'polled'));
    expect(streamer.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask', 'GetTask', 'SubscribeToTask', 'GetTask']);
  });

  it('again and again is subscribed to some times, then polled', async () => {
    let looks = 0;
    streamer.behave({
      SendStreamingMessage({ event, end }) {
        event({ task: task('ever cut', 'WORKING') });
        end();
      },
      GetTask: ({ result }) => result(task('ever cut', ++looks <= maxResubscriptions + 1 ? 'WORKING' : 'COMPLETED', 'at last')),
      SubscribeToTask({ event, cut }) {
        event({ task: task('ever cut', 'WORKING') });
        setTimeout(cut, 20);
      },
    });
    const receipt = await begin(streamer);
    // The last look is a minute off.
    await streamer.asked('GetTask', maxResubscriptions + 1);
    await pause(500);
    await town().database.shift(100);
    await town().service.tick();
    expect(await rested(receipt)).toEqual(heard(streamer, 'at last'));
    expect(streamer.methods().filter((method) => method === 'SubscribeToTask')).toHaveLength(maxResubscriptions);
    expect(sends(streamer)).toHaveLength(1);
  });
});

describe('a push', () => {
  it('that was promised and never comes is not waited for', async () => {
    let looks = 0;
    pusher.behave({
      SendMessage: ({ result }) => result({ task: task('unpushed', 'WORKING') }),
      GetTask: ({ result }) => result(task('unpushed', ++looks < 2 ? 'WORKING' : 'COMPLETED', 'looked up')),
    });
    expect(await rested(await begin(pusher))).toEqual(heard(pusher, 'looked up'));
    expect(pusher.methods()).toEqual(['SendMessage', 'GetTask', 'GetTask']);
    expect((await pusher.asked('SendMessage')).params.configuration?.taskPushNotificationConfig).toBeDefined();
  });

  it('that comes before the reply to the send closes the call once', async () => {
    pusher.behave({
      async SendMessage(send) {
        expect(await push(send, 'early', 'COMPLETED')).toBe(202);
        send.result({ task: task('early', 'COMPLETED', 'early') });
      },
      GetTask: ({ result }) => result(task('early', 'COMPLETED', 'early')),
    });
    expect(await rested(await begin(pusher))).toEqual(heard(pusher, 'early'));
    expect(sends(pusher)).toHaveLength(1);
  });

  it('names the task of a send whose reply is lost', async () => {
    pusher.behave({
      async SendMessage(send) {
        expect(await push(send, 'named by push', 'WORKING')).toBe(202);
        send.cut();
      },
      GetTask: ({ result }) => result(task('named by push', 'COMPLETED', 'found by push')),
    });
    expect(await rested(await begin(pusher))).toEqual(heard(pusher, 'found by push'));
    expect(sends(pusher)).toHaveLength(1);
  });

  it('that comes when the outcome already counts as unknown still brings it', async () => {
    let lost: Exchange | null = null;
    pusher.behave({
      SendMessage(send) {
        lost = send;
        send.cut();
      },
      GetTask: ({ result }) => result(task('late name', 'COMPLETED', 'it did happen')),
    });
    const receipt = await begin(pusher);
    await rested(receipt, 'input_required');
    if (lost === null) throw new Error('nothing was sent');
    expect(await push(lost, 'late name', 'COMPLETED')).toBe(202);
    expect((await rested(receipt)).slice(1)).toEqual(heard(pusher, 'it did happen'));
  });

  it('is not needed by anyone: with all of them lost every call comes to its end', async () => {
    const { url } = await town().neighbour({ PUBLIC_URL: 'http://127.0.0.1:1' });
    const looks = new Map<string, number>();
    pusher.behave({
      SendMessage: ({ result, params }) => result({ task: task(`of ${params.message?.messageId}`, 'WORKING') }),
      GetTask({ result, params: { id = '' } }) {
        looks.set(id, (looks.get(id) ?? 0) + 1);
        result(task(id, (looks.get(id) ?? 0) < 2 ? 'WORKING' : 'COMPLETED', 'by polling'));
      },
    });
    town().model.follow(({ body }) =>
      body.messages.some(({ role }) => role === 'tool') ? reports('the report') : callsAgents({ agent: 'pusher', query: 'do it' }),
    );
    const receipts = await Promise.all(Array.from({ length: 20 }, (_, number) => clientOf(url).tell(null, `unheard ${number}`)));
    for (const receipt of receipts) expect(await rested(receipt)).toEqual(heard(pusher, 'by polling'));
    expect(sends(pusher)).toHaveLength(20);
  });
});

describe('a task', () => {
  it('that its agent has lost is said to be lost', async () => {
    poller.behave({ SendMessage: ({ result }) => result({ task: task('forgotten', 'WORKING') }), GetTask: ({ error }) => error(-32001) });
    const rows = await rested(await begin(poller));
    expect(rows).toEqual([
      ['error', 'poller', expect.stringContaining('no longer knows the task')],
      [null, null, 'the report'],
    ]);
  });

  it('whose agent cannot be asked for a while is asked again', async () => {
    let looks = 0;
    poller.behave({
      SendMessage: ({ result }) => result({ task: task('away', 'WORKING') }),
      GetTask: ({ cut, result }) => (++looks < 3 ? cut() : result(task('away', 'COMPLETED', 'back again'))),
    });
    expect(await rested(await begin(poller))).toEqual(heard(poller, 'back again'));
    expect(sends(poller)).toHaveLength(1);
  });
});

describe('an agent that never answers', () => {
  it.each(['streams on', 'polled'])('is given up at its own deadline, and told to cancel (%s)', async (how) => {
    const id = `endless ${how}`;
    hasty.behave({
      SendStreamingMessage({ event, end }) {
        event({ task: task(id, 'WORKING') });
        if (how === 'polled') end();
      },
      GetTask: ({ result }) => result(task(id, 'WORKING')),
      CancelTask: ({ result }) => result(task(id, 'CANCELED')),
    });
    const began = performance.now();
    const rows = await rested(await begin(hasty));
    expect(rows).toEqual([
      ['error', 'hasty', expect.stringContaining('did not finish in time')],
      [null, null, 'the report'],
    ]);
    expect(performance.now() - began).toBeGreaterThan(deadlineSeconds * 1_000);
    expect((await hasty.asked('CancelTask')).params.id).toBe(id);
    expect(sends(hasty)).toHaveLength(1);
  });

  it('and took the message in silence is in doubt at its deadline', async () => {
    hasty.behave({ SendStreamingMessage: () => {} });
    const receipt = await begin(hasty);
    const send = await hasty.asked('SendStreamingMessage');
    const [[type, agent] = []] = await rested(receipt, 'input_required');
    expect([type, agent]).toEqual(['input_required', 'plan']);
    // The connection to it is let go.
    await send.closed;
    expect(sends(hasty)).toHaveLength(1);
  });

  it('within the usual fifteen minutes is given up then', async () => {
    poller.behave({
      SendMessage: ({ result }) => result({ task: task('quarter', 'WORKING') }),
      GetTask: ({ result }) => result(task('quarter', 'WORKING')),
      CancelTask: ({ result }) => result(task('quarter', 'CANCELED')),
    });
    const receipt = await begin(poller);
    await poller.asked('GetTask');
    expect(await town().client.status(receipt.conversation_id, receipt.intention_id)).toBe('calling');
    await pause(200);
    await town().database.shift(16 * 60);
    await town().service.tick();
    expect((await rested(receipt))[0]).toEqual(['error', 'poller', expect.stringContaining('did not finish in time')]);
    expect((await poller.asked('CancelTask')).params.id).toBe('quarter');
  });
});

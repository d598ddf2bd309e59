// Several agents at once: what they cost, what is told while they work, and that one decision ends in one report whoever is late or dead.

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Answered, collect, type Receipt } from '../support/client.ts';
import { callsAgents, type ModelRequest, reports } from '../support/model-server.ts';
import { type Exchange, moved, piece, type ScriptedAgent, scriptedAgent, task } from '../support/scripted-agent.ts';
import { useTown } from '../support/town.ts';

const names = ['anna', 'ben', 'carl', 'dora', 'emil'] as const;
const agents = new Map<string, ScriptedAgent>();
const deadlineSeconds = 2;
const town = useTown(async () => {
  for (const name of [...names, 'dead']) agents.set(name, await scriptedAgent(name, { streaming: true }));
  const others = names.map((name) => agent(name).source);
  return { agents: [], others: [...others, { ...agent('dead').source, deadline_seconds: deadlineSeconds }] };
});
afterAll(async () => {
  for (const { site } of agents.values()) await site.close();
});

function agent(name: string): ScriptedAgent {
  const found = agents.get(name);
  if (!found) throw new Error(`no ${name}`);
  return found;
}

const answers =
  (said: string) =>
  ({ event, end, text }: Exchange) => {
    event({ task: task(`${said} ${text}`, 'COMPLETED', said) });
    end();
  };

/** The model calls these at once, then reports. */
function plan(called: readonly string[], report = 'the report'): void {
  const script = [callsAgents(...called.map((name) => ({ agent: name, query: `ask ${name} ${crypto.randomUUID()}` }))), reports(report)];
  town().model.follow(() => script.shift() ?? reports('once too often'));
}

const told = ({ body }: ModelRequest | { body: { messages: [] } }) =>
  body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));

const frame = z.looseObject({
  type: z.string().nullable().optional(),
  agent: z.string().nullable().optional(),
  text: z.string().optional(),
});

async function ended({ conversation_id }: Receipt) {
  return collect(town().client.events(conversation_id), ({ event, data }) => event === 'status' && data.includes('"answered"'));
}

describe('n agents at once', () => {
  it.each([2, 3, 4, 5])('cost two model calls: %i', async (count) => {
    const called = names.slice(0, count);
    for (const name of called) agent(name).behave({ SendStreamingMessage: answers(`${name} knows`) });
    plan(called);
    const before = town().model.requests.length;
    const answered = await town().client.say(null, 'ask them all');
    expect(answered).toMatchObject({ status: 'answered', answer: 'the report' });
    expect(town().model.requests.length - before).toBe(2);
    const results = told(town().model.requests.at(-1) ?? { body: { messages: [] } });
    expect(results).toHaveLength(count);
    for (const name of called) expect(results.filter((text) => text.includes(`${name} knows`))).toHaveLength(1);
    for (const name of called) expect(agent(name).methods()).toEqual(['SendStreamingMessage']);
  });

  it('join once, also when all of them end in the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      for (const name of names)
        agent(name).behave({ SendStreamingMessage: ({ event }) => event({ task: task(`${name}-${round}`, 'WORKING') }) });
      plan(names);
      const before = town().model.requests.length;
      const receipt = await town().client.tell(null, `all at once ${round}`);
      const sends = await Promise.all(names.map((name) => agent(name).asked('SendStreamingMessage')));
      for (const [place, send] of sends.entries()) {
        send.event({ task: task(`${names[place]}-${round}`, 'COMPLETED', 'done') });
        send.end();
      }
      await ended(receipt);
      expect(town().model.requests.length - before).toBe(2);
      const rows = await town().client.rows(receipt.conversation_id);
      expect(rows.filter(({ role }) => role === 'assistant')).toHaveLength(1);
      expect(
        rows
          .filter(({ type }) => type === 'answer')
          .map((row) => row.agent)
          .sort(),
      ).toEqual([...names]);
    }
  });

  it('are heard side by side, and what each said is stored when it is said', async () => {
    for (const name of ['anna', 'ben'])
      agent(name).behave({ SendStreamingMessage: ({ event }) => event({ task: task(`${name}-live`, 'WORKING') }) });
    plan(['anna', 'ben']);
    const receipt = await town().client.tell(null, 'live');
    const events = town().client.events(receipt.conversation_id);
    const [anna, ben] = await Promise.all([agent('anna').asked('SendStreamingMessage'), agent('ben').asked('SendStreamingMessage')]);
    const heard: string[] = [];
    /** Until that agent has said that much, live or in a row. */
    const hear = async (line: string) => {
      for (;;) {
        const next = await events.next();
        if (next.done) throw new Error(`the stream ended before ${line}: ${heard.join(' · ')}`);
        const { type, agent: by, text } = frame.parse(JSON.parse(next.value.data));
        const said = next.value.event === 'delta' ? `${by}: ${text}` : next.value.event === 'message' ? `row ${type} of ${by}` : null;
        if (said !== null && (by === 'anna' || by === 'ben')) heard.push(said);
        if (said === line) return;
      }
    };
    anna.event(piece('anna-live', 'one ', false));
    await hear('anna: one ');
    ben.event(piece('ben-live', 'uno ', false));
    await hear('ben: uno ');
    anna.event(piece('anna-live', 'two'));
    await hear('anna: two');
    ben.event(piece('ben-live', 'due'));
    await hear('ben: due');
    // The second to be asked is the first to be done: its row is there while the other still works.
    ben.event(moved('ben-live', 'COMPLETED'));
    await hear('row answer of ben');
    const between = await town().client.rows(receipt.conversation_id);
    expect(between.map(({ type, agent: by, content }) => [type, by, content]).slice(-1)).toEqual([['answer', 'ben', 'uno due']]);
    expect(await town().client.status(receipt.conversation_id, receipt.intention_id)).toBe('calling');
    anna.event(moved('anna-live', 'COMPLETED'));
    await hear('row answer of anna');
    expect(heard).toEqual(['anna: one ', 'ben: uno ', 'anna: two', 'ben: due', 'row answer of ben', 'row answer of anna']);
    await events.return();
    await ended(receipt);
    const rows = await town().client.rows(receipt.conversation_id);
    expect(rows.slice(3).map(({ agent: by, content }) => [by, content])).toEqual([
      ['ben', 'uno due'],
      ['anna', 'one two'],
      [null, 'the report'],
    ]);
  });
});

describe('a branch that does not come', () => {
  it('ends at its own deadline, and the report is made of what there is', async () => {
    agent('anna').behave({ SendStreamingMessage: answers('anna knows') });
    agent('dead').behave({
      SendStreamingMessage: ({ event }) => event({ task: task('never', 'WORKING') }),
      GetTask: ({ result }) => result(task('never', 'WORKING')),
      SubscribeToTask: ({ event }) => event({ task: task('never', 'WORKING') }),
      CancelTask: ({ result }) => result(task('never', 'CANCELED')),
    });
    plan(['anna', 'dead']);
    const before = town().model.requests.length;
    const answered = await town().client.say(null, 'one of them is slow');
    expect(answered).toMatchObject({ status: 'answered', answer: 'the report' });
    const rows = await town().client.rows(answered.conversation_id);
    expect(rows.slice(3).map(({ type, agent: by }) => [type, by])).toEqual([
      ['answer', 'anna'],
      ['error', 'dead'],
      [null, null],
    ]);
    expect(rows[4]?.content).toContain('did not finish in time');
    expect(town().model.requests.length - before).toBe(2);
    expect(told(town().model.requests.at(-1) ?? { body: { messages: [] } })).toHaveLength(2);
    // Nobody waits for it any more, and it is told so.
    expect(agent('dead').methods()).toContain('CancelTask');
  });

  it('that nobody can reach is told at once', async () => {
    const gone = await scriptedAgent('gone');
    const service = await town().neighbour({ A2A_AGENTS: JSON.stringify([agent('anna').source, gone.source]) });
    await (await fetch(`${service.url}/v1/agents`)).text();
    await gone.site.close();
    agent('anna').behave({ SendStreamingMessage: answers('anna knows') });
    plan(['anna', 'gone']);
    const response = await fetch(`${service.url}/v1/conversations?wait=25`, {
      method: 'POST',
      body: JSON.stringify({ content: 'one of them is gone' }),
      headers: { 'content-type': 'application/json' },
    });
    expect(await response.json()).toMatchObject({ status: 'answered', answer: 'the report' });
    await service.stop();
  });
});

describe('two agents that ask back at once', () => {
  /** Asks on a task of its own, and is content with whatever is sent to that. */
  function ask(): void {
    for (const name of ['anna', 'ben']) {
      const id = `${name} ${crypto.randomUUID()}`;
      agent(name).behave({
        SendStreamingMessage({ event, end, params }) {
          event({
            task:
              params.message?.taskId === id ? task(id, 'COMPLETED', `${name} is content`) : task(id, 'INPUT_REQUIRED', `${name}: which?`),
          });
          end();
        },
      });
    }
  }

  /** What the model is told to call each agent's question: q1, q2 in the order of their asking. */
  async function questions({ conversation_id }: Answered): Promise<ReadonlyMap<string | null, string>> {
    const rows = await town().client.rows(conversation_id);
    return new Map(rows.filter(({ type }) => type === 'input_required').map((row, place) => [row.agent, `q${place + 1}`]));
  }

  it.each(['first', 'last'])(
    'are answered by one message and then by another, each on its own task (%s asked is first answered)',
    async (which) => {
      ask();
      plan(['anna', 'ben']);
      const first = await town().client.say(null, 'both');
      expect(first.status).toBe('input_required');
      const open = await questions(first);
      const order = [...open.keys()].flatMap((name) => name ?? []);
      const [one = '', other = ''] = which === 'first' ? order : order.toReversed();
      expect([one, other].sort()).toEqual(['anna', 'ben']);

      town().model.follow(() => callsAgents({ agent: one, query: 'that one', answers: open.get(one) ?? '' }));
      const second = await town().client.say(first.conversation_id, 'that one');
      // One is content; the other still asks.
      expect(second).toMatchObject({ status: 'input_required', intention_id: first.intention_id, question: { agent: other } });

      const script = [callsAgents({ agent: other, query: 'this one', answers: open.get(other) ?? '' }), reports('both are content')];
      town().model.follow(() => script.shift() ?? reports('once too often'));
      const third = await town().client.say(first.conversation_id, 'this one', { answer_to: second.question?.call_id });
      expect(third).toMatchObject({ status: 'answered', answer: 'both are content', intention_id: first.intention_id });
      const rows = await town().client.rows(first.conversation_id);
      expect(rows.map(({ role, type, agent: by, to_agent: to }) => [role, type, to ?? by])).toEqual([
        ['user', null, null],
        ['agent', 'query', 'anna'],
        ['agent', 'query', 'ben'],
        ...order.map((name) => ['agent', 'input_required', name]),
        ['user', null, null],
        ['agent', 'query', one],
        ['agent', 'answer', one],
        ['user', null, null],
        ['agent', 'query', other],
        ['agent', 'answer', other],
        ['assistant', null, null],
      ]);
      for (const name of order) {
        const [asked, answered] = agent(name).exchanges.slice(-2);
        expect([asked?.params.message?.taskId, answered?.params.message?.taskId]).toEqual([undefined, expect.stringContaining(name)]);
      }
    },
  );

  it('may be answered by one message together', async () => {
    ask();
    plan(['anna', 'ben']);
    const first = await town().client.say(null, 'both');
    const open = await questions(first);
    const script = [
      callsAgents(...['anna', 'ben'].map((name) => ({ agent: name, query: `for ${name}`, answers: open.get(name) ?? '' }))),
      reports('both are content'),
    ];
    town().model.follow(() => script.shift() ?? reports('once too often'));
    const before = town().model.requests.length;
    expect(await town().client.say(first.conversation_id, 'that one and this one')).toMatchObject({
      status: 'answered',
      answer: 'both are content',
    });
    expect(town().model.requests.length - before).toBe(2);
    const rows = await town().client.rows(first.conversation_id);
    expect(
      rows
        .filter(({ type }) => type === 'answer')
        .map((row) => row.agent)
        .sort(),
    ).toEqual(['anna', 'ben']);
  });
});

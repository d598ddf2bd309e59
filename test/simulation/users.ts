// Users who post, answer, change their minds, stop, and try again when nobody answers. Effects: on the simulation.

import { post } from '../../src/chat/post.ts';
import { resolve } from '../../src/chat/resolve.ts';
import type { Posted } from '../../src/chat/schema.ts';
import { stopIntention } from '../../src/chat/stop.ts';
import { Fault } from '../../src/fault.ts';
import { questionStates } from '../../src/intention/call.ts';
import { isTerminal } from '../../src/intention/intention.ts';
import { agentName, type ConversationId, type MessageId, ownerId } from '../../src/intention/message.ts';
import type { World } from '../../src/world.ts';
import type { Turn } from './faults.ts';
import { type Simulation, short } from './simulation.ts';
import type { Snapshot } from './store/store.ts';

export const owner = ownerId('user');

/** What a caller was told that we have. */
export interface Acceptance {
  readonly conversation: ConversationId;
  readonly messageId: MessageId;
  readonly seq: number;
  readonly content: string;
  readonly key: string | null;
}

export interface Users {
  readonly acceptances: readonly Acceptance[];
}

type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'refused'; readonly fault: Fault }
  | { readonly kind: 'died' };

/** Each comes at a time of its own, and looks at what there is before it does something. */
export function usersOf(simulation: Simulation): Users {
  const { scheduler, chance, faults, store, ids } = simulation;
  const acceptances: Acceptance[] = [];
  const known: ConversationId[] = [];

  function request<T>(name: string, work: (world: World) => Promise<T>): Promise<Answer<T>> {
    return new Promise((resolve) => {
      const later = (answer: Answer<T>) => scheduler.at(chance.pick([0, 10, 100]), null, () => resolve(answer));
      simulation.invoke(
        name,
        async (world) => {
          try {
            later({ kind: 'answered', value: await work(world) });
          } catch (thrown) {
            if (!(thrown instanceof Fault) && !String(thrown).includes('moved')) throw thrown;
            later({ kind: 'refused', fault: thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown }) });
          }
        },
        () => later({ kind: 'died' }),
      );
    });
  }

  async function say(conversation: ConversationId | null, posted: Posted, key: string | null, bodyHash = posted.content): Promise<void> {
    for (let tries = 1; tries <= 4; tries += 1) {
      const answer = await request(`post:${posted.content}`, (world) =>
        post(world, owner, conversation, posted, key === null ? null : { key, bodyHash }),
      );
      if (answer.kind === 'answered') {
        const { message } = answer.value;
        simulation.tell(`user is told ${message.seq} for ${posted.content}`);
        acceptances.push({ conversation: message.conversationId, messageId: message.id, seq: message.seq, content: posted.content, key });
        if (!known.includes(message.conversationId)) known.push(message.conversationId);
        return;
      }
      const busy = answer.kind === 'died' || answer.fault.code === 'database_down' || answer.fault.code === 'internal';
      if (answer.kind === 'refused') simulation.tell(`user is refused ${answer.fault.code} for ${posted.content}`);
      if (!busy || key === null) return;
      await scheduler.pass(null, chance.pick([100, 3_000, 70_000]));
    }
  }

  let said = 0;
  const words = (given: Partial<Posted> = {}): Posted => {
    said += 1;
    const onBusy = chance.weighted({ enqueue: 5, interrupt: 2, parallel: 2, reject: 1 });
    const named: Readonly<Record<typeof onBusy, Turn>> = {
      enqueue: 'enqueues',
      interrupt: 'interrupts',
      parallel: 'goes parallel',
      reject: 'goes only if free',
    };
    faults.happened(named[onBusy]);
    const agents = chance.chance(0.1) ? [agentName('stream'), agentName('push')] : undefined;
    if (agents) faults.happened('names agents');
    return { content: `word ${said}`, parts: [], answerTo: undefined, onBusy, agents, ...given };
  };

  const newKey = (): string | null => (chance.chance(0.8) ? ids.next() : null);

  async function turn(): Promise<void> {
    const conversation = known.length === 0 || chance.chance(0.08) ? null : chance.pick(known);
    if (conversation === null) {
      faults.happened('posts');
      return say(null, words({ onBusy: chance.chance(0.2) ? 'parallel' : 'enqueue' }), newKey());
    }
    const stored = await scheduler.external(() => store.snapshot(conversation));
    const act = chosen(stored);
    faults.happened(act.turn);
    simulation.tell(`user ${act.turn}`);
    const { target } = act;
    switch (act.turn) {
      case 'posts':
        return say(conversation, words(), newKey());
      case 'answers the last':
        return say(conversation, words({ answerTo: undefined }), newKey());
      case 'answers by name':
      case 'answers the intention':
        return say(conversation, words({ answerTo: target }), newKey());
      case 'posts twice at once': {
        const posted = words();
        const key = ids.next();
        await Promise.all([say(conversation, posted, key), say(conversation, posted, key)]);
        return;
      }
      case 'posts another body': {
        const key = ids.next();
        const first = words();
        await say(conversation, first, key);
        return say(conversation, { ...first, content: `${first.content} or not` }, key);
      }
      case 'stops': {
        const intention = stored.intentions.find(({ id }) => id === target);
        if (intention) await request(`stop:${intention.id}`, (world) => stopIntention(world, owner, conversation, intention.id));
        return;
      }
      case 'checks':
      case 'retries':
      case 'leaves': {
        const call = stored.calls.find(({ id }) => id === target);
        const action = act.turn === 'checks' ? 'check' : act.turn === 'retries' ? 'retry' : 'leave';
        if (call) {
          const key = newKey();
          const answer = await request(`${action}:${call.id}`, (world) =>
            resolve(world, owner, conversation, call.id, action, key === null ? null : { key, bodyHash: action }),
          );
          simulation.tell(`user ${act.turn}: ${answer.kind === 'refused' ? answer.fault.code : answer.kind}`);
        }
        return;
      }
    }
  }

  type Act = { readonly turn: Turn & UserTurn; readonly target: string };
  function chosen({ intentions, calls }: Snapshot): Act {
    const questions = calls.filter(({ state }) => questionStates.some((question) => question === state));
    const doubts = calls.filter(({ state }) => state === 'unknown');
    const alive = intentions.filter(({ status }) => !isTerminal(status));
    const acts: Act[] = [
      ...(['posts', 'posts twice at once', 'posts another body'] as const).map((each) => ({ turn: each, target: '' })),
      ...(intentions.length > 0 ? [{ turn: 'stops', target: chance.pick(alive.length > 0 ? alive : intentions).id } as const] : []),
    ];
    if (questions.length > 0) {
      const question = chance.pick(questions);
      acts.push(
        { turn: 'answers by name', target: question.id },
        { turn: 'answers by name', target: question.id },
        { turn: 'answers the last', target: '' },
        { turn: 'answers the last', target: '' },
        { turn: 'answers the intention', target: question.intentionId },
      );
    }
    if (doubts.length > 0) {
      const { id } = chance.pick(doubts);
      acts.push(
        { turn: 'checks', target: id },
        { turn: 'retries', target: id },
        { turn: 'retries', target: id },
        { turn: 'leaves', target: id },
      );
    }
    return chance.pick(faults.favoured(acts, ({ turn }) => turn));
  }

  let atMs = 0;
  for (let left = 1 + chance.below(5) + (faults.isRare ? 3 : 0); left > 0; left -= 1) {
    scheduler.at(atMs, null, () => {
      turn().catch((thrown: unknown) =>
        simulation.violate(`a request threw ${thrown instanceof Error ? thrown.stack : short(String(thrown))}`),
      );
    });
    atMs += chance.pick([0, 5, 200, 2_000, 10_000, 60_000, 300_000]);
  }
  return { acceptances };
}

type UserTurn =
  | 'posts'
  | 'answers the last'
  | 'answers by name'
  | 'answers the intention'
  | 'posts twice at once'
  | 'posts another body'
  | 'stops'
  | 'checks'
  | 'retries'
  | 'leaves';

// Stories on a street: told by a user who never gives up, and looked at until they come to rest. Effects: HTTP, a database.

import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFailed } from 'vitest';
import { z } from 'zod';
import { clientOf } from './client.ts';
import type { Service } from './service.ts';
import type { Story, Street } from './street.ts';

const over = ['answered', 'failed', 'canceled', 'expired'];
const fateSchema = z.object({ words: z.string(), status: z.string(), unknown: z.boolean(), questions: z.coerce.number() });
type Fate = z.infer<typeof fateSchema>;

/** One look for all who ask within a moment. */
const looks = new WeakMap<Street, { readonly atMs: number; readonly fates: Promise<ReadonlyMap<string, Fate>> }>();

/** What became of the story's intention; `unknown`: it asks the user whether to try again what may have happened. */
export async function fateOf(street: Street, story: Story): Promise<Fate | null> {
  const last = looks.get(street);
  const look = last && performance.now() - last.atMs < 100 ? last : { atMs: performance.now(), fates: lookAtAll(street) };
  looks.set(street, look);
  return (await look.fates).get(story.words) ?? null;
}

async function lookAtAll(street: Street): Promise<ReadonlyMap<string, Fate>> {
  const rows = await street.query(
    fateSchema,
    `select m.content as words, i.status, exists (select 1 from call q where q.intention_id = i.id and q.state = 'unknown') as unknown,
        (select count(*) from message a where a.intention_id = i.id and a.type = 'input_required') as questions
      from intention i join message m on m.id = i.id`,
  );
  return new Map(rows.map((row) => [row.words, row]));
}

/** Over, or waiting for the user's word on what nobody can know. */
export async function isAtRest(street: Street, story: Story): Promise<boolean> {
  const fate = await fateOf(street, story);
  return fate !== null && (over.includes(fate.status) || (fate.status === 'input_required' && fate.unknown));
}

export async function allAtRest(street: Street, stories: readonly Story[], seconds: number): Promise<void> {
  let left = stories;
  for (const endMs = performance.now() + seconds * 1000; left.length > 0; await pause(110)) {
    const rest = await Promise.all(left.map((story) => isAtRest(street, story)));
    left = left.filter((_, index) => !rest[index]);
    if (performance.now() < endMs) continue;
    const fates = await Promise.all(
      left.map(async (story) => `${nameOf(story)}: ${JSON.stringify([await fateOf(street, story), await rowsOf(street, story)])}`),
    );
    expect(fates, `not at rest after ${seconds} s`).toEqual([]);
  }
}

export const nameOf = ({ id, stop }: Story): string => (stop === null ? id : `${id}, killed ${stop.when} ${stop.place} ${stop.nth}`);

/** A user who posts the story's words and answers each question of an agent; after a failure again, unless the words are there. */
export async function tell(street: Street, service: Service, story: Story, signal: AbortSignal): Promise<void> {
  const conversation = await say(street, service, null, story.words, signal);
  for (;;) {
    signal.throwIfAborted();
    const fate = await fateOf(street, story);
    if (fate && over.includes(fate.status)) return;
    if (fate?.status === 'input_required' && fate.unknown) return;
    if (fate?.status === 'input_required') {
      await street.arrive(story, 'user');
      await say(street, service, conversation, `that one #${story.id}, ${fate.questions}`, signal);
    }
    await pause(110);
  }
}

export async function say(street: Street, service: Service, conversation: string | null, content: string, signal: AbortSignal) {
  const there = await street.query(z.object({ conversation_id: z.string() }), 'select conversation_id from message where content = $1', [
    content,
  ]);
  if (there[0]) return there[0].conversation_id;
  const client = clientOf(service.url);
  const response = await client.send(client.messagesOf(conversation), {
    method: 'POST',
    body: JSON.stringify({ content }),
    headers: { 'content-type': 'application/json', 'idempotency-key': content.replaceAll(/\W/g, '-') },
    signal,
  });
  expect(response.status).toBe(202);
  return z.object({ conversation_id: z.string() }).parse(await response.json()).conversation_id;
}

export async function start(street: Street, state: string, code?: string): Promise<Service> {
  const service = await street.start(state, code);
  onTestFailed(() => console.log(service.log.slice(-80).join('\n')));
  return service;
}

const rowsSchema = z.object({ seq: z.coerce.number(), role: z.string(), type: z.string().nullable(), content: z.string() });

export async function rowsOf(street: Street, story: Story) {
  return street.query(
    rowsSchema,
    `select seq, role, type, content from message
      where conversation_id = (select conversation_id from message where content = $1) order by seq`,
    [story.words],
  );
}

/** Rows without gaps, at most one end, doubt said where there is doubt; and over all, no agent was sent a message twice. */
export async function expectWhole(street: Street, stories: readonly Story[]): Promise<void> {
  const wrong: string[] = [];
  for (const story of stories) {
    const rows = await rowsOf(street, story);
    const fate = await fateOf(street, story);
    const ends = rows.filter(({ role }) => role === 'assistant').length;
    const doubted = rows.some(({ type, content }) => type === 'input_required' && content.includes('never got a confirmation'));
    const whole = rows.every(({ seq }, index) => seq === index + 1);
    const right = ends === 1 ? fate?.status === 'answered' || (fate?.status === 'expired' && doubted) : ends === 0 && doubted;
    if (!whole || !right) wrong.push(`${nameOf(story)}: ${JSON.stringify({ fate, rows })}`);
  }
  expect(wrong).toEqual([]);
  const sent = Object.values(street.agents).flatMap((site) => messageIdsTo(site.requests));
  expect(sent.filter((id, index) => sent.indexOf(id) !== index)).toEqual([]);
}

const sentSchema = z.object({ params: z.looseObject({ message: z.looseObject({ messageId: z.string() }).optional() }) });

function messageIdsTo(requests: Street['agents'][string]['requests']): readonly string[] {
  return requests
    .filter(({ method }) => method === 'POST')
    .flatMap(({ body }) => sentSchema.parse(JSON.parse(body)).params.message?.messageId ?? []);
}

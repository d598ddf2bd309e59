// One decision of the model, with at most one repair turn, streamed as it is made. Effects: the model, the stream.

import { Fault } from '../fault.ts';
import { type Decision, type Json, planName, type Usage } from '../intention/message.ts';
import type { Input } from '../intention/transition.ts';
import { promptHash } from '../plan/hash.ts';
import { parse } from '../plan/parse.ts';
import type { Prompt, RawDecision } from '../plan/plan.ts';
import { render } from '../plan/prompt.ts';
import { toldPlan } from '../plan/told.ts';
import type { World } from '../world.ts';
import type { StepContext } from './context.ts';

/** Model calls that one claim may make: the decision, one repair, one forced report. */
const tries = 3;

/**
 * Renders, asks, parses; no model is asked for what the user decided. What can't be used gets the validator's words
 * once, then the report is forced. Each try has an attempt of its own, above all of earlier claims: its text replaces
 * what was shown before. What all tries of this claim used is counted together.
 * Throws Fault `model_down`, `model_refused`, `aborted`.
 */
export async function think(world: World, context: StepContext, signal: AbortSignal): Promise<Input> {
  const told = toldPlan(context);
  if (told) return { kind: 'plan', plan: told, usage: { model: 'none' }, decision: unasked };
  const options = {
    today: new Date(context.nowMs).toISOString().slice(0, 10),
    planInstructions: world.settings.planInstructions,
    maxSteps: world.settings.maxSteps,
    maxCalls: world.settings.maxCalls,
    maxTokens: world.settings.maxTokens,
  };
  let { prompt, offer } = render(context, { ...options, forced: false });
  let usage: Usage | null = null;
  for (let attempt = 0; attempt < tries; attempt++) {
    const raw = await ask(world, context, prompt, context.fence * tries + attempt, signal);
    usage = together(usage, raw.usage);
    const parsed = parse(raw, offer);
    switch (parsed.kind) {
      case 'plan':
        return {
          kind: 'plan',
          plan: parsed.plan,
          usage,
          decision: await audit(prompt, raw, parsed.plan.kind === 'call' ? parsed.plan.note : ''),
        };
      case 'failed':
        throw new Fault(parsed.code, { notes: { finish: raw.finish } });
      case 'complaint':
        world.log('decision refused', { intention: context.intentionId, step: context.step, attempt });
        if (attempt === 0) prompt = { ...prompt, turns: [...prompt.turns, ...parsed.turns] };
        else ({ prompt, offer } = render(context, { ...options, forced: true }));
    }
  }
  throw new Fault('model_down', { notes: { finish: 'no usable decision' } });
}

function together(before: Usage | null, now: Usage): Usage {
  const counts = (['input_tokens', 'output_tokens', 'cached_tokens'] as const).flatMap((count) =>
    before?.[count] === undefined && now[count] === undefined ? [] : [[count, (before?.[count] ?? 0) + (now[count] ?? 0)] as const],
  );
  return { model: now.model, ...Object.fromEntries(counts) };
}

async function ask(world: World, context: StepContext, prompt: Prompt, attempt: number, signal: AbortSignal): Promise<RawDecision> {
  const relay = world.stream.relay(context.conversationId, {
    intention_id: context.intentionId,
    step: context.step + 1,
    agent: planName,
    call_id: null,
    attempt,
  });
  try {
    return await world.planner.decide(prompt, (text) => relay.append(text), signal);
  } finally {
    relay.end();
  }
}

/** Of a decision that no model made. */
const unasked: Decision = { note: '', tool_call_ids: [], raw: null, prompt_hash: '' };

async function audit(prompt: Prompt, raw: RawDecision, note: string): Promise<Decision> {
  const calls = raw.toolCalls.map((call): Json => ({ id: call.id, name: call.name, input: JSON.stringify(call.input) ?? null }));
  return {
    note,
    tool_call_ids: raw.toolCalls.map((call) => call.id),
    raw: { finish: raw.finish, calls, ...(raw.toolCalls.length > 0 ? { text: raw.text } : {}) },
    prompt_hash: await promptHash(prompt),
  };
}

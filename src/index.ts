// The front door: fetch, the cron tick, and the Durable Object classes. No logic.

import { app } from './app.ts';
import { bind } from './bind.ts';
import { sweepDue } from './step/sweep.ts';

export { Runner } from './step/runner.ts';
export { Conversation } from './stream/conversation.ts';

export default {
  fetch: app.fetch,
  scheduled: async (_controller, env) => {
    await sweepDue(bind(env));
  },
} satisfies ExportedHandler<Env>;

// The route table, and the one place where faults become HTTP. Wiring.

import { type Context, Hono } from 'hono';
import { receivePush } from './agent/webhook.ts';
import { bind } from './bind.ts';
import { chat } from './chat/chat.ts';
import {
  cancelIntention,
  createConversation,
  deleteConversation,
  getConversation,
  getFile,
  getIntention,
  listAgents,
  listConversations,
  listMessages,
  postMessage,
  probeAgent,
  resolveCall,
  streamEvents,
  type Visit,
  visitOf,
} from './chat/routes.ts';
import { asFault, bugOf, Fault, retryAfterSeconds, toProblem } from './fault.ts';

type Variables = { requestId: string };
type Route = Context<{ Bindings: Env; Variables: Variables }>;

const app = new Hono<{ Bindings: Env; Variables: Variables }>();

/** `X-Request-Id` of the caller when it is harmless, else a new one. */
app.use(async (context, next) => {
  const given = context.req.header('x-request-id');
  const requestId = given && /^[\w.-]{1,64}$/.test(given) ? given : crypto.randomUUID();
  context.set('requestId', requestId);
  await next();
  if (context.res.headers.get('x-request-id') === null) {
    const response = new Response(context.res.body, context.res);
    response.headers.set('x-request-id', requestId);
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    context.res = response;
  }
});

/** What was published leaves after the response. */
const visit = (route: (visit: Visit, context: Route) => Promise<Response>) => async (context: Route) => {
  const world = bind(context.env);
  const response = await route(visitOf(world, context.req.raw), context);
  context.executionCtx.waitUntil(world.stream.settled());
  return response;
};

/** One path, its methods; any other method is 405 and says which there are. */
function at(path: string, methods: Readonly<Record<string, (context: Route) => Promise<Response> | Response>>) {
  for (const [method, route] of Object.entries(methods)) app.on(method, path, route);
  app.all(path, (context) => {
    const allow = Object.keys(methods).join(', ');
    return problem(context, new Fault('method_not_allowed', { detail: `allowed: ${allow}` }), { allow });
  });
}

at('/v1/chat', { POST: visit(chat) });
at('/v1/conversations', { GET: visit(listConversations), POST: visit(createConversation) });
at('/v1/conversations/:id', { GET: visit(getConversation), DELETE: visit(deleteConversation) });
at('/v1/conversations/:id/messages', { GET: visit(listMessages), POST: visit(postMessage) });
at('/v1/conversations/:id/events', { GET: visit(streamEvents) });
at('/v1/conversations/:id/intentions/:intention', { GET: visit(getIntention) });
at('/v1/conversations/:id/intentions/:intention/cancel', { POST: visit(cancelIntention) });
at('/v1/conversations/:id/calls/:callId/resolve', { POST: visit(resolveCall) });
at('/v1/files/:id', { GET: visit(getFile) });
at('/v1/agents', { GET: visit(listAgents) });
at('/v1/agents/:agent/probe', { POST: visit(probeAgent) });
at('/a2a/push/:callId', { POST: (context) => receivePush(bind(context.env), context.req.param('callId') ?? '', context.req.raw) });

/** 200 when the configuration is whole and the database answers. */
at('/healthz', {
  GET: async (context) => {
    const world = bind(context.env);
    await world.archive.ping();
    return context.json({ status: 'ok', model: world.settings.model.standIn ? 'stand-in' : world.settings.model.name });
  },
});

app.notFound((context) => problem(context, new Fault('not_found')));

app.onError((thrown, context) => problem(context, asFault(thrown)));

function problem(context: Route, fault: Fault, headers: Readonly<Record<string, string>> = {}): Response {
  const requestId = context.get('requestId');
  const body = toProblem(fault, requestId);
  const retryAfter = retryAfterSeconds(fault);
  if (body.status >= 500) {
    console.error(
      JSON.stringify({
        event: 'request failed',
        code: fault.code,
        request: requestId,
        path: context.req.routePath,
        bug: bugOf(fault),
        ...fault.notes,
      }),
    );
  }
  return new Response(JSON.stringify(body), {
    status: body.status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      ...(body.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...headers,
    },
  });
}

export { app };

// The least that a Worker can do for the same question: the same requests, the bytes streamed out through a new object. Effects: network.

/** The bindings of the service that it needs, and how often the service asks the database. */
interface Bindings {
  readonly NEON_FETCH_ENDPOINT: string;
  readonly OPENAI_BASE_URL: string;
  readonly A2A_AGENTS: string;
  readonly DATABASE_REQUESTS: string;
  readonly CONVERSATION: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

/** As often as the service sends text. */
const pauseMs = 20;

const json = { 'content-type': 'application/json' };
const post = (url: string, body: unknown, headers = json) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });

/** A new one for each question, as a new conversation is in the service. */
export class Conversation {
  readonly #bindings: Bindings;

  constructor(_state: unknown, bindings: Bindings) {
    this.#bindings = bindings;
  }

  async fetch(request: Request): Promise<Response> {
    const { content }: { readonly content: string } = JSON.parse(await request.text());
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const out = coalesced(controller);
        // Not awaited: the response begins at once.
        this.#work(content, out.write).then(out.end, (error: unknown) => controller.error(error));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /** When the database is asked makes no difference to what it costs. */
  async #work(content: string, write: (bytes: Uint8Array) => void): Promise<void> {
    const { NEON_FETCH_ENDPOINT, OPENAI_BASE_URL, A2A_AGENTS, DATABASE_REQUESTS } = this.#bindings;
    const headers = { ...json, 'neon-connection-string': 'postgres://floor:none@database.invalid/main' };
    for (let times = 0; times < Number(DATABASE_REQUESTS); times++) {
      const rows = await post(NEON_FETCH_ENDPOINT, { query: 'select 1', params: [] }, headers);
      await rows.json();
    }
    const cards: readonly string[] = JSON.parse(A2A_AGENTS);
    for (let step = 0; step <= cards.length; step++) {
      const messages = [{ role: 'user', content }, ...cards.slice(0, step).map(() => ({ role: 'tool', content: '' }))];
      await read(await post(`${OPENAI_BASE_URL}/chat/completions`, { model: 'floor', messages, stream: true }), write);
      const card = cards[step];
      if (card === undefined) return;
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: content }] };
      const call = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
      await read(await post(card.replace('/.well-known/agent-card.json', ''), call), write);
    }
  }
}

/** The service's process binds two classes; here one of them has nothing to do. */
export class Runner {}

async function read(response: Response, write: (bytes: Uint8Array) => void): Promise<void> {
  for await (const bytes of response.body ?? []) write(bytes);
}

function coalesced(controller: ReadableStreamDefaultController<Uint8Array>) {
  let held: Uint8Array[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const whole = new Uint8Array(held.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const bytes of held) {
      whole.set(bytes, at);
      at += bytes.length;
    }
    held = [];
    controller.enqueue(whole);
  };
  return {
    write(bytes: Uint8Array) {
      held.push(bytes);
      timer ??= setTimeout(flush, pauseMs);
    },
    end() {
      clearTimeout(timer);
      if (held.length > 0) flush();
      controller.close();
    },
  };
}

export default {
  fetch: (request: Request, bindings: Bindings): Promise<Response> => bindings.CONVERSATION.getByName(crypto.randomUUID()).fetch(request),
};

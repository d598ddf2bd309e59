// What can go wrong, and the four borders where it becomes something else. Pure.

/** `caller`: the request is wrong. `busy`: the world is, and may recover. `ours`: we are. */
const faults = {
  malformed_json: { family: 'caller', status: 400, title: 'The body is not valid JSON' },
  invalid_request: { family: 'caller', status: 400, title: 'The request is not valid' },
  unauthorized: { family: 'caller', status: 401, title: 'A valid API key is required' },
  not_found: { family: 'caller', status: 404, title: 'There is nothing here' },
  method_not_allowed: { family: 'caller', status: 405, title: 'The method is not allowed here' },
  question_closed: { family: 'caller', status: 409, title: 'That question is no longer open' },
  conversation_busy: { family: 'caller', status: 409, title: 'The conversation is busy' },
  body_too_large: { family: 'caller', status: 413, title: 'The body is too large' },
  unsupported_media_type: { family: 'caller', status: 415, title: 'The body must be application/json' },
  validation_failed: { family: 'caller', status: 422, title: 'The body does not have the right fields' },
  idempotency_key_reused: { family: 'caller', status: 422, title: 'That Idempotency-Key came with another body' },
  auth_not_configured: { family: 'ours', status: 503, title: 'No API keys are configured' },
  misconfigured: { family: 'ours', status: 503, title: 'The service is not configured' },
  database_down: { family: 'busy', status: 503, title: 'The database cannot be reached' },
  model_down: { family: 'busy', status: 503, title: 'The model cannot be reached' },
  model_refused: { family: 'ours', status: 503, title: 'The model refused the request' },
  conversation_full: { family: 'busy', status: 503, title: 'Too many are listening to this conversation' },
  agent_down: { family: 'busy', status: 503, title: 'The agent cannot be reached' },
  agent_refused: { family: 'ours', status: 502, title: 'The agent refused the request' },
  agent_invalid: { family: 'ours', status: 502, title: 'The agent answered with something that is not A2A' },
  aborted: { family: 'busy', status: 503, title: 'The work was aborted' },
  internal: { family: 'ours', status: 500, title: 'Something went wrong' },
} as const satisfies Record<string, { family: 'caller' | 'busy' | 'ours'; status: number; title: string }>;

export type FaultCode = keyof typeof faults;

/** Ids and numbers for the log: never text of users, agents or models, never a secret. */
export type FaultNotes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface FaultOptions {
  /** What the caller may read beside the title; never a reason from inside. */
  readonly detail?: string;
  readonly cause?: unknown;
  readonly notes?: FaultNotes;
  /** Field errors of a caller's body: JSON pointer and what is wrong. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** When the other side said to come back. */
  readonly retryAfterSeconds?: number;
}

/** The one thing that our own code throws. Anything else thrown is a bug. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly retry: boolean;
  readonly detail: string | undefined;
  readonly notes: FaultNotes;
  readonly errors: FaultOptions['errors'];
  readonly retryAfterSeconds: number | undefined;

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(options.detail ? `${code}: ${options.detail}` : code, { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.retry = faults[code].family === 'busy';
    this.detail = options.detail;
    this.notes = options.notes ?? {};
    this.errors = options.errors;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Any thrown thing as a Fault; what is not one is a bug and becomes `internal`. */
export function asFault(thrown: unknown): Fault {
  return thrown instanceof Fault ? thrown : new Fault('internal', { cause: thrown });
}

/** Of a bug, its name and place for the log; texts of others never get there. */
export function bugOf(fault: Fault): string | undefined {
  if (fault.code !== 'internal' || !(fault.cause instanceof Error)) return undefined;
  return `${fault.cause.name} ${fault.cause.stack?.split('\n')[1]?.trim() ?? ''}`;
}

/** RFC 9457 problem details, with our stable `code`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: FaultCode;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly request_id?: string;
}

/** Border 1: what a caller over HTTP gets. Outside of 4xx only the title and the code leave the house. */
export function toProblem(fault: Fault, requestId?: string): Problem {
  const { status, title, family } = faults[fault.code];
  return {
    type: 'about:blank',
    title,
    status,
    code: fault.code,
    ...(fault.detail !== undefined && (family === 'caller' || fault.code === 'misconfigured') ? { detail: fault.detail } : {}),
    ...(fault.errors ? { errors: fault.errors } : {}),
    ...(requestId ? { request_id: requestId } : {}),
  };
}

/** Seconds for `Retry-After` on a 503, else undefined. */
export function retryAfterSeconds(fault: Fault): number | undefined {
  return faults[fault.code].status === 503 ? (fault.retryAfterSeconds ?? 5) : undefined;
}

/** Border 2: in how many ms the Runner tries the same work again, after so many failures. A bug is tried again too: every claim counts a failure, and the third ends the intention. */
export function toRetryMs(fault: Fault, failures: number): number {
  return fault.retry || fault.code === 'internal' ? Math.min(60_000, 1_000 * 2 ** Math.min(failures - 1, 6)) : 60_000;
}

/** Border 3: the webhook's status. A sender may repeat after a 5xx; a 4xx is final. */
export function toWebhookStatus(fault: Fault): number {
  return faults[fault.code].family === 'caller' ? faults[fault.code].status : 503;
}

/** Border 4: the sentence that a user reads when an intention ends in this fault. */
export function toSentence(fault: Fault, language: 'en' | 'zh', incidentId: string): string {
  const sentences = {
    model_down: ['The language model cannot be reached right now. Please try again later.', '暂时无法连接语言模型，请稍后再试。'],
    model_refused: [
      'The language model refused the request. Whoever runs this service should check the model key and name.',
      '语言模型拒绝了请求。请让服务管理员检查模型的密钥和名称。',
    ],
    internal: [
      `Something went wrong on our side (incident ${incidentId}). Please try again.`,
      `服务内部出错（事件编号 ${incidentId}），请重试。`,
    ],
  } as const;
  const key = fault.code === 'model_down' || fault.code === 'model_refused' ? fault.code : 'internal';
  return sentences[key][language === 'en' ? 0 : 1];
}

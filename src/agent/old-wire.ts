// Reads what agents of v0.1 to v0.3 say, however they spell it, into the form of v0.3 that the SDK decodes. Pure.

export type Fields = Readonly<Record<string, unknown>>;

/** What the request told already, for answers that leave it out. */
export interface Known {
  readonly taskId: string | null;
  readonly contextId: string | null;
}

type Kind = 'task' | 'message' | 'status-update' | 'artifact-update';

/** Letters only, without a prefix, in lower case: `input_required`, `InputRequired` and `TASK_STATE_INPUT_REQUIRED` are one. */
const states: ReadonlyMap<string, string> = new Map([
  ['submitted', 'submitted'],
  ['working', 'working'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'canceled'],
  ['cancelled', 'canceled'],
  ['rejected', 'rejected'],
  ['inputrequired', 'input-required'],
  ['authrequired', 'auth-required'],
]);

/** The state as v0.3 spells it; `unknown` for what is none of its states. */
export function spellState(state: unknown): string {
  const letters = word(state).replaceAll(/[^a-z]/g, '');
  return states.get(letters.replace(/^taskstate/, '')) ?? 'unknown';
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One event of a stream, with its `kind`; null: it is none. */
export function readEvent(json: unknown, known: Known): Fields | null {
  const said = unwrap(json);
  switch (kindOf(said)) {
    case 'task':
      return readTask(said, known);
    case 'message':
      return readMessage(said);
    case 'status-update':
      return {
        ...said,
        kind: 'status-update',
        taskId: text(said, 'taskId', 'task_id', 'id') ?? known.taskId ?? '',
        contextId: contextIn(said, known),
        status: readStatus(said['status']),
      };
    case 'artifact-update': {
      const artifact = fieldsOf(said['artifact']);
      return {
        ...said,
        kind: 'artifact-update',
        taskId: text(said, 'taskId', 'task_id', 'id') ?? known.taskId ?? '',
        contextId: contextIn(said, known),
        artifact: readArtifact(artifact, 0),
        // v0.1 says this of the artifact itself.
        append: (said['append'] ?? artifact['append']) === true,
        lastChunk: (said['lastChunk'] ?? said['last_chunk'] ?? artifact['lastChunk']) === true,
      };
    }
    case null:
      return null;
  }
}

/** The answer to a message that was sent: a message or a task; null: neither, nor an event of a task. */
export function readAnswer(json: unknown, known: Known): Fields | null {
  const event = readEvent(json, known);
  if (event === null || event['kind'] === 'message' || event['kind'] === 'task') return event;
  const artifacts = event['kind'] === 'artifact-update' ? [event['artifact']] : [];
  return readTask({ id: event['taskId'], contextId: event['contextId'], status: event['status'], artifacts }, known);
}

/** v1.0 names an event by the field that holds it. */
function unwrap(json: unknown): Fields {
  const said = fieldsOf(json);
  const held = ['task', 'message', 'statusUpdate', 'status_update', 'artifactUpdate', 'artifact_update'].map((name) => said[name]);
  return 'kind' in said || 'status' in said ? said : (held.find(isFields) ?? said);
}

/** By its fields, where it doesn't say. A bare status with an id reads as a task: it tells the same. */
function kindOf(said: Fields): Kind | null {
  const named = word(said['kind']).replaceAll('_', '-');
  const kind = (['task', 'message', 'status-update', 'artifact-update'] as const).find((known) => known === named);
  if (kind !== undefined) return kind;
  if (isFields(said['artifact'])) return 'artifact-update';
  const isWhole = Array.isArray(said['artifacts']) || Array.isArray(said['history']);
  const isUpdate = 'final' in said || text(said, 'taskId', 'task_id') !== null;
  if (said['status'] !== undefined) return isUpdate && !isWhole ? 'status-update' : 'task';
  return Array.isArray(said['parts']) || (said['role'] !== undefined && said['content'] !== undefined) ? 'message' : null;
}

function readTask(said: Fields, known: Known): Fields {
  return {
    ...said,
    kind: 'task',
    id: text(said, 'id', 'taskId', 'task_id') ?? known.taskId ?? '',
    contextId: contextIn(said, known),
    status: readStatus(said['status']),
    artifacts: distinct(listOf(said['artifacts']).filter(isFields).map(readArtifact)),
    history: listOf(said['history']).filter(isFields).map(readMessage),
    metadata: metadataOf(said),
  };
}

/** v0.1 numbers artifacts, and some number all of them 0. */
function distinct(artifacts: readonly Fields[]): readonly Fields[] {
  const taken = new Set<unknown>();
  return artifacts.map((artifact, place) => {
    const { artifactId } = artifact;
    if (taken.has(artifactId)) return { ...artifact, artifactId: `${artifactId} ${place}` };
    taken.add(artifactId);
    return artifact;
  });
}

/** Some give the state alone, and some a message that is only text. */
function readStatus(status: unknown): Fields {
  const said = isFields(status) ? status : { state: status };
  const { message, timestamp } = said;
  const words = typeof message === 'string' ? { role: 'agent', parts: [message] } : message;
  return {
    state: spellState(said['state']),
    ...(isFields(words) ? { message: readMessage(words) } : {}),
    ...(typeof timestamp === 'string' ? { timestamp } : {}),
  };
}

function readMessage(said: Fields): Fields {
  const parts = partsIn(said);
  const role = word(said['role']);
  return {
    kind: 'message',
    messageId: text(said, 'messageId', 'message_id') ?? unnamed(parts),
    role: role === 'user' || role === 'role_user' ? 'user' : 'agent',
    parts,
    contextId: text(said, 'contextId', 'context_id') ?? '',
    taskId: text(said, 'taskId', 'task_id') ?? '',
    metadata: metadataOf(said),
  };
}

/** v0.1 has no messageId, and the SDK wants one: the same words get the same, in a stream and in a snapshot. */
function unnamed(parts: readonly Fields[]): string {
  let hash = 0x811c9dc5;
  for (const { text: words, file, data } of parts) {
    for (const character of String(words ?? JSON.stringify(file ?? data)).slice(0, 4_096)) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
    }
  }
  return `unnamed-${(hash >>> 0).toString(36)}`;
}

function readArtifact(said: Fields, place: number): Fields {
  const { index } = said;
  const named = text(said, 'artifactId', 'artifact_id') ?? (typeof index === 'number' ? `${index}` : text(said, 'id', 'name'));
  return {
    artifactId: named ?? `${place}`,
    name: text(said, 'name') ?? '',
    description: text(said, 'description') ?? '',
    parts: partsIn(said),
    metadata: metadataOf(said),
  };
}

function partsIn(said: Fields): readonly Fields[] {
  const parts = said['parts'] ?? said['content'];
  return (Array.isArray(parts) ? parts : [parts]).map(readPart).filter((part) => part !== null);
}

/** By what it holds, where it doesn't say its kind; a kind that we don't know is kept as data. Null: it holds nothing. */
function readPart(part: unknown): Fields | null {
  if (typeof part === 'string') return { kind: 'text', text: part };
  if (!isFields(part)) return null;
  const metadata = metadataOf(part);
  if (typeof part['text'] === 'string') return { kind: 'text', text: part['text'], metadata };
  const file = readFile(part);
  if (file !== null) return { kind: 'file', file, metadata };
  const named = word(part['kind'] ?? part['type']);
  if (named === 'text' || named === 'file') return null;
  return { kind: 'data', data: 'data' in part ? part['data'] : part, metadata };
}

/** The coder of the first days puts the file's text into the part itself, as `content`. */
function readFile(part: Fields): Fields | null {
  const inner = isFields(part['file']) ? part['file'] : null;
  const holder = inner ?? part;
  const about = { name: text(holder, 'name', 'filename'), mimeType: text(holder, 'mimeType', 'mime_type', 'mediaType') };
  const bytes = holder['bytes'] ?? holder['raw'] ?? (inner ? inner['data'] : undefined);
  if (typeof bytes === 'string') return { ...about, bytes };
  const uri = text(holder, 'uri', 'url');
  if (uri !== null) return { ...about, uri };
  const { content } = holder;
  return part['type'] === 'file' && typeof content === 'string' ? { ...about, bytes: base64(content) } : null;
}

function base64(content: string): string {
  return btoa(Array.from(new TextEncoder().encode(content), (byte) => String.fromCharCode(byte)).join(''));
}

function contextIn(said: Fields, known: Known): string {
  return text(said, 'contextId', 'context_id', 'sessionId', 'session_id') ?? known.contextId ?? '';
}

/** The first of these fields that holds text. */
function text(said: Fields, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = said[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** In lower case; empty where it is no text: what strangers send need not even be convertible to it. */
function word(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : '';
}

function metadataOf(said: Fields): Fields | undefined {
  const { metadata } = said;
  return isFields(metadata) ? metadata : undefined;
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

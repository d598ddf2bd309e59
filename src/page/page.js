// The page: it asks, and shows each row and what is on its way into one. Text of users, agents and models is only ever text. Effects: the document.

import { download, listen, modelName, post } from './service.js';
import { chinese, words } from './words.js';

const at = (id) => document.getElementById(id);
const atWork = ['queued', 'planning', 'calling'];
const parked = ['input_required', 'auth_required'];

/** All that is known of the conversation in `location.hash`; begun anew with each one. */
let state;

const element = (tag, className, text = '') => {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
};
const article = (className, ...children) => {
  const made = element('article', className);
  made.append(...children);
  at('log').append(made);
  made.scrollIntoView({ block: 'nearest' });
  return made;
};
const say = (message) => {
  at('problem').textContent = message ?? '';
  at('problem').hidden = !message;
};

// A text is named by its call, the planner's by its step. Its row replaces it.
const sourceOf = ({ call_id, intention_id, step }) => call_id ?? `${intention_id}:${step}`;

function showCall(row) {
  const text = element('p', 'quiet', words.waiting);
  text.setAttribute('aria-live', 'off');
  const reason = element('p', 'quiet', [row.note, row.reason].filter(Boolean).join(' · '));
  const block = article('step', element('p', '', `${words.plan} → ${row.to_agent}: ${row.content}`), reason, text);
  block.setAttribute('aria-busy', 'true');
  state.texts.set(row.call_id, { text, block, attempt: 0, shown: '', intention: row.intention_id });
}

function showReply(row) {
  const name = `${row.agent}${row.type === 'error' ? ` ${words.failed}` : ''}: `;
  let known = state.texts.get(row.call_id);
  if (!known) {
    const text = element('p', '');
    known = { text, block: article('step', text) };
  }
  known.block.removeAttribute('aria-busy');
  known.text.className = row.type === 'error' ? 'bad' : '';
  known.text.textContent = name + row.content;
  known.block.append(...files(row));
  state.ended.add(row.call_id);
}

const files = (row) =>
  (Array.isArray(row.parts) ? row.parts : [])
    .filter((part) => part.kind === 'file' && part.url.startsWith('/v1/files/'))
    .map((part) => {
      const button = element('button', '', `⬇ ${part.name ?? part.media_type ?? part.url}`);
      button.type = 'button';
      button.onclick = () => download(part.url, part.name ?? '').catch((problem) => say(problem.message));
      return button;
    });

function endPlanText(row) {
  const source = sourceOf({ ...row, call_id: null });
  state.texts.get(source)?.block.remove();
  state.ended.add(source);
}

/** What an intention that ended was still waiting for will not come. */
function endCalls(intention) {
  for (const { text, block, intention: own } of state.texts.values()) {
    if (own !== intention || !block.hasAttribute('aria-busy')) continue;
    block.removeAttribute('aria-busy');
    text.remove();
  }
}

function showRow(row) {
  if (row.seq <= state.seq) return;
  state.seq = row.seq;
  if (row.usage?.model === 'stand-in') at('banner').hidden = false;
  if (row.role === 'user') article('user', element('p', '', row.content));
  else if (row.type === 'query') {
    endPlanText(row);
    showCall(row);
  } else if (row.type === 'canceled' || row.type === 'expired') {
    endCalls(row.intention_id);
    article('note', element('p', '', words[row.type]));
  } else if (row.type === 'reassigned') article('note', element('p', '', words.moved));
  else if (row.call_id !== null) showReply(row);
  else {
    endPlanText(row);
    article(row.type === 'error' ? 'bad' : 'answer', element('p', '', row.content), ...files(row));
  }
  if (row.type === 'input_required' || row.type === 'auth_required') state.questions.set(row.intention_id, row);
  else if (row.call_id !== null && state.questions.get(row.intention_id)?.call_id === row.call_id) state.questions.delete(row.intention_id);
  refresh();
  at('log').scrollTop = at('log').scrollHeight;
}

function showText(delta) {
  const source = sourceOf(delta);
  if (state.ended.has(source)) return;
  let known = state.texts.get(source);
  if (!known) {
    const text = element('p', '');
    text.setAttribute('aria-live', 'off');
    known = { text, block: article('provisional', text), attempt: 0, shown: '' };
    state.texts.set(source, known);
  }
  if (delta.attempt < known.attempt) return;
  if (delta.attempt > known.attempt) known.shown = '';
  known.attempt = delta.attempt;
  // What is missing comes again from its beginning.
  if (delta.offset > known.shown.length) return;
  known.shown = known.shown.slice(0, delta.offset) + delta.text;
  known.text.className = '';
  known.text.textContent = delta.call_id === null ? known.shown : `${delta.agent}: ${known.shown}`;
}

/** Beside the agent: whether it could be stopped, or what another look brought. */
function showCallState({ call_id, agent, state: now, cancel }) {
  const block = state.texts.get(call_id)?.block;
  const outcome =
    cancel === null ? (now === 'unknown' ? words.unknown : '') : `${agent} ${cancel === 'wanted' ? words.wanted : words.stopped[cancel]}`;
  if (!block || !outcome) return;
  const line = block.querySelector('.outcome') ?? element('p', 'quiet outcome');
  line.textContent = outcome;
  block.append(line);
}

/** The newest question that waits for the user, if any. */
const openQuestion = () =>
  [...state.questions.values()].filter((row) => parked.includes(state.statuses.get(row.intention_id))).sort((a, b) => b.seq - a.seq)[0];

function refresh() {
  const question = openQuestion();
  if (question?.id !== state.asked) state.mode = 'answer';
  state.asked = question?.id;
  at('question').hidden = !question;
  // Nobody knows whether the call happened: the planner asks, and these three need no model.
  at('doubt').hidden = question?.agent !== 'plan';
  at('asker').textContent = question ? `${question.agent} ${words.asks}` : '';
  at('asked').textContent = question?.content ?? '';
  at('answer').setAttribute('aria-pressed', String(state.mode === 'answer'));
  at('other').setAttribute('aria-pressed', String(state.mode === 'other'));
  document.querySelector('label[for=text]').textContent = question && state.mode === 'answer' ? words.labelAnswer : words.label;
  const statuses = [...state.statuses.values()];
  at('stop').hidden = !statuses.some((status) => atWork.includes(status));
  at('connection').textContent = statuses.includes('queued') ? words.queued : '';
}

function onEvent(kind, data) {
  if (kind === 'message') showRow(data);
  else if (kind === 'delta') showText(data);
  else if (kind === 'status') {
    state.statuses.set(data.intention_id, data.status);
    refresh();
  } else if (kind === 'call') showCallState(data);
  else if (kind === 'conversation') document.title = data.title || 'chat-a2a';
}

/** A 401 asks for the key, once it is given everything goes on; other problems are said. */
function onProblem(problem) {
  if (problem.status === 401) at('key').hidden = false;
  say(problem.message);
}

async function open(id) {
  state?.stop.abort();
  state = {
    id,
    seq: 0,
    mode: 'answer',
    asked: undefined,
    texts: new Map(),
    ended: new Set(),
    questions: new Map(),
    statuses: new Map(),
    stop: new AbortController(),
  };
  at('log').replaceChildren();
  say('');
  refresh();
  if (!id) return;
  const { signal } = state.stop;
  at('connection').textContent = words.connecting;
  const url = `/v1/conversations/${encodeURIComponent(id)}/events`;
  const onState = (now) => {
    refresh();
    if (now === 'away') at('connection').textContent = words.away;
  };
  await listen(url, signal, onEvent, onState).catch((problem) => {
    if (signal.aborted) return;
    if (problem.status !== 404) return onProblem(problem);
    history.replaceState(null, '', location.pathname);
    void open('');
    say(words.gone);
  });
}

async function send() {
  const content = at('text').value.trim();
  if (!content || at('send').disabled) return;
  const question = openQuestion();
  const url = state.id ? `/v1/conversations/${encodeURIComponent(state.id)}/messages` : '/v1/conversations';
  at('send').disabled = true;
  say('');
  try {
    const sent = await post(url, { content, ...(question ? { answer_to: state.mode === 'answer' ? question.call_id : null } : {}) });
    at('text').value = '';
    if (!state.id) location.hash = sent.conversation_id;
  } catch (problem) {
    onProblem(problem);
  } finally {
    at('send').disabled = false;
  }
}

async function stop() {
  const running = [...state.statuses].filter(([, status]) => atWork.includes(status));
  const url = (intention) => `/v1/conversations/${encodeURIComponent(state.id)}/intentions/${encodeURIComponent(intention)}/cancel`;
  await Promise.all(running.map(([intention]) => post(url(intention), {}))).catch(onProblem);
}

const resolve = (action) => async () => {
  const call = openQuestion()?.call_id;
  if (!call) return;
  say('');
  await post(`/v1/conversations/${encodeURIComponent(state.id)}/calls/${encodeURIComponent(call)}/resolve`, { action }).catch(onProblem);
};

const choose = (mode) => () => {
  state.mode = mode;
  refresh();
  at('text').focus();
};

document.documentElement.lang = chinese ? 'zh' : 'en';
for (const id of ['fresh', 'send', 'stop', 'answer', 'other', 'check', 'retry', 'leave']) at(id).textContent = words[id];
at('banner').textContent = words.standIn;
document.querySelector('label[for=secret]').textContent = words.key;
document.querySelector('#key button').textContent = words.use;
at('answer').onclick = choose('answer');
at('other').onclick = choose('other');
for (const action of ['check', 'retry', 'leave']) at(action).onclick = resolve(action);
at('stop').onclick = stop;
at('fresh').onclick = () => {
  location.hash = '';
  at('text').focus();
};
at('ask').onsubmit = (event) => {
  event.preventDefault();
  void send();
};
// Enter while an input method is composing chooses a word; it does not send.
at('text').onkeydown = (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  void send();
};
at('key').onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem('key', at('secret').value.trim());
  at('secret').value = '';
  at('key').hidden = true;
  void open(state.id);
};
addEventListener('hashchange', () => open(location.hash.slice(1)));
void open(location.hash.slice(1));
void modelName().then((model) => {
  if (model === 'stand-in') at('banner').hidden = false;
}, onProblem);

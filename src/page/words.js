// What the page says, in English and Chinese. Pure.

const en = {
  fresh: 'New conversation',
  label: 'Your question',
  labelAnswer: 'Your answer',
  send: 'Send',
  stop: 'Stop',
  answer: 'Answer',
  other: 'Ask something else',
  asks: 'asks:',
  standIn: 'A stand-in with fixed rules answers instead of a language model. Set OPENAI_API_KEY to use a real one.',
  key: 'This service wants an API key',
  use: 'Use it',
  connecting: 'connecting …',
  away: 'connection lost, trying again …',
  network: 'The service cannot be reached.',
  gone: 'That conversation is not there any more.',
  plan: 'Plan',
  waiting: 'waiting for the answer …',
  queued: 'Waits until the question before it is done.',
  moved: 'This is a question of its own; the earlier one stays open.',
  canceled: 'Stopped.',
  expired: 'Nobody answered in time.',
  failed: 'failed',
};

/** @type {typeof en} */
const zh = {
  fresh: '新对话',
  label: '你的问题',
  labelAnswer: '你的回答',
  send: '发送',
  stop: '停止',
  answer: '回答',
  other: '问别的问题',
  asks: '想知道：',
  standIn: '当前由固定规则的替身代替大模型回答。设置 OPENAI_API_KEY 后即可使用真实模型。',
  key: '此服务需要 API 密钥',
  use: '使用',
  connecting: '连接中…',
  away: '连接断开，正在重试…',
  network: '无法连接服务。',
  gone: '该对话已不存在。',
  plan: '计划',
  waiting: '等待回答…',
  queued: '等前一个问题完成后开始。',
  moved: '这是一个新问题，之前的问题仍等待回答。',
  canceled: '已停止。',
  expired: '超时未回答。',
  failed: '失败',
};

export const chinese = navigator.language.toLowerCase().startsWith('zh');
export const words = chinese ? zh : en;

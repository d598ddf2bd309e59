// An agent that does what its message says, for tests of whoever calls it. Pure.

import * as a2a from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor } from '@a2a-js/sdk/server';

const { TASK_STATE_CANCELED, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_WORKING } = a2a.TaskState;

/**
 * `hello`: a plain message. `weather`: asks where, unless told 上海. `travel`: three status messages. `echo`: its parts as an
 * artifact. `slow`: works until it is canceled or `release`d, then says `released`.
 */
export function scriptedExecutor(): AgentExecutor & { release(): void } {
  const waiting = new Set<() => void>();
  let count = 0;
  const message = (taskId: string, contextId: string, text: string) =>
    a2a.Message.fromJSON({ messageId: `said-${++count}`, role: 'ROLE_AGENT', taskId, contextId, parts: [{ text }] });

  return {
    release() {
      for (const go of waiting) go();
    },
    async execute({ userMessage, taskId, contextId, task }, bus) {
      const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
      if (text === 'hello') {
        bus.publish(AgentEvent.message(message('', contextId, 'Hello World')));
        return bus.finished();
      }
      const status = (state: a2a.TaskState, words?: string) =>
        bus.publish(
          AgentEvent.statusUpdate({
            taskId,
            contextId,
            status: {
              state,
              message: words === undefined ? undefined : message(taskId, contextId, words),
              timestamp: new Date().toISOString(),
            },
            metadata: undefined,
          }),
        );
      const artifact = (parts: readonly a2a.Part[], append = false) =>
        bus.publish(
          AgentEvent.artifactUpdate({
            taskId,
            contextId,
            artifact: a2a.Artifact.fromJSON({ artifactId: 'a1', parts: parts.map(a2a.Part.toJSON) }),
            append,
            lastChunk: false,
            metadata: undefined,
          }),
        );
      // Each turn must begin with the task; that of a second turn still has the status of the first.
      const fresh = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' }, history: [a2a.Message.toJSON(userMessage)] };
      bus.publish(AgentEvent.task(task ?? a2a.Task.fromJSON(fresh)));
      if (text.startsWith('echo')) artifact(userMessage.parts);
      else if (text === 'travel') {
        status(TASK_STATE_WORKING, '先去故宫');
        status(TASK_STATE_WORKING, '再去长城');
        status(TASK_STATE_COMPLETED, '再去颐和园');
        return bus.finished();
      } else if (text === 'slow') {
        status(TASK_STATE_WORKING);
        await new Promise<void>((go) => waiting.add(go));
        artifact([a2a.Part.fromJSON({ text: 'released' })]);
      } else if (text.includes('上海')) {
        for (const [place, chunk] of ['上海', '天气', '很热'].entries()) artifact([a2a.Part.fromJSON({ text: chunk })], place > 0);
      } else {
        status(TASK_STATE_INPUT_REQUIRED, '您问到哪里的天气');
        return bus.finished();
      }
      status(TASK_STATE_COMPLETED);
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      const status = { state: TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }));
      bus.finished();
    },
  };
}

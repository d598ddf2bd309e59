// Runs an agent's answer function as the SDK's AgentExecutor: sayings become A2A events. Effects: the agent's own.

import { Artifact, Message, type Task, TaskState, type TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server';
import type { Agent, Saying } from './agent.ts';

interface Running {
  readonly contextId: string;
  readonly control: AbortController;
}

const states = {
  working: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  rejected: TaskState.TASK_STATE_REJECTED,
  input_required: TaskState.TASK_STATE_INPUT_REQUIRED,
  canceled: TaskState.TASK_STATE_CANCELED,
} as const;

/** `closing` aborts everything that still runs. */
export function executorOf(answer: Agent['answer'], closing: AbortSignal): AgentExecutor {
  /** Tasks that are not over; an asking task stays here so that it can be canceled. */
  const running = new Map<string, Running>();

  async function execute(request: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId } = request;
    const control = new AbortController();
    running.set(taskId, { contextId, control });
    const signal = AbortSignal.any([control.signal, closing]);
    const heard = { text: textOf(request.userMessage), earlier: earlierWords(request), signal };
    let isTask = false;
    try {
      for await (const saying of answer(heard)) {
        if (signal.aborted) return;
        if (saying.kind === 'reply') {
          running.delete(taskId);
          bus.publish(AgentEvent.message(agentMessage(saying.text, '', contextId)));
          return;
        }
        if (!isTask) bus.publish(AgentEvent.task(workingTask(request)));
        isTask = true;
        publish(saying, taskId, contextId, bus);
        if (saying.kind === 'input_required') return;
        if (saying.kind !== 'working' && saying.kind !== 'artifact') {
          running.delete(taskId);
          return;
        }
      }
      if (signal.aborted) return;
      if (!isTask) bus.publish(AgentEvent.task(workingTask(request)));
      running.delete(taskId);
      publish({ kind: 'completed' }, taskId, contextId, bus);
    } catch (thrown) {
      // What a canceled answer throws is its end, already told by the canceled status.
      if (!signal.aborted) throw thrown;
    }
  }

  async function cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const task = running.get(taskId);
    running.delete(taskId);
    task?.control.abort();
    bus.publish(AgentEvent.statusUpdate(statusUpdate('canceled', '', taskId, task?.contextId ?? '')));
  }

  return { execute, cancelTask };
}

/** The text parts of a message. */
export function textOf(message: Message): string {
  return message.parts.flatMap((part) => (part.content?.$case === 'text' ? [part.content.value] : [])).join('\n');
}

function earlierWords(request: RequestContext): string[] {
  const { messageId } = request.userMessage;
  const history = request.task?.history ?? [];
  return history.filter((message) => message.messageId !== messageId && message.role === request.userMessage.role).map(textOf);
}

/** The first event of every turn must be the task, also when it is resumed. Source: SDK, AgentExecutor.execute. */
function workingTask(request: RequestContext): Task {
  return {
    id: request.taskId,
    contextId: request.contextId,
    status: statusUpdate('working', '', request.taskId, request.contextId).status,
    artifacts: request.task?.artifacts ?? [],
    history: request.task?.history ?? [request.userMessage],
    metadata: {},
  };
}

function publish(saying: Exclude<Saying, { kind: 'reply' }>, taskId: string, contextId: string, bus: ExecutionEventBus): void {
  if (saying.kind !== 'artifact') {
    bus.publish(AgentEvent.statusUpdate(statusUpdate(saying.kind, saying.text ?? '', taskId, contextId)));
    return;
  }
  const { file } = saying;
  const bytes = file && Buffer.from(file.text, 'utf8').toString('base64');
  const parts = [
    ...(saying.text ? [{ text: saying.text, mediaType: 'text/plain' }] : []),
    ...(file ? [{ raw: bytes, filename: file.name, mediaType: file.mediaType }] : []),
  ];
  const artifact = Artifact.fromJSON({ artifactId: crypto.randomUUID(), name: saying.name, parts });
  bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: {} }));
}

function statusUpdate(state: keyof typeof states, text: string, taskId: string, contextId: string): TaskStatusUpdateEvent {
  return {
    taskId,
    contextId,
    status: {
      state: states[state],
      message: text ? agentMessage(text, taskId, contextId) : undefined,
      timestamp: new Date().toISOString(),
    },
    metadata: {},
  };
}

function agentMessage(text: string, taskId: string, contextId: string): Message {
  const parts = [{ text, mediaType: 'text/plain' }];
  return Message.fromJSON({ messageId: crypto.randomUUID(), role: 'ROLE_AGENT', taskId, contextId, parts });
}

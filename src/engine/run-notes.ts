/** What is known of a run in this process only: a restart begins with nothing of it. */
import type { TodoItem } from '../effects/tools/todo-list.ts'
import { todosOfResult } from '../effects/tools/todo-list.ts'
import type { AgentEvent } from '../machines/agent/events.ts'
import type { PromptContent } from '../machines/agent/messages.ts'

export class RunNotes {
  #todos: readonly TodoItem[] = []
  #prompt: PromptContent = ''
  #apiDurationMs = 0
  #hasSeenModeChange = false

  /** What the agent wrote down to do, last. */
  get todos(): readonly TodoItem[] {
    return this.#todos
  }

  /** What the run was asked. */
  get prompt(): PromptContent {
    return this.#prompt
  }

  /** Milliseconds that it and the agents below it have waited for models. */
  get apiDurationMs(): number {
    return this.#apiDurationMs
  }

  /** Whether the agent's mode has changed in this engine, and not only in its log. */
  get hasSeenModeChange(): boolean {
    return this.#hasSeenModeChange
  }

  /** Counts time spent waiting for a model. */
  addApiTime(ms: number): void {
    this.#apiDurationMs += ms
  }

  /** The event is durable. */
  push(event: AgentEvent): void {
    if (event.type === 'run.started') {
      this.#apiDurationMs = 0
      this.#prompt = event.content
    } else if (event.type === 'call.ended') this.#noteTodos(event.toolUseResult)
    else if (event.type === 'mode.changed') this.#hasSeenModeChange = true
  }

  #noteTodos(result: unknown): void {
    if (typeof result === 'object' && result !== null && 'newTodos' in result)
      this.#todos = todosOfResult(result) ?? this.#todos
  }
}

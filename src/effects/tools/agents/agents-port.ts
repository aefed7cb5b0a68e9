/**
 * What the tools that speak of other agents need of the engine. They put it into words; what may be done with whom is
 * decided behind this port.
 */

import type { ToolOutput } from '../tool.ts'
import type { StructuredMessage } from './structured-message.ts'

/** An agent as another one may see it: under 1 KB, whatever the length of its log. */
export interface TaskStatus {
  readonly taskId: string
  /** What others may call it. */
  readonly name?: string
  readonly agentType: string
  readonly description: string
  readonly status: 'running' | 'waiting' | 'suspended' | 'completed' | 'failed' | 'killed'
  readonly isBackgrounded: boolean
  readonly turns: number
  readonly toolUses: number
  /** Latest input and all output. */
  readonly tokens: number
  /** What it did last, oldest first. */
  readonly lastActivities: readonly string[]
  /** What it is at, in a line of its model. */
  readonly summary?: string
  /** Messages that wait for it. */
  readonly pendingMessages: number
  /** The folder of its own that it works in, or that was kept at its end. */
  readonly worktreePath?: string
  /** Absent where a hook has made the folder. */
  readonly worktreeBranch?: string
  /** Who started it. */
  readonly parentId: string | undefined
}

/** The end of a task: its report as one text, and the record for transcripts. */
export interface TaskReport {
  readonly kind: 'ended'
  readonly status: 'completed' | 'failed' | 'killed'
  readonly text: string
  readonly structured: unknown
  /** Set where the caller is owed this end: reading it is the telling. */
  readonly delivered: { readonly agentId: string; readonly run: number } | undefined
}

export type TaskAnswer =
  | TaskReport
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'going-on'; readonly task: TaskStatus }
  /** `known`: who there is, for the message. */
  | { readonly kind: 'unknown'; readonly known: readonly TaskStatus[] }

export type SendReceipt =
  | { readonly kind: 'sent'; readonly to: TaskStatus; readonly how: 'queued' | 'started' }
  | { readonly kind: 'refused'; readonly message: string }

/** `says`: what it has come to. `answers`: set where the message answers a request to stop. */
export type StructuredReceipt =
  | {
      readonly kind: 'sent'
      readonly to: TaskStatus
      readonly says: string
      readonly answers?: ToolOutput['answers']
    }
  | { readonly kind: 'refused'; readonly message: string }

export type ParentAnswer =
  | { readonly kind: 'answered'; readonly text: string; readonly messageId: string }
  | { readonly kind: 'unanswered'; readonly why: string }

export interface AgentsPort {
  /** Agents of the session that can be spoken to, the caller left out. */
  list(): readonly TaskStatus[]
  /** The end of a task. Waits for it up to `timeoutMs`; 0: not at all. Rejects when the call is aborted. */
  result(taskId: string, timeoutMs: number): Promise<TaskAnswer>
  /** Ends a task and its descendants; resolves when nothing of them runs any more. */
  stop(taskId: string): Promise<TaskAnswer>
  /** Sends a message. `key`: the same message with the same key is sent once. */
  send(to: string, text: string, key: string): Promise<SendReceipt>
  /** Sends a message to everybody else who is at work: a receipt of each. `key` as for `send`. */
  broadcast(text: string, key: string): Promise<readonly SendReceipt[]>
  /** Sends a request, or the answer to one. `key` as for `send`; it is the name of the request. */
  sendStructured(to: string, message: StructuredMessage, key: string): Promise<StructuredReceipt>
  /** Asks whoever started the caller, and waits for the answer. `key` as for `send`. Rejects when the call is aborted. */
  ask(question: string, key: string): Promise<ParentAnswer>
}

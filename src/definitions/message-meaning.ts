/**
 * What a message of one agent to another is besides its text. The engine writes it, from the call of the sender; no text
 * can say it.
 */
import type { PermissionMode } from './permission-mode.ts'

/** Absent: a message is its text. The name of a request is that of its message. */
export type MessageMeaning =
  /** The sender wants the run of the receiver to come to its end. */
  | { readonly kind: 'shutdown_request' }
  | { readonly kind: 'shutdown_response'; readonly requestId: string; readonly approve: boolean }
  /** The sender shows its plan, which is the text. */
  | { readonly kind: 'plan_approval_request' }
  /** `mode`: in which the plan is carried out, as the sender was entitled to say at that moment. */
  | {
      readonly kind: 'plan_approval_response'
      readonly requestId: string
      readonly approve: boolean
      readonly mode?: PermissionMode | undefined
    }

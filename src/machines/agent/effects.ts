/** The effects that a run asks for: their names and what each is given. The engine provides what they do. */
import type { AgentId, CallId } from '../ids.ts'

/** What every effect is given: ids. It looks the rest up, so that a restart finds the same. */
export interface EffectInput {
  readonly agentId: AgentId
  readonly run: number
}

export interface CallInput extends EffectInput {
  readonly callId: CallId
}

/** The effects that a run asks for. The engine provides the implementations. */
export type EffectName =
  | 'prepare'
  | 'requestModel'
  | 'compact'
  | 'runCall'
  | 'checkReport'
  | 'awaitNews'
  | 'drain'
  | 'stopHooks'
  | 'review'

/** The id of a call's effect among the machine's children. */
export const callActorId = (call: CallId): string => `call:${call}`

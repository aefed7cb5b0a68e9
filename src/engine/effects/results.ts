/** The results of calls that a tool's body did not produce. Words for the model: what happened, what it means. */
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { ResultContent } from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'

type CallEnded = AgentEventOf<'call.ended'>

/** A result as it was meant. `toolUseResult`: the record beside it in the transcript. */
export function okResult(
  callId: CallId,
  toolUseId: string,
  content: ResultContent,
  toolUseResult?: unknown,
): CallEnded {
  return {
    type: 'call.ended',
    callId,
    outcome: 'ok',
    result: { type: 'tool_result', tool_use_id: toolUseId, content },
    ...(toolUseResult !== undefined && { toolUseResult }),
  }
}

/** A result that is an error. */
export function failedResult(
  callId: CallId,
  toolUseId: string,
  content: ResultContent,
  outcome: 'error' | 'denied' | 'interrupted' = 'error',
): CallEnded {
  return {
    type: 'call.ended',
    callId,
    outcome,
    result: { type: 'tool_result', tool_use_id: toolUseId, content, is_error: true },
    ...(typeof content === 'string' && { toolUseResult: `Error: ${content}` }),
  }
}

/** The call was cut off: by a kill, a crash or the end of the run. */
export function interruptedResult(
  callId: CallId,
  toolUseId: string,
  name: string,
  hadStarted: boolean,
): CallEnded {
  const text = hadStarted
    ? `The ${name} call was interrupted before it reported a result. It may have run in part or in whole: ` +
      'check what it left before you repeat it.'
    : `The ${name} call was interrupted before it started; it has done nothing.`
  return failedResult(callId, toolUseId, text, 'interrupted')
}

/** A result with more texts behind what it says. */
export function withTexts(
  ended: AgentEventOf<'call.ended'>,
  texts: readonly string[],
): AgentEventOf<'call.ended'> {
  if (texts.length === 0) return ended
  const { content = '' } = ended.result
  const said = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return {
    ...ended,
    result: { ...ended.result, content: [...said, ...texts.map((text) => ({ type: 'text', text }))] },
  }
}

/** A request of an agent on its own prefix: what the server has cached of it serves whoever asks with the same. */
import type { ModelRequest, RequestMessage } from '../../effects/model/model.ts'
import type { Agent } from '../agent.ts'

/** The request. Throws before the run was prepared: every effect that asks a model comes behind that. */
export function modelRequest(
  { prepared, model, birth, id }: Agent,
  messages: readonly RequestMessage[],
  rest: Pick<ModelRequest, 'maxTokens' | 'source'>,
): ModelRequest {
  if (prepared === undefined) throw new Error(`agent ${id} was about to ask its model before it was prepared`)
  const effort = birth.plan.effort?.value
  return {
    model,
    system: prepared.system,
    tools: prepared.tools,
    messages,
    ...(effort !== undefined && { effort }),
    ...rest,
  }
}

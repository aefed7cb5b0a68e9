/** From a step of the planner to a reply of the Messages API. */
import type { Reply } from '../../../machines/agent/messages.ts'
import type { ModelRequest } from '../model.ts'
import { buildReply } from '../scripted-reply.ts'
import type { Step } from './step.ts'

/** Characters of a token, roughly: what is counted here is an estimate, and nobody pays for it. */
const CHARACTERS_PER_TOKEN = 4

/** The reply for a step. Its ids come from the request, so that the same request gets the same ones. */
export function toReply(request: ModelRequest, step: Step): Reply {
  const { system, tools, messages } = request
  const usage = {
    input_tokens: tokens(system) + tokens(JSON.stringify(tools)) + tokens(JSON.stringify(messages)),
    output_tokens: tokens(step.text) + tokens(JSON.stringify(step.calls)),
  }
  return buildReply({ ...(step.text === '' ? {} : { text: step.text }), calls: step.calls, usage }, request)
}

const tokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN)

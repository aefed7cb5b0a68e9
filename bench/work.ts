/**
 * The work that engine, bare loop and floor do alike, and the model that asks for it.
 *
 * One *call*: the parent calls one sub-agent once, that is one parent turn, one child turn, a prompt of 104 bytes and
 * a result of 400 bytes. One *turn*: an agent calls one tool once, with the same sizes. The model is a pure function
 * of the request and answers at once, so that nothing is measured but what is around it.
 */
import { z } from 'zod'
import type { Model, ModelRequest } from '../src/effects/model/model.ts'
import { createScriptedModel } from '../src/effects/model/scripted.ts'
import type { ScriptedCall, ScriptedReply } from '../src/effects/model/scripted-reply.ts'
import type { Tool } from '../src/effects/tools/tool.ts'

export interface Work {
  readonly unit: 'call' | 'turn'
  /** How many of them, one after the other. */
  readonly count: number
}

export const PROMPT = sized(
  'Find every caller of the function that closes a session and say which of them do not wait',
  104,
)
export const RESULT = sized(
  'The function is called in four places. Three of them wait for it; the fourth does not: ',
  400,
)

/** A tool that costs nothing: the turn around it is what is measured. */
export const noteTool: Tool<{ text: string }> = {
  name: 'Note',
  description: 'Takes a note',
  inputSchema: z.strictObject({ text: z.string() }),
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run: () => Promise.resolve({ content: RESULT }),
}

/** The one tool call of a unit. */
export function callOf({ unit }: Work): ScriptedCall {
  return unit === 'turn'
    ? { name: noteTool.name, input: { text: PROMPT } }
    : { name: 'Agent', input: { description: 'find the callers', prompt: PROMPT } }
}

/** A model that has the root agent do the work. `onTurn` is told how many units the root has behind it. */
export function modelFor(work: Work, onTurn: (done: number) => void = () => {}): Model {
  const next: ScriptedReply = { calls: [callOf(work)] }
  return createScriptedModel((request: ModelRequest) => {
    if (request.source !== 'main') return RESULT
    // Two messages for each unit behind the prompt; counting results would cost O(n) on each request.
    const done = (request.messages.length - 1) / 2
    onTurn(done)
    return done < work.count ? next : RESULT
  })
}

/** `text`, cut or repeated to exactly this many bytes. All of it is ASCII. */
function sized(text: string, bytes: number): string {
  return text.padEnd(bytes, text).slice(0, bytes)
}

/** Tools that answer what a log says, in place of those that it was recorded with. */
import * as z from 'zod'
import { PLAIN_MOMENT } from '../../definitions/agent-tool.ts'
import type { Tool, ToolContext, ToolOutput } from '../../effects/tools/tool.ts'
import { ToolRefusal } from '../../effects/tools/tool-refusal.ts'
import { delegationTool } from '../agent-tool.ts'
import type { RecordedCall } from './tape.ts'

/** Finds what was recorded for a call; undefined when nothing was. */
export type FindCall = (context: Pick<ToolContext, 'agentId' | 'callId'>) => RecordedCall | undefined

/**
 * `tools` as they are described, but answering from the log; and a stand-in for each further name that has answered
 * there. A call without a recorded result waits until it is aborted.
 */
export function recordedTools(
  tools: readonly Tool[],
  names: Iterable<string>,
  find: FindCall,
  onCall: () => void,
): readonly Tool[] {
  const run = async (context: ToolContext): Promise<ToolOutput> => {
    // The line that names the call is told right after its effect has begun.
    await null
    onCall()
    const ended = answerOf(find(context))
    if (ended === undefined) return untilAborted(context.signal)
    const { content } = ended.result
    if (ended.outcome === 'denied' || ended.outcome === 'interrupted') {
      throw new ToolRefusal(typeof content === 'string' ? content : '', { outcome: ended.outcome })
    }
    return {
      content: content ?? '',
      ...(ended.outcome === 'error' && { isError: true }),
      ...(ended.toolUseResult !== undefined && { structured: ended.toolUseResult }),
      ...(ended.files !== undefined && { files: ended.files }),
    }
  }
  const known = new Set(
    [delegationTool(PLAIN_MOMENT), ...tools].flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]),
  )
  const standIns = [...new Set(names)].filter((name) => !known.has(name)).map(standIn)
  return [...tools, ...standIns].map(({ intend: _, writes: __, ...tool }) => ({
    ...tool,
    // It changes nothing now, whatever it did then; who was refused then is refused from the log.
    isReadOnly: () => true,
    run: (_input, context) => run(context),
  }))
}

/** A result that a kill gave is given by the kill again. */
function answerOf(call: RecordedCall | undefined): RecordedCall['ended'] {
  return call?.isCutOff === true && call.ended?.outcome === 'interrupted' ? undefined : call?.ended
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** A tool of which only the name is known. */
function standIn(name: string): Tool {
  return {
    name,
    description: 'Answers what the log says.',
    inputSchema: z.looseObject({}),
    resume: 'interrupt',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    run: () => Promise.reject(new Error(`${name} is only known from a log`)),
  }
}

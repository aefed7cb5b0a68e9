/**
 * The tools of a simulated session, one for each resume rule, and the record of what they really did. It belongs to
 * the world outside: no crash takes anything out of it.
 */
import { z } from 'zod'
import { bashTool } from '../../src/effects/tools/bash.ts'
import { bashOutputTool } from '../../src/effects/tools/bash-output.ts'
import { killShellTool } from '../../src/effects/tools/kill-shell.ts'
import type { Tool, ToolContext, ToolOutput } from '../../src/effects/tools/tool.ts'
import type { BodyKind } from './plan.ts'
import type { Life, World } from './world.ts'

/** One start of a body. */
export interface Body {
  readonly life: Life
  readonly tool: string
  readonly resume: Tool['resume']
  /** `<agent>:<call>`. */
  readonly key: string
  readonly agentId: string
  readonly callId: string
  readonly isRepeat: boolean
  readonly intent: unknown
  /** Where it works. */
  readonly cwd: string
  /** What is under way while it pauses. */
  readonly label: string
  /** When it was told to stop, by the clock of its process; undefined before that. */
  toldToStopAt: number | undefined
  /** It has changed the world. */
  hasActed: boolean
  /** It has come to its end, whatever that was. */
  hasEnded: boolean
}

export interface SimulatedTools {
  toolsFor(life: Life, onBody: (body: Body) => void): readonly Tool[]
  readonly bodies: readonly Body[]
  /** What keyed bodies have done, by key. */
  readonly done: ReadonlyMap<string, number>
}

const Input = z.strictObject({ id: z.string(), how: z.string() })
type Input = z.infer<typeof Input>

export const READ_ONLY_TOOLS: readonly string[] = ['Look', 'Agent', 'BashOutput', 'KillShell']

/** `hasCommands`: there are also those of the engine with which agents run commands. */
export function createSimulatedTools(world: World, hasCommands = false): SimulatedTools {
  const bodies: Body[] = []
  const done = new Map<string, number>()
  const chance = world.chance('tools')

  const begin = (
    life: Life,
    tool: string,
    resume: Tool['resume'],
    id: string,
    context: ToolContext,
  ): Body => {
    const { key, agentId, callId, isRepeat, intent, cwd, signal, clock } = context
    const body: Body = {
      life,
      tool,
      resume,
      key,
      agentId,
      callId,
      isRepeat,
      intent,
      cwd,
      label: `${tool} ${id}`,
      toldToStopAt: undefined,
      hasActed: false,
      hasEnded: false,
    }
    const onAbort = (): void => {
      body.toldToStopAt = clock.now()
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    bodies.push(body)
    return body
  }

  const act = (body: Body): void => {
    body.hasActed = true
    if (body.resume !== 'keyed') return
    // What a keyed body is: it looks whether the work of this key is done, and does it only if not.
    if (!done.has(body.key)) done.set(body.key, (done.get(body.key) ?? 0) + 1)
  }

  /** Goes on when the world wants, or is aborted if it listens. */
  const pause = (label: string, life: Life, signal: AbortSignal, isDeaf: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const cancel = world.later(label, life, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
      const onAbort = (): void => {
        if (isDeaf) return
        cancel()
        reject(signal.reason)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
    })

  const tool = (
    life: Life,
    onBody: (body: Body) => void,
    {
      name,
      resume,
      isSafe,
    }: { readonly name: string; readonly resume: Tool['resume']; readonly isSafe: boolean },
    work: (body: Body, input: Input, context: ToolContext) => Promise<ToolOutput>,
  ): Tool<Input> => ({
    name,
    description: name,
    inputSchema: Input,
    resume,
    isReadOnly: () => name === 'Look',
    isConcurrencySafe: () => isSafe,
    ...(resume === 'keyed' && { intend: async ({ id }) => ({ id }) }),
    run: async (input, context) => {
      if (!life.isAlive) return new Promise(() => {})
      const body = begin(life, name, resume, input.id, context)
      onBody(body)
      try {
        return await work(body, input, context)
      } finally {
        body.hasEnded = true
      }
    },
  })

  /** One of the engine's own, watched. */
  const real = <I>(
    life: Life,
    onBody: (body: Body) => void,
    of: Tool<I>,
    idOf: (input: I) => string,
  ): Tool<I> => ({
    ...of,
    run: async (input, context) => {
      if (!life.isAlive) return new Promise(() => {})
      const body = begin(life, of.name, of.resume, idOf(input), context)
      onBody(body)
      act(body)
      try {
        return await of.run(input, context)
      } finally {
        body.hasEnded = true
      }
    },
  })
  const commands = (life: Life, onBody: (body: Body) => void): readonly Tool[] => [
    real(life, onBody, bashTool, ({ command }) => command),
    real(life, onBody, bashOutputTool, ({ bash_id }) => bash_id),
    real(life, onBody, killShellTool, ({ shell_id }) => shell_id),
  ]

  const plainWork = async (body: Body, { how }: Input, { signal }: ToolContext): Promise<ToolOutput> => {
    const { label } = body
    const actsFirst = chance.happens(0.5)
    if (actsFirst) act(body)
    if (how === 'deaf' || chance.happens(0.7)) await pause(label, body.life, signal, how === 'deaf')
    if (!actsFirst) act(body)
    return outputOf(how as BodyKind, label)
  }

  return {
    toolsFor: (life, onBody) => [
      tool(life, onBody, { name: 'Look', resume: 'repeat', isSafe: true }, plainWork),
      tool(life, onBody, { name: 'Put', resume: 'keyed', isSafe: false }, plainWork),
      tool(life, onBody, { name: 'Act', resume: 'interrupt', isSafe: false }, plainWork),
      tool(
        life,
        onBody,
        { name: 'Run', resume: 'interrupt', isSafe: true },
        async (body, { id }, context) => {
          act(body)
          const outcome = await context.processes.run({
            command: id,
            cwd: context.cwd,
            mark: `${context.agentId}/${context.callId}`,
            timeoutMs: 1_000,
            maxOutputBytes: 1_000,
            signal: context.signal,
          })
          return { content: outcome.output, ...(outcome.ended !== 'exit' && { isError: true }) }
        },
      ),
      ...(hasCommands ? commands(life, onBody) : []),
    ],
    bodies,
    done,
  }
}

/** Twice as long as what a request takes. */
const LONG = 'much '.repeat(20_001)

function outputOf(how: BodyKind, label: string): ToolOutput {
  switch (how) {
    case 'error':
      return { content: `${label} did not work`, isError: true }
    case 'throws':
      throw label.length % 2 === 0 ? new RangeError(`${label} is broken`) : `${label} is broken`
    case 'odd':
      return { content: label.length % 2 === 0 ? '' : 'half a pair: \ud83d', structured: { count: 1n } }
    case 'long':
      return { content: LONG }
    case 'fine':
    case 'deaf':
      return { content: `${label} done`, structured: { label } }
  }
}

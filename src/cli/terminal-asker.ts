/**
 * Asks the person at the terminal what waits for an answer: one thing at a time, in the order in which it came.
 *
 *   A1  What is decided here is what the person typed at this question (`typed-lines.ts`); nothing is decided by default.
 *   A2  A question that is no longer needed, because its agent has ended or somebody else answered, is taken back.
 *   A3  When the input ends nobody can be asked any more: what waits, and what comes, is refused.
 *   A4  After `stop` nothing is asked or answered: it stays in the logs and is asked again at a resume.
 *   A5  What «always» granted is not asked again, also where the call was waiting already.
 */

import type { Clock } from '../effects/clock.ts'
import type { ApprovalAnswer, ApprovalRequest, Engine, EngineEvent } from '../engine/api.ts'
import { EngineError } from '../engine/errors.ts'
import { meaningOf, shownAtFirst, whatIsAsked } from './approval-texts.ts'
import type { Colours } from './colours.ts'
import { oneLine, spelledOut } from './format.ts'
import type { Host, Output } from './host.ts'
import type { Progress } from './progress.ts'
import { createTypedLines } from './typed-lines.ts'

export interface TerminalAskerOptions {
  readonly engine: Pick<Engine, 'approvals' | 'answer' | 'agents'>
  readonly stdin: Host['stdin']
  readonly output: Output
  readonly clock: Clock
  readonly colours: Colours
  readonly progress: Pick<Progress, 'pause' | 'go'>
}

export interface TerminalAsker {
  event(event: EngineEvent): void
  /** Asks no more. Harmless when called again. */
  stop(): void
}

/** Who decides, as logs have it. */
const BY = 'user'

const GONE: ApprovalAnswer = {
  decision: 'deny',
  message: 'the person is gone: the input of the terminal has ended',
}

/** Asks on `output`, listens on `stdin`. */
export function createTerminalAsker(options: TerminalAskerOptions): TerminalAsker {
  const { engine, output, colours, progress } = options
  const lines = createTypedLines(options.stdin, options.clock)
  const queue: ApprovalRequest[] = []
  const granted = new Set<string>()
  let asking: { readonly request: ApprovalRequest; readonly withdraw: AbortController } | undefined
  let isWorking = false
  let isStopped = false
  let isGone = false

  const isWaiting = ({ approvalId }: ApprovalRequest): boolean =>
    engine.approvals.some((request) => request.approvalId === approvalId)

  const write = (text: string): void => output.write(text)

  const answer = (request: ApprovalRequest, given: ApprovalAnswer): void => {
    try {
      engine.answer(request.approvalId, given, BY)
    } catch (error) {
      // It was answered elsewhere, or its agent has ended, just now (A2).
      if (!EngineError.is(error)) throw error
    }
    if (given.decision === 'allow' && given.always === true)
      for (const rule of request.suggestions) granted.add(keyOf(request, rule))
  }

  /** One question, from its first line to its answer. Rejects when it is taken back. */
  const ask = async (request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> => {
    const all = whatIsAsked(request)
    const first = shownAtFirst(all)
    const show = (shown: readonly string[]): void =>
      write(shown.map((line) => `  ${colours.dim('│')} ${line}\n`).join(''))
    await lines.hush(signal)
    write(
      `${colours.yellow('?')} ${colours.bold(nameOf(engine, request))} wants to use ${colours.bold(oneLine(request.toolName, 60))}\n`,
    )
    show(first.lines)
    write(colours.dim(`  because ${oneLine(request.reason, 400)}\n`))
    let isCut = first.isCut
    for (;;) {
      await lines.hush(signal)
      write(`${choicesFor(request, isCut)}\n> `)
      const line = await lines.next(signal)
      if (line === undefined) {
        write('\n')
        isGone = true
        return GONE
      }
      const meant = meaningOf(line, request)
      switch (meant.kind) {
        case 'answer':
          return meant.answer
        case 'no': {
          write('  what should it know, or do instead? (Enter: nothing)\n> ')
          const message = (await lines.next(signal))?.trim() ?? ''
          return { decision: 'deny', ...(message !== '' && { message }) }
        }
        case 'show-all':
          show(all)
          isCut = false
          break
        case 'unclear':
          write(colours.dim('  that is none of the answers\n'))
      }
    }
  }

  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !isStopped; next = queue.shift()) {
      if (!isWaiting(next)) continue
      if (isGone) {
        answer(next, GONE)
        continue
      }
      if (isGranted(next, granted)) {
        answer(next, { decision: 'allow' })
        continue
      }
      const withdraw = new AbortController()
      asking = { request: next, withdraw }
      progress.pause()
      try {
        answer(next, await ask(next, withdraw.signal))
      } catch (error) {
        if (!withdraw.signal.aborted) throw error
        write(isStopped ? '\n' : `\n${colours.dim('  (this is not needed any more)')}\n`)
      } finally {
        asking = undefined
        progress.go()
      }
    }
    // In the same step in which nothing was left: who comes now starts again.
    isWorking = false
  }

  const start = (): void => {
    if (isWorking) return
    isWorking = true
    void work()
  }

  return {
    event(event) {
      if (isStopped) return
      if (event.kind === 'approval') {
        queue.push(event.request)
        start()
      } else if (event.kind === 'fact' && asking !== undefined && !isWaiting(asking.request)) {
        asking.withdraw.abort()
      }
    },
    stop() {
      if (isStopped) return
      isStopped = true
      queue.length = 0
      asking?.withdraw.abort()
    },
  }
}

/** Rules of an agent in the background are that agent's. */
const keyOf = ({ grantScope, agentId }: ApprovalRequest, rule: string): string =>
  `${grantScope === 'agent' ? agentId : ''} ${rule}`

function isGranted(request: ApprovalRequest, granted: ReadonlySet<string>): boolean {
  const { suggestions } = request
  return (
    suggestions.length > 0 &&
    suggestions.every((rule) => granted.has(keyOf(request, rule)) || granted.has(` ${rule}`))
  )
}

/** `main`, or the type of a child and what it is there for. */
function nameOf(engine: Pick<Engine, 'agents'>, { agentId, agentType }: ApprovalRequest): string {
  const agent = engine.agents.find((each) => each.agentId === agentId)
  if (agent === undefined || agent.parentAgentId === undefined) return oneLine(agentType, 40)
  return `${oneLine(agentType, 40)} (${oneLine(agent.description, 60)})`
}

function choicesFor({ suggestions, grantScope }: ApprovalRequest, isCut: boolean): string {
  const rules = suggestions.map((rule) => spelledOut(rule).replaceAll('\n', '\\n')).join(', ')
  const whom = grantScope === 'agent' ? 'for this agent' : 'for this session'
  return [
    '  y yes',
    ...(suggestions.length === 0 ? [] : [`a always, ${whom}: ${rules}`]),
    'n no (or: n and why)',
    ...(isCut ? ['v view all of it'] : []),
  ].join(' · ')
}

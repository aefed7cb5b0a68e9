/**
 * Asks the person at the terminal what waits for an answer: one thing at a time, in the order in which it came.
 *
 *   A1  What is decided here is what the person typed at this question (`typed-lines.ts`); nothing is decided by default.
 *   A2  A question that is no longer needed, because its agent has ended or somebody else answered, is taken back.
 *   A3  When the input ends nobody can be asked any more: what waits, and what comes, is refused.
 *   A4  After `stop` nothing is asked or answered: it stays in the logs and is asked again at a resume.
 *   A5  What «always» granted is not asked again, also where the call was waiting already.
 *   A6  What this program asks itself goes first. What is being asked then is taken back and comes again behind it.
 *   A7  While nothing is asked, keys are heard, where somebody wants them.
 */

import type { Clock } from '../effects/clock.ts'
import type { ApprovalAnswer, ApprovalRequest, Engine, EngineEvent, QuestionRequest } from '../engine/api.ts'
import { EngineError } from '../engine/errors.ts'
import { askApproval } from './ask-approval.ts'
import { askQuestion } from './ask-question.ts'
import type { Colours } from './colours.ts'
import { createDialogue, type Dialogue } from './dialogue.ts'
import { oneLine } from './format.ts'
import type { Host, Output } from './host.ts'
import { createKeyReader, type Key } from './keys.ts'
import type { Progress } from './progress.ts'
import { createTypedLines } from './typed-lines.ts'

export interface TerminalAskerOptions {
  readonly engine: Pick<Engine, 'approvals' | 'answer' | 'questions' | 'answerQuestion' | 'agents'>
  readonly stdin: Host['stdin']
  readonly output: Output
  readonly clock: Clock
  readonly colours: Colours
  readonly progress: Pick<Progress, 'pause' | 'go'>
  /** Hears keys while nothing is asked. */
  readonly onKey?: (key: Key) => void
}

/** What this program asks itself. */
export interface OwnQuestion<T> {
  isWaiting(): boolean
  /** Undefined when the input has ended. Rejects when the signal aborts. */
  ask(dialogue: Dialogue, signal: AbortSignal): Promise<T | undefined>
}

export interface TerminalAsker {
  event(event: EngineEvent): void
  /** Asks before all else. Undefined when it is not needed any more, or nobody can be asked. */
  askFirst<T>(question: OwnQuestion<T>): Promise<T | undefined>
  /** Listens to keys (again): at the start, and when the process went on after a stop. */
  listen(): void
  /** Leaves the terminal as it was, until {@link listen}. */
  letGo(): void
  /** Asks no more. Harmless when called again. */
  stop(): void
}

/** Who decides, as logs have it. */
const BY = 'user'

const GONE: ApprovalAnswer = {
  decision: 'deny',
  message: 'the person is gone: the input of the terminal has ended',
}

/** One thing that waits for the person. */
interface Matter {
  isWaiting(): boolean
  /** Settles it without asking, where that can be. */
  settle(): boolean
  /** Asks, and gives the answer to the engine. False when the input has ended. */
  ask(signal: AbortSignal): Promise<boolean>
  /** Nobody can be asked any more (A3). */
  giveUp(): void
  /** It will not be asked. */
  drop?(): void
}

/** Asks on `output`, listens on `stdin`. */
export function createTerminalAsker(options: TerminalAskerOptions): TerminalAsker {
  const { engine, output, colours, progress } = options
  const { onKey } = options
  const keys = onKey && createKeyReader(options.clock, onKey)
  const lines = createTypedLines(options.stdin, options.clock, keys)
  const dialogue = createDialogue(output, lines, colours)
  const queue: Matter[] = []
  const granted = new Set<string>()
  let asking: { readonly matter: Matter; readonly withdraw: AbortController; comesAgain: boolean } | undefined
  let isWorking = false
  let isStopped = false
  let isGone = false

  const nameOf = ({ agentId, agentType }: ApprovalRequest | QuestionRequest): string => {
    const agent = engine.agents.find((each) => each.agentId === agentId)
    if (agent === undefined || agent.parentAgentId === undefined) return oneLine(agentType, 40)
    return `${oneLine(agentType, 40)} (${oneLine(agent.description, 60)})`
  }

  const approval = (request: ApprovalRequest): Matter => {
    const give = (answer: ApprovalAnswer): void => {
      unlessSettled(() => engine.answer(request.approvalId, answer, BY))
      if (answer.decision === 'allow' && answer.always === true)
        for (const rule of request.suggestions) granted.add(keyOf(request, rule))
    }
    return {
      isWaiting: () => engine.approvals.some(({ approvalId }) => approvalId === request.approvalId),
      settle() {
        const isGranted = isCovered(request, granted)
        if (isGranted) give({ decision: 'allow' })
        return isGranted
      },
      async ask(signal) {
        const answer = await askApproval(dialogue, request, nameOf(request), signal)
        give(answer ?? GONE)
        return answer !== undefined
      },
      giveUp: () => give(GONE),
    }
  }

  const question = (request: QuestionRequest): Matter => {
    const id = request.questionId
    const putAway = (): void => unlessSettled(() => engine.answerQuestion(id, { kind: 'none' }, BY))
    return {
      isWaiting: () => engine.questions.some(({ questionId }) => questionId === id),
      settle: () => false,
      async ask(signal) {
        const answer = await askQuestion(dialogue, request, nameOf(request), signal)
        if (answer === undefined) putAway()
        else unlessSettled(() => engine.answerQuestion(id, answer, BY))
        return answer !== undefined
      },
      giveUp: putAway,
    }
  }

  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !isStopped; next = queue.shift()) {
      if (!next.isWaiting()) {
        next.drop?.()
        continue
      }
      if (next.settle()) continue
      if (isGone) {
        next.giveUp()
        continue
      }
      const withdraw = new AbortController()
      const now = { matter: next, withdraw, comesAgain: false }
      asking = now
      progress.pause()
      lines.begin()
      try {
        isGone = !(await next.ask(withdraw.signal))
      } catch (error) {
        if (!withdraw.signal.aborted) throw error
        if (!now.comesAgain) next.drop?.()
        const why = now.comesAgain ? 'this comes again' : 'this is not needed any more'
        output.write(isStopped ? '\n' : `\n${colours.dim(`  (${why})`)}\n`)
      } finally {
        asking = undefined
        lines.rest()
        progress.go()
      }
    }
    // In the same step in which nothing was left: who comes now starts again.
    isWorking = false
  }

  const begin = (): void => {
    if (isWorking) return
    isWorking = true
    void work()
  }

  const put = (matter: Matter): void => {
    queue.push(matter)
    begin()
  }

  /** Before all else (A6). */
  const putFirst = (matter: Matter): void => {
    if (asking !== undefined) {
      queue.unshift(asking.matter)
      asking.comesAgain = true
    }
    queue.unshift(matter)
    asking?.withdraw.abort()
    begin()
  }

  return {
    listen() {
      if (asking === undefined) lines.rest()
    },
    letGo: () => lines.begin(),
    askFirst: (own) =>
      new Promise((resolve, reject) => {
        if (isStopped) return resolve(undefined)
        putFirst({
          isWaiting: own.isWaiting,
          settle: () => false,
          async ask(signal) {
            const answer = await own.ask(dialogue, signal).catch((error: unknown) => {
              // Withdrawn: it may be asked again, and settles then.
              if (!signal.aborted) reject(error)
              throw error
            })
            resolve(answer)
            return answer !== undefined
          },
          giveUp: () => resolve(undefined),
          drop: () => resolve(undefined),
        })
      }),
    event(event) {
      if (isStopped) return
      if (event.kind === 'approval') put(approval(event.request))
      else if (event.kind === 'question') put(question(event.request))
      else if (event.kind === 'fact' && asking?.matter.isWaiting() === false) asking.withdraw.abort()
    },
    stop() {
      if (isStopped) return
      isStopped = true
      for (const matter of queue.splice(0)) matter.drop?.()
      asking?.withdraw.abort()
      lines.stop()
    },
  }
}

/** It was answered elsewhere, or its agent has ended, just now (A2). */
function unlessSettled(give: () => void): void {
  try {
    give()
  } catch (error) {
    if (!EngineError.is(error)) throw error
  }
}

/** Rules of an agent in the background are that agent's. */
const keyOf = ({ grantScope, agentId }: ApprovalRequest, rule: string): string =>
  `${grantScope === 'agent' ? agentId : ''} ${rule}`

/** Whether what «always» granted covers the call (A5). */
function isCovered(request: ApprovalRequest, granted: ReadonlySet<string>): boolean {
  const { suggestions } = request
  return (
    suggestions.length > 0 &&
    suggestions.every((rule) => granted.has(keyOf(request, rule)) || granted.has(` ${rule}`))
  )
}

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
import type { ApprovalAnswer, ApprovalRequest, Engine, EngineEvent, QuestionRequest } from '../engine/api.ts'
import { EngineError } from '../engine/errors.ts'
import { askApproval } from './ask-approval.ts'
import { askQuestion } from './ask-question.ts'
import type { Colours } from './colours.ts'
import { createDialogue } from './dialogue.ts'
import { oneLine } from './format.ts'
import type { Host, Output } from './host.ts'
import type { Progress } from './progress.ts'
import { createTypedLines } from './typed-lines.ts'

export interface TerminalAskerOptions {
  readonly engine: Pick<Engine, 'approvals' | 'answer' | 'questions' | 'answerQuestion' | 'agents'>
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

/** One thing that waits for the person. */
interface Matter {
  isWaiting(): boolean
  /** Settles it without asking, where that can be. */
  settle(): boolean
  /** Asks, and gives the answer to the engine. False when the input has ended. */
  ask(signal: AbortSignal): Promise<boolean>
  /** Nobody can be asked any more (A3). */
  giveUp(): void
}

/** Asks on `output`, listens on `stdin`. */
export function createTerminalAsker(options: TerminalAskerOptions): TerminalAsker {
  const { engine, output, colours, progress } = options
  const dialogue = createDialogue(output, createTypedLines(options.stdin, options.clock), colours)
  const queue: Matter[] = []
  const granted = new Set<string>()
  let asking: { readonly matter: Matter; readonly withdraw: AbortController } | undefined
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
      if (!next.isWaiting() || next.settle()) continue
      if (isGone) {
        next.giveUp()
        continue
      }
      const withdraw = new AbortController()
      asking = { matter: next, withdraw }
      progress.pause()
      try {
        isGone = !(await next.ask(withdraw.signal))
      } catch (error) {
        if (!withdraw.signal.aborted) throw error
        output.write(isStopped ? '\n' : `\n${colours.dim('  (this is not needed any more)')}\n`)
      } finally {
        asking = undefined
        progress.go()
      }
    }
    // In the same step in which nothing was left: who comes now starts again.
    isWorking = false
  }

  const put = (matter: Matter): void => {
    queue.push(matter)
    if (isWorking) return
    isWorking = true
    void work()
  }

  return {
    event(event) {
      if (isStopped) return
      if (event.kind === 'approval') put(approval(event.request))
      else if (event.kind === 'question') put(question(event.request))
      else if (event.kind === 'fact' && asking?.matter.isWaiting() === false) asking.withdraw.abort()
    },
    stop() {
      if (isStopped) return
      isStopped = true
      queue.length = 0
      asking?.withdraw.abort()
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

/** An engine that is driven by hand: the test publishes facts and ends runs. */
import { EMPTY, NEVER, Subject } from 'rxjs'
import type {
  BranchOptions,
  Engine,
  EngineEvent,
  EngineOptions,
  ResumeOptions,
  Run,
  RunOptions,
  RunResult,
} from '../../../src/engine/api.ts'
import type { PromptContent } from '../../../src/machines/agent/messages.ts'
import { ROOT, SESSION, USAGE } from './facts.ts'

interface FakeRun {
  readonly prompt: PromptContent | undefined
  readonly options: RunOptions
  end(result?: Partial<RunResult>): void
  fail(error: Error): void
}

export interface FakeEngine {
  readonly engine: Engine
  /** What `createEngine` was given; undefined until then. */
  options: EngineOptions | undefined
  readonly runs: readonly FakeRun[]
  readonly resumes: readonly { readonly sessionId: string; readonly options: ResumeOptions }[]
  readonly isClosed: boolean
  publish(...events: readonly EngineEvent[]): void
  /** What the next `resume` does. Default: nothing is in flight. */
  onResume: () => Run | undefined | Promise<Run | undefined>
  /** A run that is not begun by `run`. */
  runInFlight(): Run
  /** Resolves when the engine has been asked for its `count`th run. */
  asked(count?: number): Promise<FakeRun>
}

export const resultOf = (more: Partial<RunResult> = {}): RunResult => ({
  sessionId: SESSION,
  agentId: ROOT,
  run: 1,
  status: 'completed',
  outcome: { kind: 'completed' },
  text: 'There are two files.',
  stopReason: 'end_turn',
  turns: 2,
  toolUses: 1,
  usage: USAGE,
  totalUsage: { ...USAGE, input_tokens: 400, output_tokens: 80 },
  modelUsage: { 'claude-sonnet-4-6': { ...USAGE, input_tokens: 400, output_tokens: 80 } },
  durationMs: 1500,
  apiDurationMs: 900,
  denials: [],
  ...more,
})

export function createFakeEngine(): FakeEngine {
  const events$ = new Subject<EngineEvent>()
  const runs: FakeRun[] = []
  const resumes: { sessionId: string; options: ResumeOptions }[] = []
  const waiting: (() => void)[] = []
  const rejectAll: ((error: Error) => void)[] = []
  let isClosed = false

  const begin = (prompt: PromptContent | undefined, options: RunOptions): Run => {
    let end: (result: RunResult) => void = () => {}
    let fail: (error: Error) => void = () => {}
    const result = new Promise<RunResult>((resolve, reject) => {
      end = resolve
      fail = reject
    })
    result.catch(() => {})
    rejectAll.push(fail)
    runs.push({ prompt, options, end: (more) => end(resultOf(more)), fail })
    for (const wake of waiting.splice(0)) wake()
    return {
      sessionId: SESSION,
      started: Promise.resolve(ROOT),
      result,
      deltas$: NEVER,
      state$: NEVER,
      [Symbol.asyncIterator]: () => {
        throw new Error('the command line listens to events$')
      },
    }
  }

  const fake: FakeEngine = {
    options: undefined,
    runs,
    resumes,
    get isClosed() {
      return isClosed
    },
    publish: (...events) => {
      for (const event of events) events$.next(event)
    },
    onResume: () => undefined,
    runInFlight: () => begin(undefined, {}),
    async asked(count = 1) {
      while (runs.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      const run = runs[count - 1]
      if (run === undefined) throw new Error(`there is no run ${count}`)
      return run
    },
    engine: {
      run: begin,
      approvals: [],
      answer: () => {
        throw new Error('no test of the command line answers')
      },
      questions: [],
      answerQuestion: () => {
        throw new Error('no test of the command line answers')
      },
      spawn: () => {
        throw new Error('the command line spawns nothing')
      },
      branch: (_source, { prompt, maxTurns }: BranchOptions = {}) =>
        begin(prompt, maxTurns === undefined ? {} : { maxTurns }),
      async resume(sessionId, options = {}) {
        resumes.push({ sessionId, options })
        return fake.onResume()
      },
      killAll: async () => {},
      tasks$: EMPTY,
      kill: async () => {},
      interrupt: async () => {},
      setMode: async () => {},
      background: async () => false,
      backgroundCalls: async () => [],
      agents: [],
      events$,
      async close() {
        isClosed = true
        for (const reject of rejectAll) reject(new Error('the engine was closed'))
      },
      async [Symbol.asyncDispose]() {
        await this.close()
      },
    },
  }
  return fake
}

/** Lives and deaths at named points: what the tests of single rules are told with. */
import { afterAll, beforeAll, expect } from 'vitest'
import type { ScriptedParts } from '../../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../../src/effects/model/scripted-reply.ts'
import type { CompiledWorker } from './compile-worker.ts'
import { compileWorker } from './compile-worker.ts'
import type { AppendPoint, KillPoint } from './kill-point.ts'
import { expectLawful, expectNoProcesses } from './laws.ts'
import type { Play, Report } from './orders.ts'
import type { AgentLog, AnsweredCall, LifeOptions, Stage } from './stage.ts'
import { callsIn, readLogs, startLife } from './stage.ts'

/** A session that has gone on to its end. */
export interface Resumed {
  readonly root: AgentLog
  readonly children: readonly AgentLog[]
  /** Of the root. */
  readonly calls: readonly AnsweredCall[]
}

export interface Lives {
  /** The compiled worker, for `startLife`. */
  readonly path: string
  /** The session as a process left it that died at the given point. */
  killedAt(stage: Stage, killAt: KillPoint, options?: LifeOptions): Promise<readonly AgentLog[]>
  /** A second process goes on, and the session comes to a lawful end. */
  resumed(stage: Stage, options?: LifeOptions): Promise<Resumed>
  /** The same without any expectation. */
  secondLife(stage: Stage, options?: LifeOptions): Promise<Report | undefined>
}

/** Compiles the worker for the tests of a file. */
export function useWorker(): Lives {
  let worker: CompiledWorker | undefined
  beforeAll(async () => {
    worker = await compileWorker()
  })
  afterAll(() => worker?.dispose())
  const lives: Lives = {
    get path() {
      if (worker === undefined) throw new Error('the worker is compiled before the first test')
      return worker.path
    },
    killedAt: async (stage, killAt, options = {}) => {
      const { report } = startLife(lives.path, stage, { ...options, killAt })
      expect(await report, 'the process must die at its point').toBeUndefined()
      return readLogs(stage)
    },
    secondLife: (stage, options = {}) => startLife(lives.path, stage, { life: 2, ...options }).report,
    resumed: async (stage, options = {}) => {
      const report = await lives.secondLife(stage, options)
      expect(report).toMatchObject({ kind: 'result', wasResumed: true, status: 'completed', text: 'the end' })
      const logs = await readLogs(stage)
      expectLawful(logs)
      expectNoProcesses(logs)
      const [root, ...children] = logs
      if (root === undefined) throw new Error('a session has a root')
      return { root, children, calls: callsIn(root.events) }
    },
  }
  return lives
}

/** The point at which an event gets into a log. */
export const append = (
  event: AppendPoint['event'],
  when: AppendPoint['when'],
  of: AppendPoint['of'] = 'root',
  nth = 1,
): AppendPoint => ({ at: 'append', event, of, when, nth })

/** A root that says these things, and then that it is done. */
export const rootOf = (...replies: readonly ScriptedParts[]): Play => ({
  'the root': [...replies, say('the end')],
})

/** A root with one child that says these things. */
export const withChild = (...replies: readonly ScriptedParts[]): Play => ({
  ...rootOf(call('Agent', { description: 'a child', prompt: 'the child', subagent_type: 'general-purpose' })),
  'the child': replies,
})

/** A command that outlives its engine, and shows it. */
export const ticking = (stage: Stage): string =>
  `for i in $(seq 100); do echo tick >> ${stage.world}/ticks; sleep 0.05; done`

/** Processes that outlive the engine which started them, until somebody ends them. */
import type {
  ProcessOutcome,
  ProcessRequest,
  ProcessRunner,
} from '../../src/effects/process/process-runner.ts'
import type { Life, World } from './world.ts'

export interface SimulatedProcess {
  readonly pid: number
  readonly startTime: string
  /** `<agent>/<call>`. */
  readonly mark: string
  readonly life: Life
  isRunning: boolean
}

/** What is under way between the exit of a process and the moment in which its runner knows of it. */
export const exitSeen = (mark: string): string => `exit of ${mark} is seen`

export interface SimulatedProcesses {
  runnerFor(life: Life): ProcessRunner
  readonly all: readonly SimulatedProcess[]
}

export function createSimulatedProcesses(world: World): SimulatedProcesses {
  const all: SimulatedProcess[] = []
  const chance = world.chance('processes')

  const run = (life: Life, request: ProcessRequest): Promise<ProcessOutcome> =>
    new Promise((resolve, reject) => {
      if (!life.isAlive) return
      if (request.signal.aborted) return reject(request.signal.reason)
      if (chance.happens(0.05)) return reject(new Error('the process cannot be started'))
      const number = world.nextNumber()
      const started: SimulatedProcess = {
        pid: 100 + number,
        startTime: `t${number}`,
        mark: request.mark,
        life,
        isRunning: true,
      }
      all.push(started)
      const outcome = (ended: ProcessOutcome['ended']): ProcessOutcome => ({
        output: `${request.command} ran`,
        exitCode: ended === 'exit' ? 0 : null,
        signal: ended === 'exit' ? null : 'SIGTERM',
        ended,
        omittedBytes: 0,
      })
      // The process ends in the world outside; that it has ended is then seen by the engine, if it still lives.
      const tell = (ended: ProcessOutcome['ended']): void => {
        world.later(exitSeen(started.mark), life, () => resolve(outcome(ended)))
      }
      let exit: () => void = () => {}
      /** Some run long, so that a crash finds them. */
      const work = (rounds: number): void => {
        exit = world.later(`process ${started.mark} ${rounds > 0 ? 'works' : 'exits'}`, undefined, () => {
          if (!started.isRunning) return tell('aborted')
          if (rounds > 0) return work(rounds - 1)
          started.isRunning = false
          tell('exit')
        })
      }
      work(chance.pick([0, 2, 8]))
      const onAbort = (): void => {
        exit()
        if (!started.isRunning) return
        world.later(`process ${started.mark} is ended`, undefined, () => {
          started.isRunning = false
          tell('aborted')
        })
      }
      request.signal.addEventListener('abort', onAbort, { once: true })
      request.onStarted?.({ pid: started.pid, startTime: started.startTime })
    })

  return {
    runnerFor: (life) => ({
      run: (request) => run(life, request),
      endSurvivors: (recorded, agentIds) => {
        if (!life.isAlive) return new Promise(() => {})
        return new Promise((resolve) => {
          world.later('survivors are ended', life, () => {
            const survivors = all.filter(
              ({ isRunning, mark, pid, startTime }) =>
                isRunning &&
                (agentIds.includes(mark.split('/')[0] ?? '') ||
                  recorded.some((each) => each.pid === pid && each.startTime === startTime)),
            )
            for (const survivor of survivors) survivor.isRunning = false
            resolve(survivors.length)
          })
        })
      },
    }),
    all,
  }
}

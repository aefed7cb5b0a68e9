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
  /** Undefined while it runs. */
  endedBy: 'itself' | 'its engine' | 'a later engine' | undefined
  /** Parts of its output, where somebody listens to that. */
  written: number
}

/** A part of the output of a process. */
const partOf = (mark: string, number: number): string => `«${mark}#${number}»\n`

/** The parts of outputs that stand in a text, in their order. */
export const outputsIn = (text: string): readonly { readonly of: string; readonly number: number }[] =>
  [...text.matchAll(/«([^#»]+)#(\d+)»/g)].map(([, of = '', number]) => ({ of, number: Number(number) }))

/** What is under way between the exit of a process and the moment in which its runner knows of it. */
export const exitSeen = (mark: string): string => `exit of ${mark} is seen`

export interface SimulatedProcesses {
  runnerFor(life: Life): ProcessRunner
  readonly all: readonly SimulatedProcess[]
  /** Told of every process that its engine is about to end. */
  onAborted(listener: (process: SimulatedProcess) => void): void
}

export function createSimulatedProcesses(world: World): SimulatedProcesses {
  const all: SimulatedProcess[] = []
  const listeners: ((process: SimulatedProcess) => void)[] = []
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
        endedBy: undefined,
        written: 0,
      }
      const end = (by: SimulatedProcess['endedBy']): void => {
        started.isRunning = false
        started.endedBy ??= by
      }
      let output = ''
      const write = (): void => {
        if (request.onOutput === undefined || !life.isAlive) return
        const part = partOf(started.mark, started.written)
        started.written += 1
        output += part
        request.onOutput(Buffer.from(part))
      }
      all.push(started)
      const outcome = (ended: ProcessOutcome['ended']): ProcessOutcome => ({
        output: request.onOutput === undefined ? `${request.command} ran` : output,
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
          write()
          if (rounds > 0) return work(rounds - 1)
          end('itself')
          tell('exit')
        })
      }
      // Commands that can be moved run longer, so that their agents can come to their ends first.
      work(chance.pick(request.onOutput === undefined ? [0, 2, 8] : [2, 8, 25]))
      const onAbort = (): void => {
        exit()
        if (!started.isRunning) return
        if (life.isAlive) for (const listener of listeners) listener(started)
        world.later(`process ${started.mark} is ended`, undefined, () => {
          end('its engine')
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
            for (const survivor of survivors) {
              survivor.isRunning = false
              survivor.endedBy = survivor.life === life ? 'its engine' : 'a later engine'
            }
            resolve(survivors.length)
          })
        })
      },
    }),
    all,
    onAborted: (listener) => void listeners.push(listener),
  }
}

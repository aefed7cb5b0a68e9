/**
 * The world of one simulated session: chance, time, and everything that is under way.
 *
 *   W1  Whatever completes later (a write, a delta, the end of a tool or of a process) is a task in one list. Nothing
 *       else moves: no real timer, no real file.
 *   W2  The next task, or that time passes instead, is chosen by the seed; between two choices all promises that can
 *       go on have gone on. So a seed and a plan decide a session to the last byte.
 *   W3  A task belongs to a process (a *life* of the engine) or to the world outside. When a life ends, its tasks and
 *       timers are gone; what the world outside does goes on.
 */
import type { Clock } from '../../src/effects/clock.ts'
import type { VirtualClock } from '../../src/effects/virtual-clock.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import { type Chance, chanceFrom } from './chance.ts'

/** One process that runs an engine, from its start to its end or its crash. */
export interface Life {
  readonly number: number
  readonly clock: Clock
  readonly isAlive: boolean
}

interface MutableLife extends Life {
  readonly virtual: VirtualClock
  isAlive: boolean
}

interface Task {
  readonly label: string
  readonly life: Life | undefined
  readonly run: () => void
}

export interface World {
  readonly seed: number
  /** A stream of chance of its own for each concern, so that a change in one leaves the others as they are. */
  chance(stream: string): Chance
  /** Starts a process. */
  begin(): Life
  /** The process is gone from this moment: nothing that it began completes. */
  end(life: Life): void
  /** Nothing of any process goes on. */
  endAll(): Promise<void>
  /** Something that completes when its turn comes. The result calls it off. */
  later(label: string, life: Life | undefined, run: () => void): () => void
  /** Lets one thing happen. False when nothing is under way any more. */
  step(): Promise<boolean>
  /** Lets every promise that can go on go on, and nothing else. */
  drain(): Promise<void>
  /** A number that nobody else gets. */
  nextNumber(): number
  readonly steps: number
  /** Labels of what is under way in a process. */
  underWay(life: Life): readonly string[]
  pendingTimers(life: Life): number
  note(line: () => string): void
  readonly story: readonly string[]
}

/** How often time passes although something else could happen: what makes slow things run into their clocks. */
const TIME_PASSES = 0.03

/** Turns of the event loop after which nothing comes any more: who collects what happens in one moment waits one. */
const IDLE_TURNS = 4

/** Makes a world. `withStory` keeps a line for everything that happens. */
export function createWorld(seed: number, withStory = false): World {
  const streams = new Map<string, Chance>()
  const tasks: Task[] = []
  const lives: MutableLife[] = []
  const story: string[] = []
  let steps = 0
  let numbers = 0
  let now = Date.UTC(2030, 0, 1)

  const chance = (stream: string): Chance => {
    const known = streams.get(stream) ?? chanceFrom(seed, stream)
    streams.set(stream, known)
    return known
  }
  const schedule = chance('schedule')
  const note = (line: () => string): void => {
    if (withStory) story.push(`${String(steps).padStart(4)}  ${line()}`)
  }

  const nextTimer = (): MutableLife | undefined => {
    let next: MutableLife | undefined
    for (const life of lives) {
      if (!life.isAlive || life.virtual.untilNext === undefined) continue
      if (next?.virtual.untilNext === undefined || life.virtual.untilNext < next.virtual.untilNext)
        next = life
    }
    return next
  }

  const passTime = (life: MutableLife): void => {
    note(() => `time passes: ${life.virtual.untilNext} ms`)
    life.virtual.advance(life.virtual.untilNext ?? 0)
    now = Math.max(now, life.virtual.now())
  }

  return {
    seed,
    chance,
    begin: () => {
      now += 1_000
      const virtual = createVirtualClock(now)
      const life: MutableLife = { number: lives.length + 1, clock: virtual, virtual, isAlive: true }
      lives.push(life)
      return life
    },
    end: (life) => {
      const mine = lives.find((each) => each === life)
      if (mine !== undefined) mine.isAlive = false
      for (let i = tasks.length - 1; i >= 0; i--) if (tasks[i]?.life === life) tasks.splice(i, 1)
    },
    endAll: () => {
      for (const life of lives) life.isAlive = false
      tasks.length = 0
      return drain()
    },
    later: (label, life, run) => {
      const task: Task = { label, life, run }
      if (life?.isAlive !== false) tasks.push(task)
      return () => {
        const at = tasks.indexOf(task)
        if (at >= 0) tasks.splice(at, 1)
      }
    },
    step: async () => {
      steps += 1
      const timer = nextTimer()
      if (tasks.length === 0 && timer === undefined) {
        const isIdle = (): boolean => tasks.length === 0 && nextTimer() === undefined
        for (let turn = 0; turn < IDLE_TURNS && isIdle(); turn++) await drain()
        return !isIdle()
      }
      if (timer !== undefined && (tasks.length === 0 || schedule.happens(TIME_PASSES))) passTime(timer)
      else {
        const [task] = tasks.splice(schedule.below(tasks.length), 1)
        note(() => `${task?.life === undefined ? 'outside' : `life ${task.life.number}`}: ${task?.label}`)
        task?.run()
      }
      await drain()
      return true
    },
    drain,
    nextNumber: () => ++numbers,
    get steps() {
      return steps
    },
    underWay: (life) => tasks.filter((task) => task.life === life).map(({ label }) => label),
    pendingTimers: (life) => lives.find((each) => each === life)?.virtual.pending ?? 0,
    note,
    story,
  }
}

/** A turn of the event loop, in which every promise that can go on has gone on. */
const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

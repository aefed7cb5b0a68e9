/** What the user moves to the background: the commands that an agent waits for, or a child that its parent waits for. */
import type { Engine } from '../../src/engine/api.ts'
import { isActive } from '../../src/machines/agent/fold.ts'
import { runOf } from './laws/lookups.ts'
import type { SimulatedProcess } from './processes.ts'
import { eventsOf, type ShadowLog, type ShadowLogs } from './shadow-logs.ts'
import type { SimulatedTools } from './tools.ts'
import type { Life } from './world.ts'

/** Something that the user has asked for. */
export interface Move {
  readonly life: Life
  readonly agentId: string
  readonly what: 'commands' | 'child'
}

export const markOf = (agentId: string | undefined, callId: string): string => `${agentId}/${callId}`

/** What can be moved in a process: who waits for a command that runs, and children that somebody waits for. */
export function movable(
  life: Life,
  logs: ShadowLogs,
  { bodies }: SimulatedTools,
  processes: readonly SimulatedProcess[],
): readonly Move[] {
  const waiting = bodies.filter(
    (body) =>
      body.life === life &&
      body.tool === 'Bash' &&
      !body.hasEnded &&
      body.toldToStopAt === undefined &&
      processes.some(({ isRunning, mark }) => isRunning && mark === markOf(body.agentId, body.callId)),
  )
  const children = logs.all.filter(
    (log) =>
      log.state.birth?.parent !== undefined &&
      isActive(log.state.run) &&
      !runOf(log).some(
        (event) => event.type === 'agent.backgrounded' || (event.type === 'run.started' && event.background),
      ),
  )
  return [
    ...[...new Set(waiting.map(({ agentId }) => agentId))].map(
      (agentId) => ({ life, agentId, what: 'commands' }) as const,
    ),
    ...children.map(({ agentId = '' }) => ({ life, agentId, what: 'child' }) as const),
  ]
}

export const move = async (engine: Engine, { agentId, what }: Move): Promise<unknown> =>
  what === 'child' ? engine.background(agentId) : engine.backgroundCalls(agentId)

/** The command that a result says goes on behind its call; undefined for any other. */
export function movedBy(event: { readonly toolUseResult?: unknown }): string | undefined {
  const { backgroundTaskId } = Object(event.toolUseResult)
  return typeof backgroundTaskId === 'string' ? backgroundTaskId : undefined
}

export interface MoveCounts {
  readonly commands: number
  readonly children: number
  /** Results that hold what a moved command has written since. */
  readonly read: number
  /** Moved commands that came to their end by themselves, with their agent or by its hand, and in a later process. */
  readonly exited: number
  readonly ended: number
  readonly survived: number
}

export function countMoves(logs: readonly ShadowLog[], processes: readonly SimulatedProcess[]): MoveCounts {
  const marks = new Set(
    logs.flatMap((log) =>
      eventsOf(log, 'call.ended')
        .filter((event) => movedBy(event) !== undefined)
        .map(({ callId }) => markOf(log.agentId, callId)),
    ),
  )
  const moved = processes.filter(({ mark }) => marks.has(mark))
  const times = (by: SimulatedProcess['endedBy']): number =>
    moved.filter(({ endedBy }) => endedBy === by).length
  return {
    commands: marks.size,
    children: logs.flatMap((log) => eventsOf(log, 'agent.backgrounded')).filter(({ by }) => by === 'user')
      .length,
    read: logs
      .flatMap((log) => eventsOf(log, 'call.ended'))
      .filter(({ result }) => /^\[bash_.*\]\n«/s.test(String(result.content))).length,
    exited: times('itself'),
    ended: times('its engine'),
    survived: times('a later engine'),
  }
}

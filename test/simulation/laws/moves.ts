import { isBeforeSettling } from '../../../src/machines/agent/accepts.ts'
import { markOf, movedBy } from '../moves.ts'
import { outputsIn } from '../processes.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Life } from '../world.ts'
import type { Law } from './law.ts'
import { lineOf, runOf } from './lookups.ts'

/** Law 3, of what is moved to the background. */
export const MOVES: Law = {
  number: 3,
  name: 'moved on',
  text: 'What is moved to the background was asked for, is told once as moved, and goes on untouched: nobody but its agent and its end ends a command, and of what it writes nothing is told twice or lost; a child is not stopped by a parent that was not stopped itself.',
  watch: (scene, broken) => {
    const { disk, processes, tools, moves } = scene
    /** Processes that moved commands are, by their marks. */
    const moved = new Map<string, Life>()
    /** Those that were ended while their agents were at work: of no moved one. */
    const ended = new Set<string>()
    /** How much of what a command has written its agent has read. */
    const read = new Map<string, number>()
    const wasAsked = (what: 'commands' | 'child', agentId: string | undefined): boolean =>
      moves.some((each) => each.what === what && each.agentId === agentId)
    processes.onAborted(({ mark, life }) => {
      if (scene.isClosing) return
      const [agentId = ''] = mark.split('/')
      const run = disk.logs.of(agentId)?.state.run
      const byHand = tools.bodies.some(
        (body) =>
          body.tool === 'KillShell' && body.agentId === agentId && body.life === life && !body.hasEnded,
      )
      if (run === undefined || !isBeforeSettling(run) || byHand) return
      if (moved.get(mark) === life) broken(`the moved command ${mark} is ended while its agent is at work`)
      else ended.add(mark)
    })
    return {
      onDurable: (log, { event }) => {
        if (event.type === 'agent.backgrounded' && event.by === 'user' && !wasAsked('child', log.agentId))
          broken(`${log.agentId} is moved to the background, and nobody has asked for it`)
        if (event.type === 'agent.ended' && event.outcome.kind === 'killed') {
          const { by, reason } = event.outcome
          const parent = disk.logs.of(log.state.birth?.parent?.agentId ?? '')
          const wasMoved = runOf(log).some(({ type }) => type === 'agent.backgrounded')
          const isStopped = lineOf(disk.logs, parent?.agentId ?? '').some((above) =>
            runOf(above).some(({ type }) => type === 'kill.requested'),
          )
          // Without that reason it is a parent that stops it by a call.
          const isByTurn = by === `agent ${parent?.agentId}` && reason === 'its parent was stopped'
          if (wasMoved && isByTurn && !isStopped)
            broken(`${log.agentId} was moved to the background, and ends with the turn of its parent`)
        }
        if (event.type !== 'call.ended') return
        const mark = markOf(log.agentId, event.callId)
        const content = String(event.result.content)
        const id = movedBy(event)
        if (id !== undefined) {
          const process = processes.all.find((each) => each.mark === mark)
          if (!wasAsked('commands', log.agentId)) broken(`${mark} is moved, and nobody has asked for it`)
          if (process === undefined) broken(`${mark} is told as moved, and is no process`)
          else moved.set(mark, process.life)
          if (ended.has(mark)) broken(`${mark} is told as moved, and was ended`)
          if (id !== `bash_${event.callId}` || !content.startsWith('Moved to the background by the user'))
            broken(`${mark} is moved, and told so: ${content}`)
          const results = eventsOf(log, 'call.ended').filter(({ callId }) => callId === event.callId)
          if (results.length > 1) broken(`${mark} is moved, and has ${results.length} results`)
        }
        for (const { of, number } of outputsIn(content)) {
          const next = read.get(of) ?? 0
          if (number !== next)
            broken(`${log.agentId} reads part ${number} of what ${of} wrote, behind ${next} parts`)
          read.set(of, number + 1)
        }
        const [, over] = /^\[bash_([\d.]+): ended with exit code/.exec(content) ?? []
        const of = markOf(log.agentId, over ?? '')
        const written = processes.all.find((each) => each.mark === of)?.written ?? 0
        if (over !== undefined && (read.get(of) ?? 0) !== written)
          broken(`${log.agentId} has read ${read.get(of) ?? 0} parts of ${written} that ${of} wrote`)
      },
    }
  },
}

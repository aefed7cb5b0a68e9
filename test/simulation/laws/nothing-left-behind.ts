import type { SeenRequest } from '../model.ts'
import { isOfUser } from '../plan.ts'
import { exitSeen } from '../processes.ts'
import type { Body } from '../tools.ts'
import type { Law } from './law.ts'
import { descendantsOf, isBesideSomebody, logsOfRequest } from './lookups.ts'
import { watchWorktrees } from './worktrees.ts'

/** What the engine promises to wait for a body that was told to stop, in milliseconds. */
const BODY_GRACE_MS = 10_000

/** What a body waits for whose process was ended. */
const exitOf = ({ agentId, callId }: Body): string => exitSeen(`${agentId}/${callId}`)

/** Law 9. */
export const NOTHING_LEFT_BEHIND: Law = {
  number: 9,
  name: 'nothing left behind',
  text: 'After an agent ends, no process, no effect, no request and no timer of it remains.',
  watch: (scene, broken) => {
    const { disk, processes, tools, model, world, live, lockOf, plan } = scene
    const trees = watchWorktrees(scene, broken)
    const toldAsLeft: string[] = []
    /** Nobody can end a body that does not end itself: after its grace it is left behind, and the engine says so. */
    const isLeftBehind = ({ life, agentId, callId, toldToStopAt }: Body): boolean =>
      toldToStopAt !== undefined &&
      life.clock.now() - toldToStopAt >= BODY_GRACE_MS &&
      toldAsLeft.some((message) => message.includes(`call ${callId} of agent ${agentId})`))
    const processesOf = (agentId: string): readonly string[] =>
      processes.all
        .filter(({ isRunning, mark }) => isRunning && mark.startsWith(`${agentId}/`))
        .map(({ mark }) => mark)
    /** Whose request it may be. */
    const owners = new WeakMap<SeenRequest, readonly string[]>()
    const ownersOf = (request: SeenRequest): readonly string[] => owners.get(request) ?? []
    const isOpenOf = (agentId: string, of: readonly string[]): boolean =>
      of.includes(agentId) && of.every((each) => each === agentId || hasEnded(each))
    const hasEnded = (agentId: string): boolean => disk.logs.of(agentId)?.state.run?.status !== 'active'
    /** Agents of which nothing is said yet in a process. */
    const touched = new Set<string>()
    const onTouch = (life: { readonly number: number }, agentId: string): void => {
      const key = `${life.number}/${agentId}`
      if (touched.has(key)) return
      touched.add(key)
      const old = processes.all.filter(
        (each) => each.isRunning && each.life !== life && each.mark.startsWith(`${agentId}/`),
      )
      if (old.length > 0)
        broken(`${agentId} goes on while ${old.map(({ mark }) => mark).join()} of a dead process runs`)
    }
    return {
      ...trees,
      onFact: ({ agentId, event }) => {
        if (event.type !== 'agent.ended') return
        // One of them is telling the end.
        const scope = (live(agentId)?.scope.running ?? []).filter(
          (label) => !['drain', 'stopHooks', 'review'].includes(label),
        )
        if (scope.length > 0) broken(`${agentId} has ended and ${scope.join()} still runs`)
        const running = processesOf(agentId)
        if (running.length > 0) broken(`${agentId} has ended and the process ${running.join()} still runs`)
        const holder = disk.holderOf(lockOf(disk.logs.of(agentId)?.path ?? ''))
        const bodies = tools.bodies.filter(
          (body) => body.agentId === agentId && !body.hasEnded && body.life === holder && !isLeftBehind(body),
        )
        if (bodies.length > 0)
          broken(`${agentId} has ended and the body of ${bodies.map(({ key }) => key).join()} still runs`)
        if (
          holder !== undefined &&
          model.open(holder).some((request) => isOpenOf(agentId, ownersOf(request)))
        )
          broken(`${agentId} has ended and its request is still open`)
        // A child whose log cannot be written cannot end; its parent does not wait for that.
        if (plan.diskFaults.length > 0) return
        const below = descendantsOf(disk.logs, agentId).filter(
          ({ state }) =>
            state.run?.status === 'active' &&
            // Who is in the background goes on, and somebody above is told; not when its parent was killed.
            (event.status === 'killed' || !isBesideSomebody(disk.logs, agentId, state.birth)),
        )
        if (below.length > 0)
          broken(`${agentId} has ended before its descendant ${below.map((log) => log.agentId).join()}`)
      },
      onBody: (body) => {
        onTouch(body.life, body.agentId)
        trees.onBody?.(body)
      },
      onRequest: (request) => {
        const agentIds = logsOfRequest(disk.logs, request).flatMap(({ agentId }) => agentId ?? [])
        owners.set(request, agentIds)
        const [only, ...others] = agentIds
        if (only !== undefined && others.length === 0) onTouch(request.life, only)
      },
      onEnd: () => {
        trees.onEnd?.()
        const running = processes.all.filter(({ isRunning }) => isRunning)
        if (running.length > 0)
          broken(`the session is over and ${running.map(({ mark }) => mark).join()} still runs`)
      },
      onNotice: (event) => {
        if (event.kind === 'diagnostic' && event.code === 'tool-left-behind') toldAsLeft.push(event.message)
      },
      onClosed: (life) => {
        const open = tools.bodies.filter((body) => !body.hasEnded && body.life === life)
        const left = open.filter(isLeftBehind)
        const bodies = open.filter((body) => !left.includes(body))
        if (bodies.length > 0)
          broken(`the engine is closed and the body of ${bodies.map(({ key }) => key).join()} still runs`)
        const running = processes.all.filter((each) => each.isRunning && each.life === life)
        if (running.length > 0)
          broken(`the engine is closed and ${running.map(({ mark }) => mark).join()} still runs`)
        if (world.pendingTimers(life) > 0)
          broken(`the engine is closed and ${world.pendingTimers(life)} timers are set`)
        if (model.open(life).length > 0)
          broken(
            `the engine is closed and requests of ${model
              .open(life)
              .map(({ agent }) => agent)
              .join()} are open`,
          )
        const underWay = world
          .underWay(life)
          .filter(
            (task) => !isOfUser(task) && !left.some((body) => task === body.label || task === exitOf(body)),
          )
        if (underWay.length > 0) broken(`the engine is closed and ${underWay.join()} is under way`)
      },
    }
  },
}

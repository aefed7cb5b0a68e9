import type { AgentDefinition } from '../../../src/definitions/agent-definition.ts'
import type { PermissionMode } from '../../../src/definitions/permission-mode.ts'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import { definitionOf } from '../definitions.ts'
import { eventsOf, type ShadowLog } from '../shadow-logs.ts'
import { READ_ONLY_TOOLS } from '../tools.ts'
import type { Law } from './law.ts'
import { lineOf, logsOfRequest, modeIn } from './lookups.ts'

/** Modes in which a call that changes something passes without anybody's word, for tools that name no path. */
const LETS_CHANGE: readonly PermissionMode[] = ['bypassPermissions']

/** Law 6. */
export const NEVER_WIDER: Law = {
  number: 6,
  name: 'never wider',
  text: 'What a child may do is its own rules and the ceiling of every ancestor. Delegating gains no capability.',
  watch: ({ disk, plan }, broken) => {
    /** Whether a classifier or the user has allowed the call, where one is asked. */
    const wasAllowed = (log: ShadowLog | undefined, call: string): boolean =>
      (plan.mode === 'auto' &&
        eventsOf(log, 'call.classified').some(
          ({ callId, verdict }) => callId === call && verdict.kind === 'allow',
        )) ||
      eventsOf(log, 'approval.answered').some(
        ({ callId, decision, by }) => callId === call && decision === 'allow' && by === 'the user',
      )
    /** Whether an agent's mode lets a call pass that changes something, or a rule does. */
    const letsPass = (log: ShadowLog, tool: string): boolean => {
      const mode = modeIn(log) ?? 'plan'
      return LETS_CHANGE.includes(mode) || (mode !== 'plan' && plan.allow?.includes(tool) === true)
    }
    /** A fork has no definition of its own: that of whoever it is a fork of counts. */
    const definitionIn = (log: ShadowLog | undefined): AgentDefinition | undefined => {
      const { plan: own, inherits, parent } = log?.state.birth ?? {}
      if (inherits?.fork !== undefined) return definitionIn(disk.logs.of(parent?.agentId ?? ''))
      return definitionOf(own?.agentType)
    }
    const allowedBy = (log: ShadowLog, tool: string, callId: string): boolean => {
      const birth = log.state.birth
      if (birth === undefined) return false
      const definition = definitionIn(log)
      if (definition?.tools !== undefined && !definition.tools.includes(tool)) return false
      if (definition?.disallowedTools?.includes(tool) === true) return false
      const lets = letsPass(log, tool) || wasAllowed(log, callId)
      return READ_ONLY_TOOLS.includes(tool) || lets
    }
    const offeredTooMuch = (log: ShadowLog, { tools }: ModelRequest): string | undefined => {
      const { birth } = log.state
      if (birth === undefined) return undefined
      const allowed = definitionIn(log)?.tools
      const other = tools.find(({ name }) => allowed !== undefined && !allowed.includes(name))
      if (other !== undefined) return `is offered ${other.name}`
      // A fork is offered what its parent is, to the byte, whatever it may do of that: law 5 compares the two.
      const isAtEnd =
        birth.inherits?.fork === undefined && birth.depth > 0 && birth.depth >= plan.limits.depth
      return isAtEnd && tools.some(({ name }) => name === 'Agent')
        ? `at depth ${birth.depth} is offered Agent`
        : undefined
    }
    /** Who above would have let a call pass when it was made: it is decided between then and now. */
    const letPass = new Map<string, readonly ShadowLog[]>()
    return {
      onDurable: (log, { event }) => {
        if (event.type !== 'reply.received') return
        const [, ...above] = lineOf(disk.logs, log.agentId ?? '')
        for (const { callId, name } of event.calls)
          letPass.set(
            `${log.agentId}:${callId}`,
            above.filter((each) => letsPass(each, name)),
          )
      },
      onBody: ({ agentId, tool, callId }) => {
        const line = lineOf(disk.logs, agentId)
        const [own, ...above] = line
        if (own === undefined || !allowedBy(own, tool, callId))
          broken(`${agentId} runs ${tool}, which it may not`)
        const before = letPass.get(`${agentId}:${callId}`) ?? []
        const denying = above.find(
          (log) =>
            !READ_ONLY_TOOLS.includes(tool) &&
            !wasAllowed(own, callId) &&
            !letsPass(log, tool) &&
            !before.includes(log),
        )
        if (denying !== undefined)
          broken(`${agentId} runs ${tool}, which its ancestor ${denying.agentId} may not`)
        if (plan.deny.includes(tool)) broken(`${agentId} runs ${tool}, which a rule denies`)
      },
      onRequest: (seen) => {
        const troubles = logsOfRequest(disk.logs, seen).map((log) => offeredTooMuch(log, seen.request))
        if (troubles[0] !== undefined && troubles.every((trouble) => trouble !== undefined))
          broken(`${seen.agent} ${troubles[0]}`)
      },
    }
  },
}

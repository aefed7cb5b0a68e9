/** What a history comes to: small enough to be read, and to be compared for ever. */
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import type { ReplayedAgent } from '../../src/journal/replay/replay-session.ts'
import { replaySession } from '../../src/journal/replay/replay-session.ts'
import type { UpcasterTable } from '../../src/journal/upcast.ts'

/** One agent of a history. */
export interface Summary {
  readonly agentType: string | undefined
  readonly phase: string
  readonly run: number
  readonly turns: number
  readonly toolUses: number
  readonly outcome: unknown
  /** The text of the last reply of the run that has any. */
  readonly report: string | undefined
  readonly usage: unknown
  /** Types of its events, in order. */
  readonly events: readonly string[]
  /** Roles of the messages of its next request. */
  readonly messages: string
  readonly remarks: readonly string[]
  readonly violations: readonly string[]
  readonly children: readonly Summary[]
}

const storage = createFileStorage({ durability: 'write' })

/** Folds a history. */
export async function summarise(rootLog: string, upcasters?: UpcasterTable): Promise<Summary> {
  return summaryOf(await replaySession(storage, rootLog, { ...(upcasters && { upcasters }) }), upcasters)
}

async function summaryOf(agent: ReplayedAgent, upcasters: UpcasterTable | undefined): Promise<Summary> {
  const { state, conversation } = agent
  const context = state.run?.context
  const events: string[] = []
  if (agent.events > 0) {
    for await (const entry of readEntries(storage, agent.path, { ...(upcasters && { upcasters }) })) {
      if (entry.kind === 'event') events.push(entry.recorded.event.type)
    }
  }
  const children: Summary[] = []
  for (const child of agent.children) children.push(await summaryOf(child, upcasters))
  return {
    agentType: state.birth?.plan.agentType,
    phase: agent.phase,
    run: context?.run ?? 0,
    turns: context?.turns ?? 0,
    toolUses: context?.toolUses ?? 0,
    outcome: context?.outcome,
    report: context?.report === undefined ? undefined : conversation.textOfReply(context.report),
    usage: agent.usage.all,
    events,
    messages: agent.messages.map(({ role }) => role[0]).join(''),
    remarks: agent.damage.map(({ kind, detail }) => `${kind}: ${detail}`),
    violations: agent.violations.map(({ law, reason }) => `${law}: ${reason}`),
    children,
  }
}

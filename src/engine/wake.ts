/** An idle agent is told what is new for it: that is its next run. */
import { hasChoice } from '../machines/agent/context.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { messageOf } from './errors.ts'
import type { Posted } from './mailbox.ts'
import { newsFor } from './news.ts'
import { nextMacrotask } from './waits.ts'

/**
 * Starts the next run of an idle agent, with what is new as its prompt. Does nothing while one is on, which tells it
 * itself; nothing new; or the last one was stopped, failed or reached a limit, or all runs are being
 * ended: then it is told with the next prompt.
 * Never rejects.
 */
export async function wake(core: EngineCore, agent: Agent): Promise<void> {
  try {
    let posted: Posted = 'late'
    while (posted === 'late') {
      if (!mayBeWoken(agent)) return
      // Ends of one moment are told together.
      await nextMacrotask()
      if (!mayBeWoken(agent)) return
      const news = await newsFor(core, agent)
      if (news === undefined) return
      const { text, tells, injects } = news
      const begin = { from: 'engine', leavesChildren: true, tells, injects } as const
      posted = await agent.session.tryStartRun(agent, text, undefined, begin)
    }
  } catch (error) {
    core.diagnose('not-woken', `agent ${agent.id} could not be told what is new: ${messageOf(error)}`)
  }
}

function mayBeWoken({ isOpen, isRunning, session, digest }: Agent): boolean {
  if (!isOpen || isRunning || session.isStopping) return false
  return digest.ended !== undefined && hasChoice(digest.ended.outcome)
}

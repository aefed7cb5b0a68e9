/** An agent whose run has ended, read back from its log: its next run goes on with its whole conversation. */
import type { AgentId } from '../machines/ids.ts'
import { Agent } from './agent.ts'
import { AgentSnapshots } from './agent-snapshots.ts'
import type { EngineCore } from './core.ts'
import { EngineError } from './errors.ts'
import type { Session } from './session.ts'

/**
 * The agent of that id: the live one, or one that is read back with those above it. It takes no place in the session
 * before it runs. Rejects with an `EngineError`: `no-such-agent`, or what is wrong with a log.
 */
export async function reviveAgent(core: EngineCore, session: Session, id: AgentId): Promise<Agent> {
  const live = core.agents.get(id)
  if (live?.isBorn === true) return live
  if (live !== undefined) throw noSuchAgent(session, id)
  const path = session.paths.agentLog(id)
  if (!(await core.storage.exists(path))) throw noSuchAgent(session, id)
  const snapshots = new AgentSnapshots(core, session, id, path)
  const read = await snapshots.read(false)
  const { birth } = read.state
  if (birth?.parent === undefined || birth.agentId !== id) throw noSuchAgent(session, id)
  const parent = await reviveAgent(core, session, birth.parent.agentId)
  await session.definitions.recall(birth.plan)
  const agent = new Agent(core, session, id, parent, path, snapshots)
  agent.restore(read)
  return agent
}

function noSuchAgent(session: Session, id: AgentId): EngineError {
  return new EngineError('no-such-agent', `session ${session.id} has no agent ${id} that has ever run`)
}

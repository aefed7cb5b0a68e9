/** What a resumed session already is, so that views begin with the whole tree. */
import type { EngineEvent } from '../engine/api.ts'
import type { SessionId } from '../machines/ids.ts'
import type { SessionReader } from './session-reader.ts'

/**
 * The birth and the last run of the root, and of each descendant that its parent has no result of yet. Finished
 * children are left out: a session may have thousands.
 */
export async function factsInFlight(
  reader: Pick<SessionReader, 'logsOf' | 'logOf' | 'read'>,
  sessionId: string,
): Promise<EngineEvent[]> {
  const facts: EngineEvent[] = []
  const logs = await reader.logsOf(sessionId)
  const paths = logs.slice(0, 1)
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    const waitsFor = new Map<string, string>()
    const begin = facts.length
    let agentId: Extract<EngineEvent, { kind: 'fact' }>['agentId'] | undefined
    for await (const entry of reader.read(path)) {
      if (entry.kind !== 'event') continue
      const { event } = entry.recorded
      if (event.type === 'agent.spawned') agentId = event.agentId
      if (event.type === 'run.started') facts.splice(begin + 1)
      if (event.type === 'call.started' && event.child) waitsFor.set(event.callId, event.child.agentId)
      if (event.type === 'call.ended') waitsFor.delete(event.callId)
      // The id was checked when the session was found.
      if (agentId !== undefined) {
        facts.push({ kind: 'fact', sessionId: sessionId as SessionId, agentId, ...entry.recorded })
      }
    }
    for (const child of waitsFor.values()) {
      const log = reader.logOf(sessionId, child)
      if (logs.includes(log)) paths.push(log)
    }
  }
  return facts
}

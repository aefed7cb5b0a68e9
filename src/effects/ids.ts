/** Identity and chance, as a port: every id and random number that the engine uses comes from here. */
import { randomUUID } from 'node:crypto'
import type { AgentId, SessionId } from '../machines/ids.ts'

export interface Ids {
  /** A UUID v4, for lines and sessions. */
  uuid(): string
  /** `a` and 16 hexadecimal digits. */
  agentId(): AgentId
  /** A number in [0, 1), for jitter. */
  random(): number
}

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  // The parts of a UUID that are random from end to end, 64 bits: Node makes UUIDs from a pool, bytes one by one.
  agentId: () => {
    const uuid = randomUUID()
    return `a${uuid.slice(0, 8)}${uuid.slice(28)}` as AgentId
  },
  random: () => Math.random(),
}

/** A new session id. */
export const newSessionId = (ids: Ids): SessionId => ids.uuid() as SessionId

/** Identity and chance, as a port: every id and random number that the engine uses comes from here. */
import { randomBytes, randomUUID } from 'node:crypto'
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
  agentId: () => `a${randomBytes(8).toString('hex')}` as AgentId,
  random: () => Math.random(),
}

/** A new session id. */
export const newSessionId = (ids: Ids): SessionId => ids.uuid() as SessionId

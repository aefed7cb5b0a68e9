import type { ToolContext } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'
import type { AgentsPort } from './agents-port.ts'

/** The port of a call. Throws a `ToolRefusal` where the host has none: a tool used outside the engine. */
export function portOf({ agents }: ToolContext): AgentsPort {
  if (agents === undefined) throw new ToolRefusal('There are no other agents here.')
  return agents
}

/**
 * Where the simulation looks into the engine, and the only place that knows how: four methods, wrapped from outside.
 * The engine has no switch for it.
 */
import { Agent } from '../../src/engine/agent.ts'
import type { EventDraft, Recorded } from '../../src/machines/agent/events.ts'

export interface Probe {
  /** An event was applied: the live agent is in the state behind it. */
  onApplied(agent: Agent, recorded: Recorded): void
  /** An agent was brought back to where its log ends. */
  onRestored(agent: Agent): void
  /** An event was not taken. */
  onLate(agent: Agent, draft: EventDraft): void
}

let current: Probe | undefined
let isInstalled = false

/** From now on this probe is told. One at a time: sessions are simulated one after the other. */
export function observe(probe: Probe | undefined): void {
  if (!isInstalled) install()
  isInstalled = true
  current = probe
}

function install(): void {
  const { apply, restore, stage } = Agent.prototype
  Agent.prototype.apply = function (recorded) {
    apply.call(this, recorded)
    current?.onApplied(this, recorded)
  }
  Agent.prototype.restore = function (...parts) {
    restore.apply(this, parts)
    current?.onRestored(this)
  }
  let depth = 0
  Agent.prototype.stage = function (draft) {
    depth += 1
    try {
      const staged = stage.call(this, draft)
      // A draft that cannot be folded is staged again as a fault: only the outermost answer counts.
      if (staged === 'late' && depth === 1) current?.onLate(this, draft)
      return staged
    } finally {
      depth -= 1
    }
  }
}

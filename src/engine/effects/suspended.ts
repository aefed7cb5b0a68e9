import type { EventDraft } from '../../machines/agent/events.ts'
import type { Posted } from '../mailbox.ts'

/** The engine closed an agent's mailbox under an effect: the rest of its work is for the resume. */
export class Suspended extends Error {
  /** By this name the scope knows that it is no fault. */
  override readonly name = 'EffectSuspended'
}

/** Whatever takes events in order: an agent. */
interface Recorder {
  postChain(...drafts: readonly EventDraft[]): Promise<Posted>
}

/**
 * Writes events of which each stands on the one before. Rejects with `Suspended` when they come too late, and as
 * `Mailbox.post` does.
 */
export async function record(agent: Recorder, ...events: readonly EventDraft[]): Promise<void> {
  if ((await agent.postChain(...events)) === 'late') throw new Suspended(`${events[0]?.type} came too late`)
}

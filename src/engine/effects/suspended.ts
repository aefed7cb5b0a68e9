/** The engine closed an agent's mailbox under an effect: the rest of its work is for the resume. */
export class Suspended extends Error {
  /** By this name the scope knows that it is no fault. */
  override readonly name = 'EffectSuspended'
}

/** The calls of one agent that can be made to go on behind it while they run. */
import type { MoveCall } from '../effects/tools/tool.ts'
import type { CallId } from '../machines/ids.ts'

export class MovableCalls {
  readonly #moves = new Map<CallId, MoveCall>()

  /** A call can be moved from now on. Returns the withdrawal. */
  offer(callId: CallId, move: MoveCall): () => void {
    this.#moves.set(callId, move)
    return () => {
      this.#moves.delete(callId)
    }
  }

  /** Moves all that can be, and says as what they go on. */
  moveAll(): readonly string[] {
    return [...this.#moves.values()].flatMap((move) => move() ?? [])
  }
}

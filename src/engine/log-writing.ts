/**
 * The lines of one agent's log, as they are made: who they say wrote them, and where the next one will stand.
 */
import type { LogCursor, LogIdentity } from '../journal/cursor.ts'
import { START_CURSOR } from '../journal/cursor.ts'
import type { Encoded } from '../journal/encode.ts'
import { encode } from '../journal/encode.ts'
import type { EventDraft } from '../machines/agent/events.ts'
import type { EngineCore } from './core.ts'
import type { EventPlace } from './read-agent.ts'

/** UTF-16 units of one event's lines. In bytes it stays below the longest line that is read. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024

/** Where a log ends. */
export interface LogPlace {
  readonly cursor: LogCursor
  /** Byte of the log that the next line will begin with. */
  readonly offset: number
  readonly lastEvent: EventPlace | undefined
}

export class LogWriting {
  readonly #core: EngineCore
  #identity: LogIdentity
  #place: LogPlace = { cursor: START_CURSOR, offset: 0, lastEvent: undefined }

  constructor(core: EngineCore, identity: LogIdentity) {
    this.#core = core
    this.#identity = identity
  }

  /** The end of what is durable. */
  get place(): LogPlace {
    return this.#place
  }

  /** The log was read up to there. */
  goOnFrom({ cursor, offset, lastEvent }: LogPlace): void {
    this.#place = { cursor, offset, lastEvent }
  }

  /** Where its lines say that the agent works. */
  get cwd(): string {
    return this.#identity.cwd
  }

  /** The agent works somewhere else from now on, on that branch where there is one. */
  moveTo(cwd: string, gitBranch: string | undefined): void {
    const { gitBranch: _, ...identity } = this.#identity
    this.#identity = { ...identity, cwd, ...(gitBranch !== undefined && { gitBranch }) }
  }

  /**
   * Makes the lines of the next event, behind another that is not durable yet where there is one. Throws a `RangeError`
   * for what a reader would refuse: written, it would end every later resume.
   */
  encode(draft: EventDraft, behind: Encoded | undefined): Encoded {
    const { clock, ids } = this.#core
    const encoded = encode(this.#identity, behind?.cursor ?? this.#place.cursor, draft, clock.now(), ids.uuid)
    const { length } = encoded.text
    if (length > MAX_EVENT_CHARS)
      throw new RangeError(`it has ${length} characters; no more than ${MAX_EVENT_CHARS} fit into a log`)
    return encoded
  }

  /** The lines of the next event are durable. Returns where they stand. */
  noteDurable({ recorded, text, cursor }: Encoded): EventPlace {
    const { offset } = this.#place
    const lastEvent = { seq: recorded.seq, from: offset, to: offset + Buffer.byteLength(text) }
    this.#place = { cursor, offset: lastEvent.to, lastEvent }
    return lastEvent
  }
}

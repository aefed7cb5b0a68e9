/**
 * The snapshots of one log: found when it is opened, written now and then.
 *
 *   W1  Writing is off the path of events: what is kept of the moment are references to values that never change, and
 *       reading back, hashing and writing follow after the tick. One is written at a time; while it is, none is due.
 *   W2  A failure is told and forgotten: a snapshot can be made again, and nobody waits for one but the session's close.
 */
import type { SnapshotSlot } from '../journal/paths.ts'
import type { Program, Snapshot } from '../journal/snapshots.ts'
import { discardSnapshots, findSnapshot, writeSnapshot } from '../journal/snapshots.ts'
import { MACHINE_VERSION } from '../machines/agent/events.ts'
import { agentMachine } from '../machines/agent/machine.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { EngineError, messageOf } from './errors.ts'
import { newLosses } from './log-losses.ts'
import type { LogPlace } from './log-writing.ts'
import type { ReadAgent } from './read-agent.ts'
import { readAgent, readAgentFrom, resultOf, UnusableSnapshot } from './read-agent.ts'
import type { Session } from './session.ts'
import { VERSION } from './version.ts'

/** Events that have to be new for a snapshot at the close, as a part of those between two snapshots. */
const WORTH_A_FILE = 1 / 20

const PROGRAM: Program = { troupe: VERSION, machine: { id: agentMachine.id, version: MACHINE_VERSION } }

export class AgentSnapshots {
  readonly #core: EngineCore
  readonly #session: Session
  readonly #log: string
  readonly #agentId: AgentId | undefined
  #next: SnapshotSlot = 0
  #newEvents = 0
  #writing: Promise<void> | undefined
  #isOff = false

  /** `agentId`: undefined for the root, whose file is found before anybody knows its id. */
  constructor(core: EngineCore, session: Session, agentId: AgentId | undefined, log: string) {
    this.#core = core
    this.#session = session
    this.#log = log
    this.#agentId = agentId
  }

  /** Made when they are wanted: most agents never have a snapshot. */
  #file(slot: SnapshotSlot): string {
    return this.#session.paths.snapshot(this.#agentId ?? 'root', slot)
  }

  get #files(): readonly [string, string] {
    return [this.#file(0), this.#file(1)]
  }

  /**
   * Reads the log: from its newest snapshot that can be believed, or from its start when there is none. Who accepts
   * damage wants to know all of it, so that no snapshot may stand in front of it. Rejects as `readAgent` does.
   */
  async read(acceptDamage: boolean): Promise<ReadAgent> {
    const tail = acceptDamage ? undefined : await this.#readTail()
    const read = tail ?? (await readAgent(this.#core.storage, this.#log, { acceptDamage }))
    this.#newEvents = read.events
    // What was accepted is not in the log yet, and perhaps never will be: the next one must meet it, too.
    this.#isOff = newLosses(read).length > 0
    return read
  }

  async #readTail(): Promise<ReadAgent | undefined> {
    const { storage } = this.#core
    const { newest, rejected } = await findSnapshot(
      storage,
      { log: this.#log, snapshots: this.#files },
      { program: PROGRAM, sessionId: this.#session.id, agentId: this.#agentId },
    )
    for (const why of rejected) this.#reject(why)
    if (newest === undefined) return undefined
    try {
      const read = await readAgentFrom(storage, this.#log, newest.snapshot)
      this.#next = newest.slot === 0 ? 1 : 0
      return read
    } catch (error) {
      this.#next = newest.slot
      if (!(error instanceof UnusableSnapshot || EngineError.is(error))) throw error
      // A tail that makes no sense, too: it may be the snapshot that is wrong. If not, the whole log says so again.
      this.#reject(`${this.#file(newest.slot)}: ${error.message}`)
      return undefined
    }
  }

  #reject(why: string): void {
    this.#core.diagnose('snapshot-rejected', `the snapshot ${why}; it is not used`)
  }

  /** Counts an event. */
  count(): void {
    this.#newEvents += 1
  }

  /** Starts to write one of what the agent is now, if it is time for that. `closing`: there will be no better moment. */
  writeIfDue(agent: Agent, { offset, lastEvent, cursor }: LogPlace, closing: boolean): void {
    if (!this.#isDue(closing)) return
    const { digest } = agent
    // The report that a stop hook's detour must not lose is content, which a snapshot does not hold.
    if (digest.keepsReport) return
    // A finished child is not opened again.
    if (agent.parent !== undefined && !agent.isRunning) return
    // Behind the last event there may be bytes that are none, until the next one is written.
    if (lastEvent?.to !== offset) return
    const { birth, run } = agent
    this.write({
      agentId: agent.id,
      offset,
      lastEvent: { seq: lastEvent.seq, from: lastEvent.from },
      cursor,
      birth,
      ...resultOf({ state: { birth, run: run?.snapshot }, digest }),
    })
  }

  #isDue(closing: boolean): boolean {
    const { snapshotEvery } = this.#core
    const enough = closing ? Math.ceil(snapshotEvery * WORTH_A_FILE) : snapshotEvery
    return !this.#isOff && this.#writing === undefined && this.#newEvents >= enough
  }

  /** Starts to write one. Its parts must never change again. */
  write(snapshot: Omit<Snapshot, 'program' | 'sessionId'>): void {
    this.#newEvents = 0
    const slot = this.#next
    this.#next = slot === 0 ? 1 : 0
    const paths = { log: this.#log, snapshot: this.#file(slot) }
    const whole = { ...snapshot, program: PROGRAM, sessionId: this.#session.id }
    this.#writing = writeSnapshot(this.#core.storage, paths, whole)
      .catch((error: unknown) => this.#core.diagnose('snapshot-not-written', messageOf(error)))
      .finally(() => {
        this.#writing = undefined
      })
    this.#session.closeAfter(this.#writing)
  }

  /** Makes what is there worthless, and writes none any more. */
  async discard(): Promise<void> {
    this.#isOff = true
    await this.#writing
    try {
      discardSnapshots(this.#core.storage, this.#files)
    } catch (error) {
      this.#core.diagnose('snapshot-not-written', messageOf(error))
    }
  }
}

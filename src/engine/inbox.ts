/** What an agent has to be told: ends of others that it is owed, and messages. A fold of the events of its log. */
import type { AgentEventOf, RunKey, ToldEnd } from '../machines/agent/events.ts'
import { withoutRuns } from '../machines/agent/run-key.ts'
import type { AgentId } from '../machines/ids.ts'

type Message = AgentEventOf<'message.accepted'>

/** An inbox as a value. Fields are absent while they are empty. */
export interface InboxValue {
  readonly owed?: readonly RunKey[] | undefined
  readonly mail?: readonly Message[] | undefined
  /** The last message of each sender. */
  readonly lastMessages?: Readonly<Record<string, string>> | undefined
  /** Who asked for a stop, by the id of the request. */
  readonly stopRequests?: Readonly<Record<string, AgentId>> | undefined
  /** Ends that were taken over, until whoever was owed them is known to have ended. */
  readonly takenOver?: readonly TakenOver[] | undefined
}

/** The end of a run that somebody else was owed before. */
export interface TakenOver {
  readonly child: RunKey
  readonly from: AgentId
}

export class Inbox {
  #owed: readonly RunKey[] = []
  #mail: readonly Message[] = []
  #lastMessages: Readonly<Record<string, string>> = {}
  readonly #stopRequests = new Map<string, AgentId>()
  #takenOver: readonly TakenOver[] = []

  /** The inbox that {@link value} was taken of. */
  static from({
    owed = [],
    mail = [],
    lastMessages = {},
    stopRequests = {},
    takenOver = [],
  }: InboxValue): Inbox {
    const inbox = new Inbox()
    inbox.#owed = owed
    inbox.#mail = mail
    inbox.#lastMessages = lastMessages
    inbox.#takenOver = takenOver
    for (const [id, from] of Object.entries(stopRequests)) inbox.#stopRequests.set(id, from)
    return inbox
  }

  /** Runs in the background whose ends the agent has not been told, oldest first. */
  get owed(): readonly RunKey[] {
    return this.#owed
  }

  /** Messages of other agents that are not in the conversation yet, oldest first. */
  get mail(): readonly Message[] {
    return this.#mail
  }

  /** Requests to stop that stand in the conversation of this run without an answer: who asked, by their ids. */
  get stopRequests(): ReadonlyMap<string, AgentId> {
    return this.#stopRequests
  }

  /** Whether this message came already. Asked only of a sender's last one. */
  has(messageId: string): boolean {
    return this.#lastMessages[senderOf(messageId)] === messageId
  }

  /** Ends that were taken over from that agent, told or not; none when it has come to its end. */
  takenOverFrom(agentId: AgentId): readonly RunKey[] {
    return this.#takenOver.filter(({ from }) => from === agentId).map(({ child }) => child)
  }

  /** The end of a run is owed from now on. `takenFrom`: who was owed it before. */
  owe(run: RunKey, takenFrom?: AgentId): void {
    this.#owed = [...this.#owed, run]
    if (takenFrom !== undefined) this.#takenOver = [...this.#takenOver, { child: run, from: takenFrom }]
  }

  /** Ends are told. Whoever has one has given up in its own log what it was owed. */
  tell(ends: readonly ToldEnd[]): void {
    this.release(ends)
    const hasEnded = (id: AgentId): boolean =>
      ends.some(({ agentId, isLost }) => agentId === id && isLost !== true)
    if (this.#takenOver.length > 0) this.#takenOver = this.#takenOver.filter(({ from }) => !hasEnded(from))
  }

  /** Ends are owed no longer. */
  release(runs: readonly RunKey[]): void {
    if (this.#owed.length > 0) this.#owed = withoutRuns(this.#owed, runs)
  }

  /** A message has come. */
  accept(message: Message): void {
    this.#mail = [...this.#mail, message]
    this.#noteSender(message.messageId)
  }

  /** Messages stand in the conversation now, whether or not they came through here. */
  read(messageIds: readonly string[]): void {
    const isRead = ({ messageId }: Message): boolean => messageIds.includes(messageId)
    const waited = this.#mail.filter(isRead)
    for (const message of waited) this.#noteRequest(message)
    this.#mail = this.#mail.filter((message) => !isRead(message))
    // One that waited is known since it came, and its sender may have sent another since.
    for (const id of messageIds) if (!waited.some(({ messageId }) => messageId === id)) this.#noteSender(id)
  }

  /** Who asks again has asked once: so there is one of each at most. */
  #noteRequest({ messageId, origin, means }: Message): void {
    if (means?.kind !== 'shutdown_request' || origin.from !== 'agent') return
    for (const [id, from] of this.#stopRequests) if (from === origin.agentId) this.#stopRequests.delete(id)
    this.#stopRequests.set(messageId, origin.agentId)
  }

  /** A request to stop is answered. */
  answer(requestId: string): void {
    this.#stopRequests.delete(requestId)
  }

  /** A request to stop was about the run that is over, whether or not it was read. */
  endRun(): void {
    this.#stopRequests.clear()
    if (this.#mail.length > 0)
      this.#mail = this.#mail.filter(({ means }) => means?.kind !== 'shutdown_request')
  }

  #noteSender(messageId: string): void {
    this.#lastMessages = { ...this.#lastMessages, [senderOf(messageId)]: messageId }
  }

  /** As JSON can hold it. */
  value(): {
    owed?: RunKey[]
    mail?: Message[]
    lastMessages?: Record<string, string>
    stopRequests?: Record<string, AgentId>
    takenOver?: TakenOver[]
  } {
    return {
      ...(this.#owed.length > 0 && { owed: [...this.#owed] }),
      ...(this.#mail.length > 0 && { mail: [...this.#mail] }),
      ...(Object.keys(this.#lastMessages).length > 0 && { lastMessages: { ...this.#lastMessages } }),
      ...(this.#stopRequests.size > 0 && { stopRequests: Object.fromEntries(this.#stopRequests) }),
      ...(this.#takenOver.length > 0 && { takenOver: [...this.#takenOver] }),
    }
  }
}

/** The agent that a message is from: its id is a key, `<agent>:<call>`. */
const senderOf = (messageId: string): string => messageId.slice(0, messageId.indexOf(':'))

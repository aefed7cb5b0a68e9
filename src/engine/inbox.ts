/** What an agent has to be told: ends of others that it is owed, and messages. A fold of the events of its log. */
import type { AgentEventOf, RunKey } from '../machines/agent/events.ts'
import { withoutRuns } from '../machines/agent/run-key.ts'

type Message = AgentEventOf<'message.accepted'>

/** An inbox as a value. Fields are absent while they are empty. */
export interface InboxValue {
  readonly owed?: readonly RunKey[] | undefined
  readonly mail?: readonly Message[] | undefined
  /** The last message of each sender. */
  readonly lastMessages?: Readonly<Record<string, string>> | undefined
}

export class Inbox {
  #owed: readonly RunKey[] = []
  #mail: readonly Message[] = []
  #lastMessages: Readonly<Record<string, string>> = {}

  /** The inbox that {@link value} was taken of. */
  static from({ owed = [], mail = [], lastMessages = {} }: InboxValue): Inbox {
    const inbox = new Inbox()
    inbox.#owed = owed
    inbox.#mail = mail
    inbox.#lastMessages = lastMessages
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

  /** Whether this message came already. Asked only of a sender's last one. */
  has(messageId: string): boolean {
    return this.#lastMessages[senderOf(messageId)] === messageId
  }

  /** The end of a run is owed from now on. */
  owe(run: RunKey): void {
    this.#owed = [...this.#owed, run]
  }

  /** Ends are told, or given to somebody else. */
  settle(runs: readonly RunKey[]): void {
    if (this.#owed.length > 0) this.#owed = withoutRuns(this.#owed, runs)
  }

  /** A message has come. */
  accept(message: Message): void {
    this.#mail = [...this.#mail, message]
    this.#noteSender(message.messageId)
  }

  /** Messages stand in the conversation now, whether or not they came through here. */
  read(messageIds: readonly string[]): void {
    this.#mail = this.#mail.filter(({ messageId }) => !messageIds.includes(messageId))
    for (const messageId of messageIds) this.#noteSender(messageId)
  }

  #noteSender(messageId: string): void {
    this.#lastMessages = { ...this.#lastMessages, [senderOf(messageId)]: messageId }
  }

  /** As JSON can hold it. */
  value(): { owed?: RunKey[]; mail?: Message[]; lastMessages?: Record<string, string> } {
    return {
      ...(this.#owed.length > 0 && { owed: [...this.#owed] }),
      ...(this.#mail.length > 0 && { mail: [...this.#mail] }),
      ...(Object.keys(this.#lastMessages).length > 0 && { lastMessages: { ...this.#lastMessages } }),
    }
  }
}

/** The agent that a message is from: its id is a key, `<agent>:<call>`. */
const senderOf = (messageId: string): string => messageId.slice(0, messageId.indexOf(':'))

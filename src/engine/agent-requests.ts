/** The messages of an agent's requests: kept from one to the next, so that a request costs what is new in it. */
import type { RequestMessage } from '../effects/model/model.ts'
import type { Conversation } from '../journal/projections/conversation.ts'
import { inputTokensOf } from '../journal/projections/measure.ts'
import type { RequestMessages } from '../journal/projections/request-messages.ts'
import { createRequestMessages } from '../journal/projections/request-messages.ts'
import type { Agent } from './agent.ts'
import { fixedTokensOf } from './fixed-tokens.ts'

export class AgentRequests {
  readonly #agent: Agent
  #made: { readonly model: string; readonly projection: RequestMessages } | undefined

  constructor(agent: Agent) {
    this.#agent = agent
  }

  /** The messages of the next request to a model. Rejects as `AgentConversation.load` does. */
  async messages(model: string): Promise<readonly RequestMessage[]> {
    const conversation = this.#agent.conversation.loaded ?? (await this.#agent.conversation.load())
    return this.#projectionOf(conversation, model).messages()
  }

  /** Tokens that the next request sends, roughly. Rejects as `AgentConversation.load` does. */
  async inputTokens(): Promise<number> {
    const conversation = this.#agent.conversation.loaded ?? (await this.#agent.conversation.load())
    return inputTokensOf(conversation, () => fixedTokensOf(this.#agent.prepared))
  }

  /** A fork shares what its parent's requests are made of. */
  #projectionOf(conversation: Conversation, model: string): RequestMessages {
    if (this.#made?.model === model) return this.#made.projection
    const parents = this.#agent.parent?.requests.projectionFor(conversation.forkedFrom?.conversation, model)
    const projection = parents?.fork(conversation) ?? createRequestMessages(conversation, model)
    this.#made = { model, projection }
    return projection
  }

  /** What requests to a model are made of, if it is about that conversation. */
  projectionFor(conversation: Conversation | undefined, model: string): RequestMessages | undefined {
    const isSame = conversation !== undefined && conversation === this.#agent.conversation.loaded
    return isSame && this.#made?.model === model ? this.#made.projection : undefined
  }
}

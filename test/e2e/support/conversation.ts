/** What a server of the Messages API sees, and scripts that answer by who is asking. */
import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import type { MessagesBody, ReceivedRequest, ServerAnswer } from '../../helpers/messages-server.ts'
import { turnOf } from '../../helpers/scripts.ts'

/** What one agent says, in the order of its turns; the last answers all further ones. */
export type Turns = readonly (ServerAnswer | string | (() => ServerAnswer | Promise<ServerAnswer>))[]

type Answering = (request: ReceivedRequest) => ServerAnswer | string | Promise<ServerAnswer>

/** Answers each agent by the words that its conversation begins with. */
export function script(agents: Readonly<Record<string, Turns>>): Answering {
  return ({ body }) => {
    const prompt = promptOf(body)
    const turns = Object.entries(agents).find(([beginning]) => prompt.startsWith(beginning))?.[1]
    const said = turns?.[turnOf(body)] ?? turns?.at(-1)
    if (said === undefined) throw new Error(`nobody is called "${prompt}"`)
    return typeof said === 'function' ? said() : said
  }
}

/** The text that a conversation begins with. */
export function promptOf({ messages }: MessagesBody): string {
  const content = messages[0]?.content ?? ''
  if (typeof content === 'string') return content
  return content.map((block) => (typeof block['text'] === 'string' ? block['text'] : '')).join('')
}

/** The requests of the agent whose conversation begins so. */
export const requestsOf = (requests: readonly ReceivedRequest[], beginning: string): MessagesBody[] =>
  requests.map(({ body }) => body).filter((body) => promptOf(body).startsWith(beginning))

/** Names of the tools that a request offers. */
export function toolsOf({ tools }: MessagesBody): string[] {
  // A request without an array of tools makes the test fail that asks for them.
  return (tools as readonly { readonly name: string }[]).map(({ name }) => name)
}

/** The results that the newest message of a request brings, as texts. */
export function resultsIn({ messages }: MessagesBody): string[] {
  const content = messages.at(-1)?.content ?? []
  if (typeof content === 'string') return []
  return content
    .filter((block) => block.type === 'tool_result')
    .map((block) =>
      typeof block['content'] === 'string' ? block['content'] : JSON.stringify(block['content']),
    )
}

/**
 * Everything that the API would refuse in any of the requests, by the number of the request. Cache marks are the
 * sender's and looked at apart: {@link cacheMarksOf}.
 */
export const violations = (requests: readonly ReceivedRequest[]): string[] =>
  requests.flatMap(({ index, body }) => {
    const unmarked: MessagesBody['messages'] = JSON.parse(JSON.stringify(body.messages), (key, value) =>
      key === 'cache_control' ? undefined : value,
    )
    return requestViolations(unmarked).map((violation) => `request ${index}: ${violation}`)
  })

/** Where a request has cache marks, as paths such as `system.0` or `messages.2.content.0`, in their order. */
export function cacheMarksOf(body: MessagesBody): string[] {
  const marks: string[] = []
  const visit = (value: unknown, at: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'cache_control') marks.push(at.join('.'))
      else visit(inner, [...at, name])
    }
  }
  visit({ tools: body['tools'], system: body['system'], messages: body.messages }, [])
  return marks
}

/** Something that several wait for until all of them are there. */
export function meetingOf(count: number): () => Promise<void> {
  let arrived = 0
  let open: () => void = () => {}
  const met = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    arrived += 1
    if (arrived >= count) open()
    return met
  }
}

import { isDeepStrictEqual } from 'node:util'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import type { ContentBlock, PromptContent, RequestMessage } from '../../../src/machines/agent/messages.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import { isBehindFork, parentOfHeir } from './heirs.ts'
import type { Law } from './law.ts'
import { logsOfRequest, nameOfRequest } from './lookups.ts'

/** Law 5, of agents that begin with what another knew. It compares requests with requests: no log is read for it. */
export const FORKS: Law = {
  number: 5,
  name: 'inherited beginnings',
  text: 'What a fork asks its model begins, byte for byte, with the request whose reply made the call: messages, system prompt and tools, whatever has become of its parent, and without its calls. A fork forks nobody, and nobody who has a fork in its conversation does.',
  watch: ({ disk }, broken) => {
    /** The last request of an agent, and the one that was answered with the reply at a place in a log. */
    const asked = new Map<string, ModelRequest>()
    const answered = new Map<string, ModelRequest>()
    const troubleWith = (log: ShadowLog, request: ModelRequest): string | undefined => {
      const { inherits } = log.state.birth ?? {}
      const parent = parentOfHeir(disk.logs, log)
      if (inherits === undefined || parent === undefined) return undefined
      const before = answered.get(`${parent.path} ${inherits.seq}`)
      if (before === undefined)
        return `goes on from line ${inherits.seq} of ${parent.agentId}, which is no reply`
      const other = (['system', 'tools', 'model'] as const).find(
        (part) => !isDeepStrictEqual(request[part], before[part]),
      )
      if (inherits.fork !== undefined && other !== undefined)
        return `has another ${other} than the request that its parent made`
      if (eventsOf(log, 'conversation.compacted').length > 0) return undefined
      const { messages } = before
      const shared = inherits.from === 'all' ? messages : sinceLastPrompt(messages, parent, inherits.seq)
      const trouble = beginsWith(request.messages, shared, eventsOf(log, 'results.cut').length > 0)
      if (trouble !== undefined) return `does not begin with what its parent knew: ${trouble}`
      const own = eventsOf(log, 'reply.received').flatMap(({ calls }) => calls)
      const open = request.messages
        .slice(shared.length)
        .flatMap(blocksOf)
        .find(
          ({ type, id }) =>
            type === 'tool_use' && !own.some(({ toolUseId }) => String(id).startsWith(toolUseId)),
        )
      return open && `has the call ${String(open['id'])}, which is its parent's`
    }
    return {
      onDurable: (log, { event, seq }) => {
        const request = asked.get(log.path)
        if (event.type === 'reply.received' && request !== undefined)
          answered.set(`${log.path} ${seq}`, request)
        if (event.type !== 'agent.spawned' || event.inherits?.fork === undefined) return
        const parent = disk.logs.of(event.parent?.agentId ?? '')
        if (isBehindFork(disk.logs, parent)) broken(`${parent?.agentId} is behind a fork, and forks`)
      },
      onRequest: (seen) => {
        const logs = logsOfRequest(disk.logs, seen)
        if (!seen.isSummary) for (const log of logs) asked.set(log.path, seen.request)
        const troubles = logs.map((log) => troubleWith(log, seen.request))
        if (troubles[0] !== undefined && troubles.every((trouble) => trouble !== undefined))
          broken(`${nameOfRequest(seen)} ${troubles[0]}`)
      },
    }
  },
}

/** The end of a request, from the last prompt on; or from the summary on that was made since. */
function sinceLastPrompt(
  messages: readonly RequestMessage[],
  parent: ShadowLog,
  seq: number,
): readonly RequestMessage[] {
  const before = parent.events.filter((each) => each.seq < seq).map(({ event }) => event)
  const turn = before.slice(before.findLastIndex(({ type }) => type === 'run.started'))
  const [prompt] = turn
  const [said] = prompt?.type === 'run.started' ? blocksOf(prompt) : []
  const isSummedUp = turn.some(({ type }) => type === 'conversation.compacted')
  const isPrompt = (block: ContentBlock): boolean => isDeepStrictEqual(block, said)
  const isSummary = (block: ContentBlock): boolean =>
    String(block['text']).startsWith('<conversation-summary>')
  const isFirst = isSummedUp ? isSummary : isPrompt
  const at = messages.findLastIndex((message) => blocksOf(message).some(isFirst))
  const first = messages[at]
  if (first === undefined) return messages
  const blocks = blocksOf(first)
  const from = blocks.findIndex(isFirst)
  // What stands between the summary and the prompt was said before this turn.
  const goesOnAt = Math.max(from + 1, blocks.findIndex(isPrompt))
  const own = isSummedUp ? [...blocks.slice(from, from + 1), ...blocks.slice(goesOnAt)] : blocks.slice(from)
  return [{ ...first, content: own }, ...messages.slice(at + 1)]
}

/** Why messages do not begin with others; undefined when they do. In the last one of those more may be said. */
function beginsWith(
  messages: readonly RequestMessage[],
  shared: readonly RequestMessage[],
  mayBeCut: boolean,
): string | undefined {
  for (const [i, theirs] of shared.entries()) {
    const ours = messages[i]
    const isLast = i === shared.length - 1
    if (ours?.role !== theirs.role)
      return `message ${i} is ${ours === undefined ? 'not there' : `of the ${ours.role}`}`
    // The first one may have been cut out of a longer one.
    if (i > 0 && !isLast && !mayBeCut) {
      if (!isDeepStrictEqual(ours, theirs)) return `message ${i} is another one`
      continue
    }
    const [mine, yours] = [blocksOf(ours), blocksOf(theirs)]
    if (mine.length < yours.length || (!isLast && mine.length > yours.length))
      return `message ${i} has ${mine.length} blocks of ${yours.length}`
    const other = yours.findIndex(
      (block, at) => !isDeepStrictEqual(mine[at], block) && !(mayBeCut && isCut(mine[at], block)),
    )
    if (other >= 0) return `block ${other} of message ${i} is another one`
  }
  return undefined
}

/** A result that was cut begins as it did. */
function isCut(ours: ContentBlock | undefined, theirs: ContentBlock): boolean {
  const [short, whole] = [ours?.['content'], theirs['content']]
  return (
    ours?.type === 'tool_result' &&
    ours['tool_use_id'] === theirs['tool_use_id'] &&
    typeof short === 'string' &&
    typeof whole === 'string' &&
    short.length < whole.length &&
    short.slice(0, 100) === whole.slice(0, 100)
  )
}

const blocksOf = ({ content }: { readonly content: PromptContent }): readonly ContentBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

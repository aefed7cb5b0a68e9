/**
 * Which lines of a transcript are its conversation.
 *
 * A transcript is a tree by `parentUuid`: a rewind leaves a dead branch, parallel calls hang their results beside
 * each other. Its own program continues from the leaf that was written last and follows the parents up, and so do we.
 * What hangs beside that chain and belongs to it — blocks of the same reply, results of its calls — is put back,
 * because a call without its result would read as interrupted.
 */
import { isToolResult, isToolUse } from '../../machines/agent/messages.ts'
import type { SourceLine } from './source-line.ts'

export interface LiveBranch {
  /** In the order of the file. */
  readonly lines: readonly SourceLine[]
  /** `chain`: by `parentUuid`. `file`: the lines name no parents that are there, so all count. */
  readonly order: 'chain' | 'file'
  /** Lines of the conversation's kind that are not on it: dead branches, what a compaction replaced, sidechains. */
  readonly left: number
}

/** The live branch that ends with `leaf`, or with the leaf that the transcript's own program would choose. */
export function liveBranch(all: readonly SourceLine[], leaf?: string): LiveBranch {
  const isMessage = ({ type }: SourceLine): boolean => type !== 'other'
  // In a sub-agent's file every line is a sidechain's; in any other, such lines are another conversation.
  const isChild = all.filter(isMessage).every(({ isSidechain }) => isSidechain)
  const own = isChild ? all : all.filter(({ isSidechain }) => !isSidechain)
  const messages = own.filter(isMessage)
  const count = all.filter(isMessage).length
  const ids = new Set(own.flatMap(({ id, hasId }) => (hasId ? id : [])))
  const isLinked = own.some(({ hasId, parent }) => hasId && typeof parent === 'string' && ids.has(parent))
  if (!isLinked) {
    const until = leaf === undefined ? messages : upTo(messages, leaf)
    return { lines: until, order: 'file', left: count - until.length }
  }
  const linked = own.filter(({ hasId }) => hasId)
  const end = leaf === undefined ? lastLeaf(linked, isChild) : linked.find(({ id }) => id === leaf)
  const chain = end === undefined ? [] : chainTo(end, linked)
  const lines = [...chain, ...besideChain(chain, linked, leaf !== undefined)]
    .filter(isMessage)
    .toSorted((a, b) => a.index - b.index)
  return { lines, order: 'chain', left: count - lines.length }
}

function upTo(lines: readonly SourceLine[], leaf: string): readonly SourceLine[] {
  return lines.slice(0, lines.findIndex(({ id }) => id === leaf) + 1)
}

/** Of a sub-agent the last message; else of the leaves that people see, the one whose message was written last. */
function lastLeaf(lines: readonly SourceLine[], isChild: boolean): SourceLine | undefined {
  if (isChild) return lines.findLast(({ type }) => type !== 'other')
  const byId = index(lines)
  const named = new Set(lines.map(({ parent }) => parent))
  const ends = lines
    .filter(({ id }) => !named.has(id))
    .flatMap((line) => {
      const end = nearestMessage(line, byId)
      return end === undefined || end.isHidden ? [] : [end]
    })
  return ends.reduce<SourceLine | undefined>(
    (best, end) => (best === undefined || end.index > best.index ? end : best),
    undefined,
  )
}

const index = (lines: readonly SourceLine[]): ReadonlyMap<string, SourceLine> =>
  new Map(lines.map((line) => [line.id, line]))

function nearestMessage(from: SourceLine, byId: ReadonlyMap<string, SourceLine>): SourceLine | undefined {
  return walk(from, byId).find(({ type }) => type !== 'other')
}

const chainTo = (end: SourceLine, lines: readonly SourceLine[]): readonly SourceLine[] =>
  walk(end, index(lines)).toReversed()

/** A line and those above it. A cycle ends where it closes. */
function walk(from: SourceLine, byId: ReadonlyMap<string, SourceLine>): readonly SourceLine[] {
  const seen = new Set<SourceLine>()
  for (
    let line: SourceLine | undefined = from;
    line !== undefined && !seen.has(line);
    line = line.parent == null ? undefined : byId.get(line.parent)
  ) {
    seen.add(line)
  }
  return [...seen]
}

/** Other blocks of the replies on the chain, and results of their calls. Behind a given leaf nothing counts. */
function besideChain(
  chain: readonly SourceLine[],
  lines: readonly SourceLine[],
  isCut: boolean,
): readonly SourceLine[] {
  const onChain = new Set(chain)
  const last = chain.at(-1)?.index ?? -1
  const candidates = lines.filter((line) => !onChain.has(line) && (!isCut || line.index <= last))
  const replies = new Set(chain.flatMap(({ message }) => message?.id ?? []))
  const blocks = candidates.filter(
    ({ type, message }) => type === 'assistant' && message?.id !== undefined && replies.has(message.id),
  )
  const calls = new Set(
    [...chain, ...blocks].flatMap(
      ({ message }) => message?.blocks.filter(isToolUse).map(({ id }) => id) ?? [],
    ),
  )
  const results = candidates.filter(
    ({ type, message }) =>
      type === 'user' &&
      message?.blocks.some((block) => isToolResult(block) && calls.has(block.tool_use_id)) === true &&
      message.blocks.every(isToolResult),
  )
  return [...blocks, ...results]
}

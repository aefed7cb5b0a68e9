/** The lines of a transcript that have a part in its conversation, with the few members that we read. */
import type { ContentBlock } from '../../machines/agent/messages.ts'
import { isObject } from '../line.ts'
import type { ForeignItem } from '../log-items.ts'

/** One line that may be a link of the chain. */
export interface SourceLine {
  /** Its own id, or one made from its place where it has none. */
  readonly id: string
  readonly hasId: boolean
  /** Undefined where the line has no such member. */
  readonly parent: string | null | undefined
  readonly type: 'user' | 'assistant' | 'other'
  /** Its place among the lines of the file, from 0. */
  readonly index: number
  readonly from: number
  readonly to: number
  /** Milliseconds since the epoch; undefined when the line does not say. */
  readonly at: number | undefined
  readonly isSidechain: boolean
  /** Made by a machine, or a team's: no leaf of the conversation. */
  readonly isHidden: boolean
  readonly isSummary: boolean
  readonly isError: boolean
  readonly message: SourceMessage | undefined
  readonly toolUseResult: unknown
  readonly sessionId: string | undefined
  readonly agentId: string | undefined
  readonly cwd: string | undefined
  readonly requestId: string | undefined
}

export interface SourceMessage {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly blocks: readonly ContentBlock[]
  /** The content was one string. */
  readonly isText: boolean
  readonly stopReason: string | undefined
  readonly usage: Readonly<Record<string, unknown>>
}

/** Types of lines that are links of the chain besides user and assistant. */
const LINKS: ReadonlySet<unknown> = new Set(['progress', 'system', 'attachment'])

/** A foreign line, read; undefined for a line that has no part in a conversation. */
export function sourceLine({ line, from, to }: ForeignItem, index: number): SourceLine | undefined {
  const kind = line['type']
  const message = messageOf(line['message'])
  const isMessage = (kind === 'user' || kind === 'assistant') && message !== undefined
  if (!isMessage && !LINKS.has(kind)) return undefined
  const id = text(line['uuid'])
  if (!isMessage && id === undefined) return undefined
  const parent = line['parentUuid']
  const at = Date.parse(String(line['timestamp']))
  return {
    id: id ?? `line-${index}`,
    hasId: id !== undefined,
    parent: parent === null || typeof parent === 'string' ? parent : undefined,
    type: isMessage ? kind : 'other',
    index,
    from,
    to,
    at: Number.isNaN(at) ? undefined : at,
    isSidechain: line['isSidechain'] === true || typeof line['parent_tool_use_id'] === 'string',
    isHidden: line['isMeta'] === true || typeof line['teamName'] === 'string',
    isSummary: line['isCompactSummary'] === true,
    isError: line['isApiErrorMessage'] === true || message?.model === '<synthetic>',
    message: isMessage ? message : undefined,
    toolUseResult: line['toolUseResult'] ?? line['tool_use_result'],
    sessionId: text(line['sessionId']) ?? text(line['session_id']),
    agentId: text(line['agentId']),
    cwd: text(line['cwd']),
    requestId: text(line['requestId']),
  }
}

function messageOf(value: unknown): SourceMessage | undefined {
  if (!isObject(value)) return undefined
  const { content, usage } = value
  const isText = typeof content === 'string'
  if (!isText && !Array.isArray(content)) return undefined
  return {
    id: text(value['id']),
    model: text(value['model']),
    blocks: isText ? [{ type: 'text', text: content }] : content.filter(isBlock),
    isText,
    stopReason: text(value['stop_reason']),
    usage: isObject(usage) ? usage : {},
  }
}

const isBlock = (value: unknown): value is ContentBlock =>
  isObject(value) && typeof value['type'] === 'string'

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/**
 * The lines of a transcript into our events.
 *
 * Owns: what each line says as events, and what has to be added because a transcript does not say it.
 * Does not own: which lines count (`live-branch.ts`), files.
 *
 *   T1  Total: whatever the lines are, events come out that an agent takes one after the other. What cannot be said
 *       is left out and counted by reason.
 *   T2  Deterministic, and each event has the line that it is from: a branch that names that line finds the same
 *       events again, also when the transcript has grown since.
 *   T3  Nothing about the world is made up but what the order of events needs: an agent with unknown permissions, runs
 *       that were prepared somehow (`agent.prepared` names no blobs), ends that follow from the reply before them.
 */
import { accepts, phaseOf } from '../../machines/agent/accepts.ts'
import { endOf } from '../../machines/agent/context.ts'
import type { AgentEventOf, EventDraft, Recorded } from '../../machines/agent/events.ts'
import { MACHINE_VERSION } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { foldAgent, isActive, UNBORN } from '../../machines/agent/fold.ts'
import type {
  ContentBlock,
  PromptContent,
  ToolResultBlock,
  ToolUseBlock,
} from '../../machines/agent/messages.ts'
import { isText, isToolResult, isToolUse, textOf } from '../../machines/agent/messages.ts'
import { AgentId, type BlobHash, type CallId } from '../../machines/ids.ts'
import type { LogCursor, LogIdentity } from '../cursor.ts'
import { START_CURSOR } from '../cursor.ts'
import { encode } from '../encode.ts'
import { isObject } from '../line.ts'
import { replyOf } from './reply.ts'
import type { SourceLine } from './source-line.ts'

/** An event with the line that it is from. */
export interface TranslatedEvent {
  readonly recorded: Recorded
  readonly source: SourceLine
}

export interface Translation {
  readonly events: readonly TranslatedEvent[]
  /** What was left out: how often, by reason. */
  readonly skipped: Readonly<Record<string, number>>
}

/** What nobody knows of a transcript's runs. */
const NO_BLOB = '0'.repeat(64) as BlobHash
const MISSING_PROMPT = '(the beginning of this conversation is missing)'
const NO_PROMPT = 'Go on.'
const UNKNOWN = 'transcript'

/** Translates the lines of one conversation, in order. Without lines there is no agent. */
export function translate(
  lines: readonly SourceLine[],
  identity: LogIdentity,
  birth: AgentEventOf<'agent.spawned'>,
): Translation {
  const events: TranslatedEvent[] = []
  const skipped: Record<string, number> = {}
  let cursor: LogCursor = START_CURSOR
  let state: AgentState = UNBORN
  let source: SourceLine | undefined = lines[0]
  let at = lines.find((line) => line.at !== undefined)?.at ?? 0
  let runStartedAt = at
  let prompts: { readonly line: SourceLine; readonly blocks: readonly ContentBlock[] }[] = []
  /** Calls of the last reply, by the model's own id. */
  let calls = new Map<string, { readonly callId: CallId; readonly block: ToolUseBlock }>()
  const delivered = new Set<string>()

  const skip = (reason: string): void => {
    skipped[reason] = (skipped[reason] ?? 0) + 1
  }

  /** Takes an event, if the agent would. */
  const emit = (draft: EventDraft, ids: readonly string[] = []): boolean => {
    const { run } = state
    if (draft.type !== 'agent.spawned' && draft.type !== 'run.started') {
      if (run === undefined || !accepts(run, draft)) return false
    }
    if (source === undefined) return false
    const next = ids[Symbol.iterator]()
    const id = source.id
    const encoded = encode(identity, cursor, draft, at, () => next.next().value ?? id)
    state = foldAgent(state, encoded.recorded.event)
    cursor = encoded.cursor
    events.push({ recorded: encoded.recorded, source })
    return true
  }

  const phase = () => (state.run !== undefined && isActive(state.run) ? phaseOf(state.run) : 'idle')

  const startRun = (content: PromptContent, from: 'user' | 'engine'): void => {
    endRun()
    runStartedAt = at
    const run = (state.run?.context.run ?? 0) + 1
    emit({ type: 'run.started', run, machine: MACHINE_VERSION, content, origin: { from } })
    emit({ type: 'agent.prepared', system: NO_BLOB, tools: NO_BLOB })
  }

  /** What is said while a run is on has interrupted it; a reply without calls has ended it. */
  const endRun = (): void => {
    if (phase() === 'idle') return
    if (phase() !== 'draining') emit({ type: 'kill.requested', by: 'user', reason: 'interrupted' })
    closeCalls()
    const context = state.run?.context
    if (context !== undefined) emit(endOf(context, Math.max(0, at - runStartedAt)))
  }

  /** No call stays open where the conversation goes on without its result. */
  const closeCalls = (): void => {
    for (const { callId } of state.run?.context.calls ?? []) {
      const id = [...calls].find(([, call]) => call.callId === callId)?.[0] ?? callId
      const content = 'The transcript has no result for this call.'
      emit({
        type: 'call.ended',
        callId,
        outcome: 'interrupted',
        result: { type: 'tool_result', tool_use_id: id, content, is_error: true },
      })
    }
  }

  /** Prompts wait for the reply to them: several in a row are one. */
  const flush = (): void => {
    const waiting = prompts
    prompts = []
    const last = waiting.at(-1)
    if (last === undefined) return
    const here = { source, at }
    source = last.line
    at = last.line.at ?? at
    const [only, ...others] = waiting.flatMap(({ blocks }) => blocks)
    const isOneText = only !== undefined && others.length === 0 && isText(only)
    const from = waiting.every(({ line }) => line.isSummary || line.isHidden) ? 'engine' : 'user'
    if (only !== undefined) startRun(isOneText ? only.text : [only, ...others], from)
    source = here.source
    at = Math.max(here.at, at)
  }

  const hear = (line: SourceLine): void => {
    const blocks = line.message?.blocks ?? []
    const results = blocks.filter(isToolResult)
    for (const result of results) takeResult(result, results.length === 1 ? line.toolUseResult : undefined)
    const said = blocks.filter(
      (block) => !isToolResult(block) && !(isText(block) && block.text.trim() === ''),
    )
    if (said.length === 0) return
    if (line.isHidden && results.length === 0) skip('lines that their program hides')
    else prompts.push({ line, blocks: said })
  }

  const takeResult = (result: ToolResultBlock, structured: unknown): void => {
    const call = calls.get(result.tool_use_id)
    if (call === undefined) {
      skip('results without a call')
      return
    }
    const { callId } = call
    const child = childOf(structured, call.block)
    if (child !== undefined) emit({ type: 'call.started', callId, child })
    const key = child?.agentId
    const tells =
      isObject(structured) && structured['status'] === 'completed' && key !== undefined && !delivered.has(key)
    const isTaken = emit({
      type: 'call.ended',
      callId,
      outcome: result.is_error === true ? 'error' : 'ok',
      result: cleanResult(result),
      ...(structured !== undefined && { toolUseResult: structured }),
      ...(tells && { delivered: { agentId: key, run: 1 } }),
    })
    if (!isTaken) skip('results that came twice')
    else if (tells) delivered.add(key)
  }

  const answer = (parts: readonly SourceLine[]): void => {
    flush()
    if (phase() === 'acting') closeCalls()
    if (phase() === 'idle') startRun(state.run === undefined ? MISSING_PROMPT : NO_PROMPT, 'engine')
    else if (phase() === 'draining') startRun(NO_PROMPT, 'engine')
    const said = replyOf(parts)
    if (parts.some(({ isError }) => isError)) {
      const message = textOf(said.reply.content) || 'the request failed'
      emit({ type: 'request.failed', attempts: 1, fault: { code: UNKNOWN, message, retryable: true } })
      return
    }
    const taken = emit(
      {
        type: 'reply.received',
        reply: said.reply,
        ...(said.requestId !== undefined && { requestId: said.requestId }),
        // They may have run side by side; nothing here shows that they did not.
        concurrencySafe: said.reply.content.map(() => true),
      },
      said.lineIds,
    )
    if (!taken) {
      skip('replies to nothing')
      return
    }
    const last = events.at(-1)?.recorded.event
    const asked = said.reply.content.filter(isToolUse)
    calls = new Map(
      last?.type !== 'reply.received'
        ? []
        : last.calls.flatMap(({ callId, toolUseId }, i) => {
            const block = asked[i]
            return block === undefined ? [] : [[toolUseId, { callId, block }]]
          }),
    )
  }

  if (source !== undefined) emit(birth)
  const done = new Set<SourceLine>()
  for (const line of lines) {
    if (done.has(line)) continue
    const parts = line.type === 'assistant' ? partsOf(line, lines, done) : [line]
    for (const part of parts) done.add(part)
    source = parts.at(-1)
    at = Math.max(at, source?.at ?? at)
    if (line.type === 'assistant') answer(parts)
    else hear(line)
  }
  flush()
  // Who has said the last word is done; anything else may be going on right now.
  if (phase() === 'draining') endRun()
  return { events, skipped }
}

/** The lines of the reply that begins here: one per block, with results in between where calls ran early. */
function partsOf(
  first: SourceLine,
  lines: readonly SourceLine[],
  done: ReadonlySet<SourceLine>,
): readonly SourceLine[] {
  const id = first.message?.id
  if (id === undefined) return [first]
  return lines.filter((line) => line.type === 'assistant' && line.message?.id === id && !done.has(line))
}

function cleanResult({ tool_use_id, content, is_error }: ToolResultBlock): ToolResultBlock {
  const isContent = typeof content === 'string' || Array.isArray(content)
  return {
    type: 'tool_result',
    tool_use_id,
    ...(isContent && { content }),
    ...(typeof is_error === 'boolean' && { is_error }),
  }
}

/** The sub-agent that a call started, as its result names it. */
function childOf(
  structured: unknown,
  { input }: ToolUseBlock,
): AgentEventOf<'call.started'>['child'] | undefined {
  if (!isObject(structured)) return undefined
  const id = AgentId.safeParse(structured['agentId'])
  const { subagent_type, description } = isObject(input) ? input : {}
  if (!id.success || typeof description !== 'string') return undefined
  return {
    agentId: id.data,
    plan: planOf(
      typeof subagent_type === 'string' ? subagent_type : 'general-purpose',
      description,
      undefined,
    ),
  }
}

/** A plan of which the transcript tells the kind only. */
export function planOf(
  agentType: string,
  description: string,
  model: string | undefined,
): AgentEventOf<'agent.spawned'>['plan'] {
  return {
    agentType,
    description,
    model: { value: model ?? 'unknown', rule: UNKNOWN },
    mode: { value: 'default', rule: UNKNOWN },
  }
}

/**
 * `stream-json`: what happens in a session as lines of JSON, of the kinds, in the order and with the field names
 * that users of coding agents know. A projection: facts in, lines out; pure but for its own memory.
 *
 *   J1  The root's words, calls and results are all shown. Of a child one sees what it does (its calls and their
 *       results) and, in the parent's result, what it hands in; words in between stay in its log.
 *   J2  The `uuid` of an `assistant` or `user` line is that of the line in the log.
 *   J3  `parent_tool_use_id` is the `Agent` call that the speaker works for; null for the root.
 *   J4  Each child has one `task_started` before all its lines, and one `task_notification` after each of its
 *       runs, before the result that tells its parent.
 */

import type { PriceList } from '../definitions/prices.ts'
import type { EngineEvent, RunResult } from '../engine/api.ts'
import type { AgentEventOf, Recorded } from '../machines/agent/events.ts'
import { isToolUse, type PromptContent, type Usage } from '../machines/agent/messages.ts'
import { describeCall } from './describe-call.ts'
import { tokensOf } from './format.ts'
import { type ResultLine, resultLine } from './result-line.ts'
import { createStreamEvents, type StreamEvent, type StreamEvents } from './stream-events.ts'

/** One line, before it becomes text. */
type StreamJsonLine = InitLine | TaskLine | CompactLine | MessageLine | StreamEventLine | ResultLine

interface InitLine {
  readonly type: 'system'
  readonly subtype: 'init'
  readonly cwd: string
  readonly session_id: string
  readonly tools: readonly string[]
  readonly mcp_servers: readonly never[]
  readonly model: string
  readonly permissionMode: string
  readonly slash_commands: readonly never[]
  readonly apiKeySource: string
  readonly troupe_version: string
  readonly agents: readonly string[]
  readonly uuid: string
}

/** The life of a child, seen from its parent's call. `usage.total_tokens` is that of its last request. */
interface TaskLine {
  readonly type: 'system'
  readonly subtype: 'task_started' | 'task_progress' | 'task_notification'
  readonly task_id: string
  readonly tool_use_id: string
  readonly uuid: string
  readonly session_id: string
  readonly [field: string]: unknown
}

/** The root's conversation so far is summed up from here on. */
interface CompactLine {
  readonly type: 'system'
  readonly subtype: 'compact_boundary'
  readonly session_id: string
  readonly uuid: string
  readonly compact_metadata: { readonly trigger: string; readonly pre_tokens: number }
}

/** Something said: by a model (`assistant`, one content block a line) or to it (`user`). */
interface MessageLine {
  readonly type: 'assistant' | 'user'
  readonly message: Readonly<Record<string, unknown>>
  readonly parent_tool_use_id: string | null
  readonly session_id: string
  readonly uuid: string
  /** ISO 8601; `user` lines only. */
  readonly timestamp?: string
  /** The structured output of a tool. */
  readonly tool_use_result?: unknown
}

interface StreamEventLine {
  readonly type: 'stream_event'
  readonly event: StreamEvent
  readonly session_id: string
  readonly parent_tool_use_id: null
  readonly uuid: string
}

/** What the lines say that no event does. */
export interface StreamJsonOptions {
  readonly cwd: string
  readonly tools: readonly string[]
  readonly agents: readonly string[]
  /** Until the root's own birth says what it was routed to. */
  readonly model: string
  readonly permissionMode: string
  readonly apiKeySource: string
  readonly version: string
  /** Also `stream_event` lines, of the root's replies. */
  readonly partial: boolean
  readonly prices: PriceList
  /** `max_tokens` of the requests. */
  readonly maxOutputTokens: number
  readonly uuid: () => string
}

export interface StreamJson {
  /** The lines that an event makes. Events that happened before (a resumed session) prepare it: drop their lines. */
  event(event: EngineEvent): readonly StreamJsonLine[]
  /** The last line of a run. */
  result(result: RunResult): ResultLine
}

interface Speaker {
  readonly agentId: string
  /** Undefined for the root. */
  readonly task: { readonly toolUseId: string; readonly description: string } | undefined
  readonly model: string
  readonly streamEvents: StreamEvents
  runStartedAt: number
  toolUses: number
  usage: Usage
}

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0 }

/** A projection for one session. */
export function createStreamJson(options: StreamJsonOptions): StreamJson {
  const speakers = new Map<string, Speaker>()
  /** The root's own requests, from the end of its last run. */
  let ownUsage: Usage | undefined

  const speakerOf = (agentId: string, birth?: AgentEventOf<'agent.spawned'>): Speaker => {
    const known = speakers.get(agentId)
    if (known !== undefined) return known
    const model = birth?.plan.model.value ?? options.model
    const speaker: Speaker = {
      agentId,
      task: taskOf(agentId, birth, speakers.size === 0),
      model,
      streamEvents: createStreamEvents({ model, messageId: () => `msg_${options.uuid()}` }),
      runStartedAt: 0,
      toolUses: 0,
      usage: NO_USAGE,
    }
    speakers.set(agentId, speaker)
    return speaker
  }

  const streamLine = (sessionId: string, event: StreamEvent): StreamEventLine => ({
    type: 'stream_event',
    event,
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid: options.uuid(),
  })

  const factLines = (
    sessionId: string,
    speaker: Speaker,
    { event, at, lines }: Recorded,
  ): StreamJsonLine[] => {
    const parent = speaker.task?.toolUseId ?? null
    const lineId = (i: number): string => lines[i] ?? options.uuid()
    const message = (
      type: 'assistant' | 'user',
      content: MessageLine['message'],
      uuid: string,
    ): MessageLine => ({
      type,
      message: content,
      parent_tool_use_id: parent,
      session_id: sessionId,
      uuid,
      ...(type === 'user' && { timestamp: new Date(at).toISOString() }),
    })
    const task = (subtype: TaskLine['subtype'], fields: Readonly<Record<string, unknown>>): TaskLine[] =>
      speaker.task === undefined
        ? []
        : [
            {
              type: 'system',
              subtype,
              task_id: speaker.agentId,
              tool_use_id: speaker.task.toolUseId,
              ...fields,
              uuid: options.uuid(),
              session_id: sessionId,
            },
          ]
    const usageSoFar = (durationMs: number) => ({
      total_tokens: tokensOf(speaker.usage),
      tool_uses: speaker.toolUses,
      duration_ms: durationMs,
    })

    switch (event.type) {
      case 'run.started': {
        speaker.runStartedAt = at
        speaker.toolUses = 0
        speaker.usage = NO_USAGE
        if (speaker.task === undefined) return [initLine(sessionId, speaker, options)]
        const started = {
          description: speaker.task.description,
          task_type: 'local_agent',
          prompt: textOf(event.content),
        }
        return [
          ...(event.run === 1 ? task('task_started', started) : []),
          message('user', { role: 'user', content: blocksOf(event.content) }, lineId(0)),
        ]
      }
      case 'run.resumed':
        return speaker.task === undefined ? [initLine(sessionId, speaker, options)] : []
      case 'reply.received': {
        const { content, ...rest } = event.reply
        speaker.usage = event.reply.usage
        speaker.toolUses += event.calls.length
        const lastCall = content.filter(isToolUse).at(-1)
        const progress =
          lastCall === undefined
            ? []
            : task('task_progress', {
                description: describeCall(lastCall.name, lastCall.input, options.cwd),
                usage: usageSoFar(at - speaker.runStartedAt),
                last_tool_name: lastCall.name,
              })
        const said = content.flatMap((block, i) => {
          if (speaker.task !== undefined && !isToolUse(block)) return []
          // The reply is known to be whole with its last block; only that one says why it stopped.
          const stop = i === content.length - 1 ? rest.stop_reason : null
          const { id, role, model, stop_reason: _, stop_sequence, usage, ...more } = rest
          const body = {
            id,
            type: 'message',
            role,
            model,
            content: [block],
            stop_reason: stop,
            stop_sequence,
            usage,
          }
          return [message('assistant', { ...body, ...more }, lineId(i))]
        })
        return [
          ...progress,
          ...speaker.streamEvents.end(event.reply).map((part) => streamLine(sessionId, part)),
          ...said,
        ]
      }
      case 'conversation.compacted':
        if (speaker.task !== undefined) return []
        return [
          {
            type: 'system',
            subtype: 'compact_boundary',
            session_id: sessionId,
            uuid: lineId(0),
            compact_metadata: { trigger: event.trigger, pre_tokens: event.tokens },
          },
        ]
      case 'call.ended':
        return [
          {
            ...message('user', { role: 'user', content: [event.result] }, lineId(0)),
            ...(event.toolUseResult !== undefined && { tool_use_result: event.toolUseResult }),
          },
        ]
      case 'progress.summarised':
        if (speaker.task === undefined || event.text === '') return []
        return task('task_progress', {
          description: event.text,
          usage: usageSoFar(at - speaker.runStartedAt),
        })
      case 'agent.ended':
        if (speaker.task === undefined) ownUsage = event.totalUsage
        return task('task_notification', {
          status: event.status === 'killed' ? 'stopped' : event.status,
          // A child that its parent waits for has no output file.
          output_file: '',
          summary: speaker.task?.description ?? '',
          usage: usageSoFar(event.durationMs),
        })
      case 'child.launched':
      case 'child.released':
      case 'message.accepted':
      case 'name.registered':
      case 'agent.spawned':
      case 'agent.prepared':
      case 'agent.diagnosed':
      case 'agent.faulted':
      case 'agent.backgrounded':
      case 'request.failed':
      case 'hook.started':
      case 'hook.process_started':
      case 'hook.ended':
      case 'run.drained':
      case 'stop.blocked':
      case 'review.requested':
      case 'review.ended':
      case 'call.classified':
      case 'approval.requested':
      case 'approval.answered':
      case 'question.asked':
      case 'question.answered':
      case 'mode.changed':
      case 'permission.granted':
      case 'call.started':
      // What the engine adds is in the log (`isMeta`); who reads a stream wants what was said and done.
      case 'message.added':
      case 'process.started':
      case 'budget.refused':
      case 'budget.warned':
      case 'time.expired':
      case 'model.changed':
      case 'context.exceeded':
      case 'results.cut':
      case 'compaction.failed':
      case 'report.accepted':
      case 'report.rejected':
      case 'worktree.requested':
      case 'worktree.created':
      case 'worktree.decided':
      case 'worktree.removed':
      case 'worktree.left':
      case 'servers.requested':
      case 'server.started':
      case 'kill.requested':
      case 'run.suspended':
        return []
    }
  }

  return {
    event(event) {
      switch (event.kind) {
        case 'fact': {
          const birth = event.event.type === 'agent.spawned' ? event.event : undefined
          return factLines(event.sessionId, speakerOf(event.agentId, birth), event)
        }
        case 'delta': {
          const speaker = speakerOf(event.agentId)
          if (!options.partial || speaker.task !== undefined) return []
          return speaker.streamEvents.delta(event.delta).map((part) => streamLine(event.sessionId, part))
        }
        case 'approval':
        case 'question':
        case 'late':
        case 'diagnostic':
          return []
      }
    },
    result(result) {
      return resultLine(result, {
        uuid: options.uuid(),
        ownUsage: ownUsage ?? result.totalUsage,
        prices: options.prices,
        maxOutputTokens: options.maxOutputTokens,
      })
    },
  }
}

/** What an agent works on. The first agent that is seen is the root unless its birth says otherwise. */
function taskOf(
  agentId: string,
  birth: AgentEventOf<'agent.spawned'> | undefined,
  isFirst: boolean,
): Speaker['task'] {
  if (birth !== undefined) {
    return birth.parent && { toolUseId: birth.parent.toolUseId, description: birth.plan.description }
  }
  // A child whose birth was never shown still must not speak as the root.
  return isFirst ? undefined : { toolUseId: agentId, description: '' }
}

function initLine(sessionId: string, root: Speaker, options: StreamJsonOptions): InitLine {
  return {
    type: 'system',
    subtype: 'init',
    cwd: options.cwd,
    session_id: sessionId,
    tools: options.tools,
    mcp_servers: [],
    model: root.model,
    permissionMode: options.permissionMode,
    slash_commands: [],
    apiKeySource: options.apiKeySource,
    troupe_version: options.version,
    agents: options.agents,
    uuid: options.uuid(),
  }
}

const blocksOf = (content: PromptContent): unknown =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

const textOf = (content: PromptContent): string =>
  typeof content === 'string'
    ? content
    : content
        .map((block) => (typeof block['text'] === 'string' ? block['text'] : `[${block.type}]`))
        .join('\n')

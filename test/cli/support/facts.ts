/** Facts of a session as an engine would publish them: a test says what happens, places and times follow. */
import type { EngineEvent } from '../../../src/engine/api.ts'
import type { AgentEvent, AgentEventOf, Outcome, Recorded } from '../../../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../../../src/machines/agent/events.ts'
import type { ContentBlock, ResultContent, Usage } from '../../../src/machines/agent/messages.ts'
import { isToolUse } from '../../../src/machines/agent/messages.ts'
import { AgentId, BlobHash, callId, SessionId } from '../../../src/machines/ids.ts'

export type Fact = Extract<EngineEvent, { kind: 'fact' }>

export const SESSION = SessionId.parse('07679179-209e-4c95-b197-520c21888d85')
export const ROOT = AgentId.parse('a0000000000000001')
export const CHILD = AgentId.parse('a15691254c34be789')
export const USAGE: Usage = {
  input_tokens: 100,
  output_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })
export const toolUse = (id: string, name: string, input: unknown): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})

/** An agent whose story is told. */
export interface Told {
  readonly agentId: AgentId
  /** Everything told so far, as its log has it. */
  readonly log: readonly Recorded[]
  spawned(
    more?: Partial<AgentEventOf<'agent.spawned'>> & { type?: never; description?: string; kind?: string },
  ): Fact
  started(content: string, more?: { run?: number; lines?: string[] }): Fact
  prepared(): Fact
  replies(
    content: readonly ContentBlock[],
    more?: { lines?: string[]; id?: string; usage?: Usage; model?: string },
  ): Fact
  /** The call of the latest reply with this `tool_use` id. */
  starts(toolUseId: string, child?: AgentId): Fact
  gets(
    toolUseId: string,
    content: ResultContent,
    more?: {
      lines?: string[]
      outcome?: 'ok' | 'error' | 'denied'
      structured?: unknown
      delivered?: AgentId
      isError?: boolean
    },
  ): Fact
  ends(outcome?: Outcome): Fact
  event(event: AgentEvent, lines?: string[]): Fact
}

export interface Teller {
  agent(agentId: AgentId): Told
  /** Milliseconds between two facts. */
  readonly step: number
  /** Moves the time of the next fact. */
  wait(ms: number): void
}

/** Tells one session. Each fact is `step` milliseconds after the one before. */
export function createTeller(start = Date.UTC(2026, 10, 30, 12, 0, 0), step = 10): Teller {
  let now = start
  let ids = 0
  const lineId = (): string => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`
  return {
    step,
    wait: (ms) => {
      now += ms
    },
    agent(agentId) {
      const log: Recorded[] = []
      let seq = 0
      let run = 1
      let turns = 0
      let toolUses = 0
      let totalUsage: Usage = { input_tokens: 0, output_tokens: 0 }
      let lastUsage: Usage = totalUsage
      let lastReply: AgentEventOf<'reply.received'> | undefined
      const record = (event: AgentEvent, lines: readonly string[] = []): Fact => {
        now += step
        const recorded: Recorded = { seq, at: now, event, lines }
        seq += Math.max(1, lines.length)
        log.push(recorded)
        return { kind: 'fact', sessionId: SESSION, agentId, ...recorded }
      }
      const callOf = (toolUseId: string) => {
        const call = lastReply?.calls.find((candidate) => candidate.toolUseId === toolUseId)
        if (call === undefined) throw new Error(`the story has no call ${toolUseId}`)
        return call.callId
      }
      return {
        agentId,
        log,
        event: record,
        spawned: ({ description = 'the session', kind = 'main', ...more } = {}) =>
          record({
            type: 'agent.spawned',
            agentId,
            depth: more.parent === undefined ? 0 : 1,
            plan: {
              agentType: kind,
              description,
              model: { value: 'claude-sonnet-4-6', rule: 'default' },
              mode: { value: 'acceptEdits', rule: 'default' },
            },
            ...more,
          }),
        started: (content, more = {}) => {
          run = more.run ?? run
          turns = 0
          toolUses = 0
          totalUsage = { input_tokens: 0, output_tokens: 0 }
          return record(
            { type: 'run.started', run, machine: MACHINE_VERSION, content, origin: { from: 'user' } },
            more.lines ?? [lineId()],
          )
        },
        prepared: () =>
          record({
            type: 'agent.prepared',
            system: BlobHash.parse('0'.repeat(64)),
            tools: BlobHash.parse('1'.repeat(64)),
          }),
        replies: (content, { lines, id = `msg_${seq}`, usage = USAGE, model = 'claude-sonnet-4-6' } = {}) => {
          const calls = content.flatMap((block, i) =>
            isToolUse(block)
              ? [
                  {
                    callId: callId(run, seq + i, 0),
                    toolUseId: block.id,
                    name: block.name,
                    concurrencySafe: true,
                  },
                ]
              : [],
          )
          turns += 1
          toolUses += calls.length
          lastUsage = usage
          totalUsage = {
            input_tokens: totalUsage.input_tokens + usage.input_tokens,
            output_tokens: totalUsage.output_tokens + usage.output_tokens,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
          }
          const reply = {
            id,
            type: 'message' as const,
            role: 'assistant' as const,
            model,
            content: [...content],
            stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
            stop_sequence: null,
            usage,
          }
          lastReply = { type: 'reply.received', reply, seq, calls }
          return record(lastReply, lines ?? content.map(lineId))
        },
        starts: (toolUseId, child) =>
          record({
            type: 'call.started',
            callId: callOf(toolUseId),
            ...(child !== undefined && {
              child: {
                agentId: child,
                plan: {
                  agentType: 'Explore',
                  description: 'list files',
                  model: { value: 'claude-sonnet-4-6', rule: 'parent' },
                  mode: { value: 'acceptEdits', rule: 'parent' },
                },
              },
            }),
          }),
        gets: (toolUseId, content, { lines, outcome = 'ok', structured, delivered, isError } = {}) =>
          record(
            {
              type: 'call.ended',
              callId: callOf(toolUseId),
              outcome,
              result: {
                type: 'tool_result',
                tool_use_id: toolUseId,
                content,
                ...(isError !== undefined && { is_error: isError }),
              },
              ...(structured !== undefined && { toolUseResult: structured }),
              ...(delivered !== undefined && { delivered: { agentId: delivered, run: 1 } }),
            },
            lines ?? [lineId()],
          ),
        ends: (outcome = { kind: 'completed' }) =>
          record({
            type: 'agent.ended',
            run,
            status: outcome.kind === 'failed' || outcome.kind === 'killed' ? outcome.kind : 'completed',
            outcome,
            turns,
            toolUses,
            usage: lastUsage,
            totalUsage,
            durationMs: 1500,
          }),
      }
    },
  }
}

/** A root that has one child list the files: the smallest session with delegation in it. */
export function delegation(teller: Teller = createTeller()): { facts: Fact[]; root: Told; child: Told } {
  const root = teller.agent(ROOT)
  const child = teller.agent(CHILD)
  const facts = [
    root.spawned(),
    root.started('what is here?'),
    root.prepared(),
    root.replies([
      text('I ask.'),
      toolUse('toolu_1', 'Agent', {
        description: 'list files',
        prompt: 'list the files',
        subagent_type: 'Explore',
      }),
    ]),
    root.starts('toolu_1', CHILD),
    child.spawned({
      kind: 'Explore',
      description: 'list files',
      parent: { agentId: ROOT, callId: callId(1, 4, 0), toolUseId: 'toolu_1' },
    }),
    child.started('list the files'),
    child.prepared(),
    child.replies([toolUse('toolu_2', 'Bash', { command: 'ls', description: 'list' })]),
    child.starts('toolu_2'),
    child.gets('toolu_2', 'README.md\na.txt', { isError: false }),
    child.replies([text('README.md and a.txt')]),
    child.ends(),
    root.gets('toolu_1', [text('README.md and a.txt')], {
      structured: { status: 'completed' },
      delivered: CHILD,
    }),
    root.replies([text('There are two files.')]),
    root.ends(),
  ]
  return { facts, root, child }
}

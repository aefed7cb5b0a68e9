import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createStreamJson, type StreamJson, type StreamJsonOptions } from '../../src/cli/stream-json.ts'
import { listPrices } from '../../src/definitions/prices.ts'
import type { EngineEvent } from '../../src/engine/api.ts'
import { AgentId, callId } from '../../src/machines/ids.ts'
import { CHILD, createTeller, delegation, ROOT, SESSION, text, toolUse } from './support/facts.ts'
import { resultOf } from './support/fake-engine.ts'

type Line = Readonly<Record<string, unknown>>

const OPTIONS: StreamJsonOptions = {
  cwd: '/project',
  tools: ['Agent', 'Bash'],
  agents: ['Explore'],
  model: 'sonnet',
  permissionMode: 'acceptEdits',
  apiKeySource: 'ANTHROPIC_API_KEY',
  version: '1.2.3',
  partial: false,
  prices: listPrices,
  maxOutputTokens: 32_000,
  uuid: counter(),
}

function counter(): () => string {
  let count = 0
  return () => `uuid-${++count}`
}

const projection = (more: Partial<StreamJsonOptions> = {}): StreamJson =>
  createStreamJson({ ...OPTIONS, ...more })

/** Lines as their readers get them. */
const linesOf = (stream: StreamJson, events: readonly EngineEvent[]): Line[] =>
  events.flatMap((event) => stream.event(event)).map((line) => JSON.parse(JSON.stringify(line)))

/** `assistant of child`, `system/init`, … */
const kindOf = (line: Line): string =>
  `${[line['type'], line['subtype']].filter(Boolean).join('/')}${line['parent_tool_use_id'] ? ' of child' : ''}`

describe('the lines of a session with a child', () => {
  const lines = linesOf(projection(), delegation().facts)

  it('come in the order in which it happened', () => {
    expect(lines.map(kindOf)).toEqual([
      'system/init',
      'assistant',
      'assistant',
      'system/task_started',
      'user of child',
      'system/task_progress',
      'assistant of child',
      'user of child',
      'system/task_notification',
      'user',
      'assistant',
    ])
  })

  it('have one content block per assistant line, and only the last says why the reply stopped', () => {
    const [first, second] = lines.filter((line) => line['type'] === 'assistant')
    expect(first).toMatchObject({
      message: { content: [{ type: 'text', text: 'I ask.' }], stop_reason: null },
    })
    expect(second).toMatchObject({ message: { content: [{ name: 'Agent' }], stop_reason: 'tool_use' } })
  })

  it('carry the ids of the lines in the log', () => {
    const { facts } = delegation()
    const inLog = new Set(facts.flatMap((fact) => fact.lines))
    const said = lines.filter((line) => line['type'] === 'assistant' || line['type'] === 'user')
    expect(said.every((line) => inLog.has(String(line['uuid'])))).toBe(true)
  })

  it("name the parent's call on all that belongs to the child", () => {
    const tasks = lines.filter((line) => String(line['subtype']).startsWith('task_'))
    expect(tasks.map((line) => [line['task_id'], line['tool_use_id']])).toEqual(
      tasks.map(() => [CHILD, 'toolu_1']),
    )
    expect(lines.find((line) => kindOf(line) === 'user of child')).toMatchObject({
      parent_tool_use_id: 'toolu_1',
    })
  })

  it('count tokens, tools and time of the child', () => {
    expect(lines.find((line) => line['subtype'] === 'task_progress')).toMatchObject({
      last_tool_name: 'Bash',
      description: 'Bash ls',
      usage: { total_tokens: 120, tool_uses: 1, duration_ms: 20 },
    })
    expect(lines.find((line) => line['subtype'] === 'task_notification')).toMatchObject({
      status: 'completed',
      usage: { total_tokens: 120, tool_uses: 1, duration_ms: 1500 },
    })
  })

  it('give the structured result of a tool beside the one for the model', () => {
    expect(lines.find((line) => kindOf(line) === 'user')).toMatchObject({
      tool_use_result: { status: 'completed' },
    })
  })
})

describe('a child', () => {
  it.each([
    [{ kind: 'failed' as const, fault: { code: 'x', message: 'y', retryable: false } }, 'failed'],
    [{ kind: 'killed' as const, by: 'user' }, 'stopped'],
    [{ kind: 'limit' as const, limit: 'turns' as const }, 'completed'],
  ])('that ends as %j is notified as %s', (outcome, status) => {
    const { facts, child } = delegation()
    const upToEnd = facts.slice(0, 12)
    const lines = linesOf(projection(), [...upToEnd, child.ends(outcome)])
    expect(lines.at(-1)).toMatchObject({ subtype: 'task_notification', status })
  })

  it('is started once, and notified after each of its runs', () => {
    const { facts, child } = delegation()
    const again = [child.started('and more?', { run: 2 }), child.replies([text('no')]), child.ends()]
    const lines = linesOf(projection(), [...facts, ...again])
    const count = (subtype: string) => lines.filter((line) => line['subtype'] === subtype).length
    expect([count('task_started'), count('task_notification')]).toEqual([1, 2])
  })

  it('of a child speaks for the call that started it', () => {
    const { facts } = delegation()
    const grandchild = createTeller().agent(AgentId.parse('a00000000000000ff'))
    const lines = linesOf(projection(), [
      ...facts.slice(0, 10),
      grandchild.spawned({
        kind: 'Explore',
        description: 'deeper',
        parent: { agentId: CHILD, callId: callId(1, 3, 0), toolUseId: 'toolu_deep' },
      }),
      grandchild.started('deeper'),
    ])
    expect(lines.at(-1)).toMatchObject({ type: 'user', parent_tool_use_id: 'toolu_deep' })
  })
})

describe('a resumed session', () => {
  it('goes on with the children that it had, after a new init line', () => {
    const { facts, root, child } = delegation()
    const stream = projection()
    for (const fact of facts.slice(0, 8)) stream.event(fact)
    const resumed = [root, child].map((agent) => agent.event({ type: 'run.resumed' }))
    const lines = linesOf(stream, [...resumed, ...facts.slice(8)])
    expect(lines.map(kindOf).slice(0, 3)).toEqual([
      'system/init',
      'system/task_progress',
      'assistant of child',
    ])
    expect(lines[1]).toMatchObject({ tool_use_id: 'toolu_1' })
  })

  it('tells what a child says it is at as its progress; an empty line, and one of the root, as nothing', () => {
    const stream = projection()
    const { facts, root, child } = delegation()
    linesOf(stream, facts.slice(0, 9))
    const line = (text: string) => ({
      type: 'progress.summarised' as const,
      text,
      modelUsage: { haiku: { input_tokens: 30, output_tokens: 2 } },
    })
    const said = [child.event(line('counting the files')), child.event(line('')), root.event(line('I lead'))]
    expect(linesOf(stream, said)).toMatchObject([
      { subtype: 'task_progress', task_id: CHILD, tool_use_id: 'toolu_1', description: 'counting the files' },
    ])
  })

  it('never lets a child that it knows nothing of speak as the root', () => {
    const { facts } = delegation()
    const unknown = facts.filter((fact) => fact.event.type !== 'agent.spawned')
    const said = linesOf(projection(), unknown).filter((line) => line['parent_tool_use_id'] !== null)
    expect(said.filter((line) => line['type'] === 'assistant')).toHaveLength(1)
  })
})

describe('partial messages', () => {
  const delta = (
    agentId: AgentId,
    change: Extract<EngineEvent, { kind: 'delta' }>['delta'],
  ): EngineEvent => ({
    kind: 'delta',
    sessionId: SESSION,
    agentId,
    delta: change,
  })

  it("are stream events of the root's replies", () => {
    const { facts } = delegation()
    const stream = projection({ partial: true })
    linesOf(stream, facts.slice(0, 1))
    const lines = linesOf(stream, [
      delta(ROOT, { type: 'text', index: 0, text: 'I ' }),
      delta(CHILD, { type: 'text', index: 0, text: 'not shown' }),
    ])
    expect(lines.map((line) => line['event'])).toMatchObject([
      { type: 'message_start', message: { model: 'claude-sonnet-4-6' } },
      { type: 'content_block_start' },
      { type: 'content_block_delta', delta: { text: 'I ' } },
    ])
  })

  it('end before the lines of the reply that they were', () => {
    const { facts } = delegation()
    const stream = projection({ partial: true })
    linesOf(stream, [...facts.slice(0, 3), delta(ROOT, { type: 'text', index: 0, text: 'I ask.' })])
    const lines = linesOf(stream, facts.slice(3, 4))
    expect(
      lines.map((line) => [line['type'], (line['event'] as { type?: string } | undefined)?.type]),
    ).toEqual([
      ['stream_event', 'content_block_stop'],
      ['stream_event', 'message_delta'],
      ['stream_event', 'message_stop'],
      ['assistant', undefined],
      ['assistant', undefined],
    ])
  })

  it('are left out unless they are asked for', () => {
    expect(projection().event(delta(ROOT, { type: 'text', index: 0, text: 'I ' }))).toEqual([])
  })
})

describe('the result line', () => {
  it('sums what models cost, and has the usage of the root alone', () => {
    const stream = projection()
    for (const fact of delegation().facts) stream.event(fact)
    const line = stream.result(
      resultOf({
        modelUsage: {
          'claude-sonnet-4-6': { input_tokens: 1_000_000, output_tokens: 100_000 },
          'somebody-elses-model': { input_tokens: 5, output_tokens: 5 },
        },
      }),
    )
    expect(line.usage).toMatchObject({ input_tokens: 200, output_tokens: 40 })
    expect(line.total_cost_usd).toBeCloseTo(4.5)
    expect(line.modelUsage['somebody-elses-model']).toMatchObject({ costUSD: 0, inputTokens: 5 })
  })

  it.each([
    [{ kind: 'completed' as const }, 'success', undefined],
    [{ kind: 'partial' as const }, 'success', undefined],
    [{ kind: 'no_report' as const }, 'success', undefined],
    [
      { kind: 'limit' as const, limit: 'turns' as const },
      'error_max_turns',
      'the limit of turns was reached after 2 turns',
    ],
    [
      { kind: 'limit' as const, limit: 'money' as const },
      'error_max_budget_usd',
      'the limit of money was reached after 2 turns',
    ],
    [
      { kind: 'limit' as const, limit: 'time' as const },
      'error_during_execution',
      'the limit of time was reached after 2 turns',
    ],
    [
      { kind: 'failed' as const, fault: { code: 'overloaded', message: 'too busy', retryable: true } },
      'error_during_execution',
      'too busy (overloaded)',
    ],
    [
      { kind: 'killed' as const, by: 'user', reason: 'enough' },
      'error_during_execution',
      'killed by user: enough',
    ],
  ])('says of %j that it is %s', (outcome, subtype, error) => {
    const line = projection().result(resultOf({ outcome }))
    expect(line.subtype).toBe(subtype)
    expect(line.is_error).toBe(subtype !== 'success')
    expect(line.errors?.[0]).toBe(error)
  })

  it('names the calls that were refused', () => {
    const denials = [
      {
        agentId: CHILD,
        callId: callId(1, 3, 0),
        toolName: 'Bash',
        toolUseId: 't',
        toolInput: { command: 'rm' },
        reason: 'rule',
      },
    ]
    expect(projection().result(resultOf({ denials })).permission_denials).toEqual([
      { tool_name: 'Bash', tool_use_id: 't', tool_input: { command: 'rm' } },
    ])
  })
})

const corpus = process.env['TROUPE_CORPUS'] ?? resolve(import.meta.dirname, '../../../shared/corpus')
const recorded = resolve(corpus, 'transcripts/claude-code-2.1.92/foreground/stdout.jsonl')

describe.skipIf(!existsSync(recorded))(
  `beside the lines of the program that users know (${recorded})`,
  () => {
    const theirs: Line[] = existsSync(recorded)
      ? readFileSync(recorded, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
    const stream = projection()
    const ours: Line[] = [
      ...linesOf(stream, sameScenario()),
      JSON.parse(JSON.stringify(stream.result(resultOf()))),
    ]

    /** Fields that only they have, by the path of the field, and why we do not. */
    const THEIRS_ONLY: Readonly<Record<string, string>> = {
      'system/init.claude_code_version': 'ours is troupe_version',
      'system/init.output_style': 'we have no output styles',
      'system/init.skills': 'skills come with a later part',
      'system/init.plugins': 'plugins come with a later part',
      'system/init.fast_mode_state': 'a mode of their service',
      'result/success.fast_mode_state': 'a mode of their service',
      'result/success.terminal_reason': 'the subtype says it',
      'assistant.message.context_management': 'passed on when the server sends it; this reply had none',
      'assistant of child.message.context_management':
        'passed on when the server sends it; this reply had none',
      'result/success.usage.server_tool_use':
        'the sums of the engine are the four counts that every server reports',
      'result/success.usage.service_tier': 'not a count',
      'result/success.usage.cache_creation':
        'the sums of the engine are the four counts that every server reports',
      'result/success.usage.inference_geo': 'not a count',
      'result/success.usage.iterations': 'not a count',
      'result/success.usage.speed': 'not a count',
    }
    /** Fields that only we have. */
    const OURS_ONLY: Readonly<Record<string, string>> = {
      'system/init.troupe_version': 'theirs is claude_code_version',
    }

    it('has the same kinds in the same order', () => {
      expect(ours.map(kindOf)).toEqual(theirs.map(kindOf))
    })

    it('has the same fields, but for those that are listed here', () => {
      const missing = new Set<string>()
      const extra = new Set<string>()
      theirs.forEach((line, i) => {
        const mine = fieldsOf(ours[i] ?? {}, kindOf(line))
        const known = fieldsOf(line, kindOf(line))
        // What is inside of a field that we do not have is not missing once more.
        for (const field of known) if (!mine.has(field) && mine.has(parentOf(field))) missing.add(field)
        for (const field of mine) if (!known.has(field)) extra.add(field)
      })
      expect([...missing].sort()).toEqual(Object.keys(THEIRS_ONLY).sort())
      expect([...extra].sort()).toEqual(Object.keys(OURS_ONLY).sort())
    })

    it('says the same things: texts, calls, results and ids', () => {
      const gist = (line: Line) => {
        const message = line['message'] as { content?: unknown; role?: string } | undefined
        return [
          kindOf(line),
          line['task_id'],
          line['tool_use_id'],
          line['parent_tool_use_id'],
          message?.role,
          message?.content,
        ]
      }
      expect(ours.map(gist)).toEqual(theirs.map(gist))
    })

    /** Their scenario, told with our events. */
    function sameScenario(): EngineEvent[] {
      const teller = createTeller()
      const root = teller.agent(ROOT)
      const child = teller.agent(CHILD)
      const call = {
        description: 'list files',
        prompt: 'SUBTASK list files',
        subagent_type: 'general-purpose',
      }
      const handedIn = theirs.find((line) => kindOf(line) === 'user')
      const content =
        (handedIn?.['message'] as { content?: { content?: [] }[] } | undefined)?.content?.[0]?.content ?? []
      return [
        root.spawned(),
        root.started('go'),
        root.prepared(),
        root.replies([text('spawning'), toolUse('toolu_000001xrvx3h', 'Agent', call)]),
        root.starts('toolu_000001xrvx3h', CHILD),
        child.spawned({
          kind: 'general-purpose',
          description: 'list files',
          parent: { agentId: ROOT, callId: callId(1, 4, 0), toolUseId: 'toolu_000001xrvx3h' },
        }),
        child.started('SUBTASK list files'),
        child.prepared(),
        child.replies([toolUse('toolu_0000025twyn8', 'Bash', { command: 'ls', description: 'list' })]),
        child.starts('toolu_0000025twyn8'),
        child.gets('toolu_0000025twyn8', 'README.md\na.txt', { isError: false }),
        child.replies([text('sub done: found files')]),
        child.ends(),
        root.gets('toolu_000001xrvx3h', content, { structured: handedIn?.['tool_use_result'] }),
        root.replies([text('main done')]),
        root.ends(),
      ]
    }
  },
)

const parentOf = (field: string): string => field.slice(0, field.lastIndexOf('.'))

/** Paths of all fields of a line. The content of messages and what tools and models are called is not ours to name. */
function fieldsOf(line: Line, kind: string): Set<string> {
  const fields = new Set<string>([kind])
  const visit = (value: Line, path: string): void => {
    for (const [name, inner] of Object.entries(value)) {
      fields.add(`${path}.${name}`)
      if (name === 'content' || name === 'tool_use_result' || Array.isArray(inner)) continue
      if (typeof inner === 'object' && inner !== null) visit(inner as Line, `${path}.${name}`)
    }
  }
  visit(line, kind)
  return fields
}

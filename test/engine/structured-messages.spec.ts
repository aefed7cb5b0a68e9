/** Requests to stop and their answers: who may ask, who answers, what becomes of the run, over restarts. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { sendMessageTool } from '../../src/effects/tools/agents/send-message.ts'
import { createToolTable } from '../../src/effects/tools/tool-table.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import type { AgentEvent, AgentEventOf } from '../../src/machines/agent/events.ts'
import { Doors } from '../helpers/doors.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { agentKind, isRoot, requestIn, textIn, turnOf } from '../helpers/scripts.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'
const rest = () => settle(80)

const idIn = (request: ModelRequest): string =>
  /agentId: (a[0-9a-f]{16})/.exec(textIn(request))?.[1] ?? 'nobody'

const agent = (prompt: string, more: object = {}) => ({
  name: 'Agent',
  input: { description: `look at ${prompt}`, prompt, run_in_background: true, ...more },
})
const pass = (door: string) => ({ name: 'Pass', input: { door } })
const send = (to: string, message: unknown) => ({ name: 'SendMessage', input: { to, message } })
const asksToStop = (to: string, reason = 'nobody needs it any more') =>
  send(to, { type: 'shutdown_request', reason })
const answers = (request: ModelRequest, approve: boolean, reason?: string, to = 'parent') =>
  send(to, {
    type: 'shutdown_response',
    request_id: requestIn(request) ?? 'none',
    approve,
    ...(reason !== undefined && { reason }),
  })

type Script = (request: ModelRequest, turn: number) => ScriptedReply

interface Options extends Partial<EngineOptions> {
  readonly storage?: MemoryStorage
  readonly idsFrom?: number
}

/** The root and its children, by their prompts. */
function engineOf(doors: Doors, plays: Readonly<Record<string, Script>>, more: Options = {}): TestEngine {
  const play = (request: ModelRequest): ScriptedReply => {
    const first = JSON.stringify(request.messages[0]?.content)
    const name = isRoot(request) ? 'root' : Object.keys(plays).find((prompt) => first.includes(`"${prompt}"`))
    return plays[name ?? '']?.(request, turnOf(request)) ?? say('nothing to say')
  }
  return testEngine(play, { tools: [doors.tool], ...more })
}

function factsOf<T extends AgentEvent['type']>({ facts }: TestEngine, type: T): AgentEventOf<T>[] {
  return facts.flatMap(({ event }) => (event.type === type ? [event as AgentEventOf<T>] : []))
}

const childrenOf = (test: TestEngine): string[] =>
  factsOf(test, 'agent.spawned').flatMap(({ parent, agentId }) => (parent === undefined ? [] : [agentId]))

const endsOf = (test: TestEngine, id: string | undefined) =>
  test.facts.flatMap(({ agentId, event }) =>
    agentId === id && event.type === 'agent.ended' ? [event.outcome.kind] : [],
  )

const resultsOf = ({ facts }: TestEngine): string[] =>
  facts.flatMap(({ event }) =>
    event.type === 'call.ended' ? [`${event.outcome}: ${JSON.stringify(event.result.content)}`] : [],
  )

/** The root starts a child behind a door, asks it to stop, and opens the door. */
const askingRoot: Script = (request, turn) => {
  if (turn === 0) return callMany([agent('worker')])
  if (turn === 1) return callMany([asksToStop(idIn(request)), pass('root')])
  return say(turn === 2 ? 'I wait' : 'the end')
}

describe('an agent that agrees to stop', () => {
  const worker =
    (reason?: string, words = 'nearly there'): Script =>
    (request, turn) =>
      turn === 0 ? callMany([pass('worker')]) : { text: words, calls: [answers(request, true, reason)] }

  it('makes no further request, completes, and its reason is its report', async () => {
    const doors = new Doors()
    const heard: ModelRequest[] = []
    const test = engineOf(doors, {
      root: (request, turn) => {
        heard.push(request)
        return askingRoot(request, turn)
      },
      worker: worker('all of it is in a.md'),
    })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    const [child] = childrenOf(test)
    expect(endsOf(test, child)).toEqual(['completed'])
    expect(
      test.facts.filter(({ agentId, event }) => agentId === child && event.type === 'reply.received'),
    ).toHaveLength(2)
    const last = textIn(heard.at(-1) ?? fail())
    expect(last).toContain('<result>all of it is in a.md</result>')
    expect(last).not.toContain('nearly there')
    await test.engine.close()
  })

  it('without a reason hands in what it said last', async () => {
    const doors = new Doors()
    const test = engineOf(doors, { root: askingRoot, worker: worker() })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    expect(
      factsOf(test, 'message.added').some(({ content }) =>
        JSON.stringify(content).includes('<result>nearly there</result>'),
      ),
    ).toBe(true)
    await test.engine.close()
  })

  it('who has said nothing at all ends without a report, and is not asked for one', async () => {
    const doors = new Doors()
    const test = engineOf(doors, { root: askingRoot, worker: worker(' \n', '') })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    expect(endsOf(test, childrenOf(test)[0])).toEqual(['no_report'])
    expect(factsOf(test, 'report.rejected')).toEqual([])
    await test.engine.close()
  })

  it.each([
    ['fits', '{"n":1}', 'completed'],
    ['does not fit', 'one', 'invalid_report'],
  ] as const)('with a report that %s the schema of its definition: %s', async (_, reason, outcome) => {
    const doors = new Doors()
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const test = engineOf(
      doors,
      {
        root: (request, turn) =>
          turn === 0 ? callMany([agent('worker', { subagent_type: 'counter' })]) : askingRoot(request, turn),
        worker: worker(reason),
      },
      { definitions: [agentKind('counter', { outputSchema: schema })] },
    )
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    expect(endsOf(test, childrenOf(test)[0])).toEqual([outcome])
    expect(factsOf(test, 'report.rejected')).toEqual([])
    await test.engine.close()
  })

  it('lets the other calls of its turn come to their ends first', async () => {
    const doors = new Doors()
    const test = engineOf(doors, {
      root: askingRoot,
      worker: (request, turn) =>
        turn === 0 ? callMany([pass('worker')]) : callMany([answers(request, true, 'done'), pass('last')]),
    })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await rest()
    expect(endsOf(test, childrenOf(test)[0])).toEqual([])
    doors.open('last')
    await run.result
    expect(endsOf(test, childrenOf(test)[0])).toEqual(['completed'])
    await test.engine.close()
  })

  it('is looked at by stop hooks as any other; one that sends it back to work voids the agreement', async () => {
    const doors = new Doors()
    let stops = 0
    const test = engineOf(
      doors,
      {
        root: askingRoot,
        worker: (request, turn) =>
          turn === 0
            ? callMany([pass('worker')])
            : turn === 1
              ? callMany([answers(request, true, 'the first report')])
              : say('the linter passes now'),
      },
      {
        hooks: [
          {
            event: 'SubagentStop',
            run: async () => (stops++ === 0 ? { decision: 'block', reason: 'lint it' } : {}),
          },
        ],
      },
    )
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    const told = factsOf(test, 'message.added')
      .map(({ content }) => JSON.stringify(content))
      .join('')
    expect(stops).toBe(2)
    expect(endsOf(test, childrenOf(test)[0])).toEqual(['completed'])
    expect(told).toContain('<result>the first report</result>')
    await test.engine.close()
  })
})

describe('an agent that is asked to stop', () => {
  it('and does not agree goes on, and who asked reads why', async () => {
    const doors = new Doors()
    const heard: string[] = []
    const test = engineOf(doors, {
      root: (request, turn) => {
        heard.push(textIn(request))
        if (turn < 2) return askingRoot(request, turn)
        return textIn(request).includes('shutdown-response') && turn < 4
          ? callMany([pass(`later${turn}`)])
          : say(turn === 2 ? 'I wait' : 'the end')
      },
      worker: (request, turn) =>
        turn === 0
          ? callMany([pass('worker')])
          : turn === 1
            ? callMany([answers(request, false, 'one test still fails')])
            : say('the whole report'),
    })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await rest()
    doors.open(...doors.waitedAt)
    await rest()
    doors.open(...doors.waitedAt)
    await run.result
    const last = heard.at(-1) ?? ''
    expect(last).toMatch(
      /kind=\\"shutdown-response\\" request-id=\\"a[0-9a-f]+:[\d.]+\\" approve=\\"false\\"/,
    )
    expect(last).toContain('one test still fails')
    expect(last).toContain('<result>the whole report</result>')
    await test.engine.close()
  })

  it('answers once, to who asked, what it has read: everything else is refused', async () => {
    const doors = new Doors()
    const test = engineOf(doors, {
      root: askingRoot,
      worker: (request, turn) => {
        const made = (request_id: string, to = 'parent') =>
          send(to, { type: 'shutdown_response', request_id, approve: false })
        if (turn === 0) return callMany([made('a0000000000000000:1.1.1'), pass('worker')])
        if (turn === 1)
          return callMany([
            made('none such'),
            send('worker', 'hm'),
            answers(request, false),
            answers(request, true, 'twice'),
          ])
        return say('report')
      },
    })
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await run.result
    const results = resultsOf(test).filter((text) => text.includes('request to stop'))
    expect(results).toHaveLength(3)
    expect(results[0]).toContain('None is open')
    expect(results[1]).toMatch(/Open: a[0-9a-f]{16}:/)
    expect(results[2]).toContain('None is open')
    expect(endsOf(test, childrenOf(test)[0])).toEqual(['completed'])
    expect(factsOf(test, 'call.ended').filter(({ answers }) => answers !== undefined)).toHaveLength(1)
    await test.engine.close()
  })

  it('cannot agree while it has agents at work', async () => {
    const doors = new Doors()
    const test = engineOf(
      doors,
      {
        root: askingRoot,
        worker: (request, turn) => {
          if (turn === 0) return callMany([agent('grandchild'), pass('worker')])
          if (turn === 1) return callMany([answers(request, true, 'too early')])
          return turn === 2 ? say('I wait for it') : callMany([answers(request, true, 'now')])
        },
        grandchild: (_, turn) => (turn === 0 ? callMany([pass('grandchild')]) : say('done')),
      },
      { features: { nesting: true } },
    )
    const run = test.engine.run('go')
    await rest()
    doors.open('worker', 'root')
    await rest()
    const [child, grandchild] = childrenOf(test)
    expect(resultsOf(test).filter((text) => text.includes('You have agents at work'))).toEqual([
      expect.stringContaining(grandchild ?? ''),
    ])
    doors.open('grandchild')
    await run.result
    expect(endsOf(test, child)).toEqual(['completed'])
    expect(
      test.facts.some(
        ({ event }) =>
          event.type === 'message.added' && JSON.stringify(event.content).includes('<result>now</result>'),
      ),
    ).toBe(true)
    await test.engine.close()
  })

  it('in a run that ends before it reads it is not asked in its next run', async () => {
    const doors = new Doors()
    const heard: string[] = []
    const test = engineOf(doors, {
      root: (request, turn) => {
        if (turn === 0) return callMany([agent('worker')])
        if (turn === 1) return callMany([asksToStop(idIn(request)), pass('root')])
        if (turn === 2) return callMany([{ name: 'TaskStop', input: { task_id: idIn(request) } }])
        return turn === 3 ? callMany([send(idIn(request), 'one more thing')]) : say('the end')
      },
      worker: (request, turn) => {
        heard.push(textIn(request))
        return turn === 0 ? callMany([pass('worker')]) : say('report')
      },
    })
    const run = test.engine.run('go')
    await rest()
    doors.open('root')
    await run.result
    expect(factsOf(test, 'message.accepted')).toHaveLength(1)
    expect(heard.at(-1)).toContain('one more thing')
    expect(heard.at(-1)).not.toContain('shutdown-request')
    await test.engine.close()
  })
})

describe('a request to stop', () => {
  const refusals = async (root: Script, more: Options = {}, child: Script = () => say('report')) => {
    const doors = new Doors()
    const test = engineOf(
      doors,
      { root, worker: child, other: (_, turn) => (turn < 2 ? callMany([pass(`other${turn}`)]) : say('x')) },
      more,
    )
    const run = test.engine.run('go')
    await rest()
    doors.open(...doors.waitedAt)
    await rest()
    doors.open(...doors.waitedAt)
    await run.result
    await test.engine.close()
    return { results: resultsOf(test), requests: factsOf(test, 'message.accepted') }
  }

  it('to one that has ended is refused, and begins no run', async () => {
    const { results, requests } = await refusals((request, turn) => {
      if (turn === 0) return callMany([agent('worker'), pass('root')])
      return turn === 1 ? callMany([asksToStop(idIn(request))]) : say('the end')
    })
    expect(results.join()).toContain('has ended already')
    expect(requests).toEqual([])
  })

  it('is for one agent that one has started: not for all, not for a sibling, the parent or oneself', async () => {
    let sibling = ''
    const { results, requests } = await refusals(
      (request, turn) => {
        if (turn === 0) return callMany([agent('other')])
        sibling = idIn(request)
        if (turn === 1) return callMany([asksToStop('*'), asksToStop('main'), agent('worker')])
        return say(turn === 2 ? 'I wait' : 'the end')
      },
      {},
      (_, turn) =>
        turn === 0
          ? callMany([asksToStop('parent'), asksToStop(sibling), asksToStop('a00000000000000ff')])
          : say('report'),
    )
    expect(requests).toEqual([])
    const errors = results.filter((text) => text.startsWith('error'))
    expect(errors[0]).toContain('takes texts only')
    expect(errors[1]).toContain('That is you')
    expect(errors.filter((text) => text.includes('none that you have started'))).toHaveLength(2)
    expect(errors.filter((text) => text.includes('There is no agent'))).toHaveLength(1)
  })

  it('to one that could not answer is refused, naming what stops it', async () => {
    const { results, requests } = await refusals(
      (request, turn) => {
        if (turn === 0) return callMany([agent('other', { subagent_type: 'mute' })])
        if (turn === 1) return callMany([pass('root')])
        return turn === 2 ? callMany([asksToStop(idIn(request))]) : say('the end')
      },
      { definitions: [agentKind('mute', { tools: ['Pass'] })] },
    )
    expect(requests).toEqual([])
    expect(results.join()).toContain('TaskStop stops it')
  })
})

describe('requests and answers over a restart', () => {
  it('an agreement that was made before a crash is kept: nothing is asked of the model any more', async () => {
    const doors = new Doors()
    const plays = {
      root: askingRoot,
      worker: ((request, turn) =>
        turn === 0
          ? callMany([pass('worker')])
          : callMany([answers(request, true, 'kept'), pass('last')])) satisfies Script,
    }
    const first = engineOf(doors, plays)
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    doors.open('worker', 'root')
    await rest()
    const storage = first.storage.crash()
    const again = new Doors()
    const second = engineOf(again, plays, { storage, idsFrom: 100_000 })
    const run = await second.engine.resume(SESSION)
    await rest()
    again.open(...again.waitedAt)
    await rest()
    again.open(...again.waitedAt)
    await run?.result
    const [child] = childrenOf(first)
    expect(endsOf(second, child)).toEqual(['completed'])
    const told = factsOf(second, 'message.added')
      .map(({ content }) => JSON.stringify(content))
      .join('')
    expect(told).toContain('<result>kept</result>')
    await second.engine.close()
    await first.engine.close().catch(() => {})
  })
})

describe('the schema of SendMessage', () => {
  const schema = createToolTable([sendMessageTool]).definitions()[0]?.input_schema

  it('is plain JSON Schema: an object, whose message is a text or one of the structured kinds', () => {
    expect(schema).toMatchObject({ type: 'object', required: ['to', 'message'], additionalProperties: false })
    const kinds = JSON.stringify(schema)
    for (const kind of ['shutdown_request', 'shutdown_response', 'plan_approval_response'])
      expect(kinds).toContain(`"const":"${kind}"`)
    expect(kinds).not.toContain('$ref')
  })

  it('refuses a kind that there is not, and fields of another one', () => {
    const wrong = [
      { type: 'team_request' },
      { type: 'shutdown_request', approve: true },
      { type: 'shutdown_response', request_id: 'x' },
      '',
    ]
    for (const message of wrong)
      expect(sendMessageTool.inputSchema.safeParse({ to: 'parent', message }).success).toBe(false)
    const right = { type: 'shutdown_response', request_id: 'x', approve: true }
    expect(sendMessageTool.inputSchema.safeParse({ to: 'parent', message: right }).success).toBe(true)
  })
})

function fail(): never {
  throw new Error('no request was made')
}

/** Forks: their parent at the moment of the call, on a task of their own, to the byte and without a copy. */
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { AgentEventOf } from '../../src/machines/agent/events.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { longLookTool } from '../helpers/tools.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'

const fork = (prompt: string) => ({ name: 'Agent', input: { description: 'a fork', prompt } })
const isFork = ({ source }: ModelRequest): boolean => source === 'fork'
const NARROW = {
  maxTokens: 5_000,
  limits: { contextMargin: 5_000 },
  modelFacts: { '': { contextWindow: 100_000 } },
} as const
const FORKING = { features: { fork: true } } as const

/** A root that says something, forks twice in one turn beside a call of its own, and ends. */
function forking(
  requests: ModelRequest[],
  atFork: (request: ModelRequest) => ScriptedReply = () => say('Scope: done'),
) {
  return (request: ModelRequest): ScriptedReply => {
    requests.push({ ...request, messages: structuredClone([...request.messages]) })
    if (isFork(request)) return atFork(request)
    if (turnOf(request) === 0)
      return { ...callMany([fork('task one'), fork('task two')], 'I split the work'), thinking: 'hm' }
    return say('the end')
  }
}

describe('a fork', () => {
  it('is asked with the prompt, the tools and the conversation of its parent, to the byte', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(forking(requests), FORKING)
    await test.engine.run('the secret word is plum', { sessionId: SESSION }).result
    const [parent] = requests
    const forks = requests.filter(isFork)
    expect(forks).toHaveLength(2)
    for (const request of forks) {
      expect(request.system).toBe(parent?.system)
      expect(JSON.stringify(request.tools)).toBe(JSON.stringify(parent?.tools))
      expect(request.model).toBe(parent?.model)
      expect(JSON.stringify(request.messages.slice(0, 1))).toBe(JSON.stringify(parent?.messages))
    }
    await test.engine.close()
  })

  it('keeps its directive when what it inherits is more than its model takes, and is summed up', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(
      (request) => {
        requests.push(request)
        if (request.source === 'compact') return say('what the parent knew')
        if (requests.length > 1) return say('the end')
        const full = { input_tokens: 95_000, output_tokens: 10 }
        return { ...callMany([fork('task one')], 'I split the work'), usage: full }
      },
      { ...FORKING, ...NARROW },
    )
    await test.engine.run('the secret word is plum', { sessionId: SESSION }).result
    const [asked] = requests.filter(isFork)
    expect(JSON.stringify(asked?.messages)).toContain('what the parent knew')
    expect(JSON.stringify(asked?.messages)).toContain('task one')
    await test.engine.close()
  })

  it('has calls with the ids of its parent’s: where its results are cut, those of its parent stay', async () => {
    const asked: ModelRequest[] = []
    const free = { input_tokens: 0, output_tokens: 0 }
    const test = testEngine(
      (request) => {
        const turn = turnOf(request)
        if (!isFork(request)) {
          if (turn === 0) return { ...call('Look', { chars: 20 }), usage: free }
          return turn === 1 ? { ...callMany([fork('look')]), usage: free } : say('the end')
        }
        asked.push(request)
        // With a word before it the call stands in the line in which that of its parent does.
        return turn > 8 ? say('Scope: done') : { ...call('Look', { chars: 49_000 }, 'hm'), usage: free }
      },
      { ...FORKING, ...NARROW, tools: [longLookTool] },
    )
    await test.engine.run('go', { sessionId: SESSION }).result
    const calls = test.facts.flatMap(({ event }) => (event.type === 'call.ended' ? [event.callId] : []))
    const cut = test.facts.flatMap(({ event }) => (event.type === 'results.cut' ? event.results : []))
    expect(calls.filter((callId) => callId === cut[0]?.callId)).toHaveLength(2)
    const last = JSON.stringify(asked.at(-1)?.messages)
    expect(last).toContain('left out')
    expect(last).toContain(`"${'x'.repeat(20)}"`)
    await test.engine.close()
  })

  it('is not started by who begins with what a fork knew', async () => {
    const heir: AgentDefinition = {
      agentType: 'heir',
      whenToUse: 'to go on from there',
      forksParentContext: true,
      getSystemPrompt: () => 'You go on.',
      source: 'flagSettings',
    }
    const results: string[] = []
    const test = testEngine(
      (request) => {
        const said = JSON.stringify(request.messages)
        if (request.source === 'main')
          return turnOf(request) === 0 ? callMany([fork('first')]) : say('the end')
        if (isFork(request)) {
          const input = { description: 'an heir', prompt: 'second', subagent_type: 'heir' }
          return said.includes('agentId') ? say('Scope: done') : callMany([{ name: 'Agent', input }])
        }
        if (!said.includes('forked worker, and a fork')) return callMany([fork('third')])
        results.push(said)
        return say('done')
      },
      { ...FORKING, definitions: [heir], limits: { depth: 5 } },
    )
    await test.engine.run('go', { sessionId: SESSION }).result
    expect(results.length).toBeGreaterThan(0)
    expect(test.facts.filter(({ event }) => event.type === 'agent.spawned')).toHaveLength(3)
    await test.engine.close()
  })

  it('can be branched: the branch begins with what the fork knew, to the byte', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(forking(requests), FORKING)
    await test.engine.run('the secret word is plum', { sessionId: SESSION }).result
    const log = [...test.storage.files.keys()].find((path) => path.includes('/agent-')) ?? ''
    const ofFork = requests.filter(isFork)
    const before = requests.length
    const branch = test.engine.branch(log, { prompt: 'and what else?' })
    expect((await branch.result).status).toBe('completed')
    const [asked] = requests.slice(before)
    const prefixes = ofFork.map(({ messages }) => JSON.stringify(messages).slice(0, -1))
    const conversation = JSON.stringify(asked?.messages)
    expect(prefixes.filter((prefix) => conversation.startsWith(prefix))).toHaveLength(1)
    expect(conversation).toContain('the secret word is plum')
    expect(conversation).toContain('Scope: done')
    await test.engine.close()
  })

  it('of a session whose parent log has lost the reply cannot be branched, and that is said', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(forking(requests), FORKING)
    await test.engine.run('the secret word is plum', { sessionId: SESSION }).result
    const paths = [...test.storage.files.keys()].filter((path) => path.endsWith('.jsonl'))
    const log = paths.find((path) => path.includes('/agent-')) ?? ''
    const rootLog = paths.find((path) => !path.includes('/agent-')) ?? ''
    const lines = Buffer.from(test.storage.bytes(rootLog)).toString('utf8').split('\n')
    const short = lines
      .slice(
        0,
        lines.findIndex((line) => line.includes('"assistant"')),
      )
      .join('\n')
    const files = new Map(paths.map((path) => [path, test.storage.bytes(path)] as const))
    files.set(rootLog, Buffer.from(`${short}\n`))
    const other = testEngine(forking(requests), {
      ...FORKING,
      storage: createMemoryStorage({ files }),
      idsFrom: 900,
    })
    const branch = other.engine.branch(log, { prompt: 'and what else?' })
    await expect(branch.result).rejects.toMatchObject({ code: 'changed-base' })
    await other.engine.close()
    await test.engine.close()
  })

  it('shares everything up to its directive with the other forks of the turn, and no call of its parent', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(forking(requests), FORKING)
    await test.engine.run('the secret word is plum').result
    const texts = requests.filter(isFork).map(({ messages }) => JSON.stringify(messages))
    const [one = '', two = ''] = texts
    const shared = one.slice(0, one.indexOf('task one'))
    expect(shared).toContain('I split the work')
    expect(shared).toContain('<fork_directive>')
    expect(two.startsWith(shared)).toBe(true)
    expect(one + two).not.toContain('tool_use')
    await test.engine.close()
  })

  it('starts no fork, and may not by the depth of agents start a typed one', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(
      forking(requests, (request) =>
        turnOf(request) === 1
          ? callMany([
              fork('deeper'),
              { name: 'Agent', input: { description: 'd', prompt: 'p', subagent_type: 'Explore' } },
            ])
          : say('Scope: refused'),
      ),
      FORKING,
    )
    await test.engine.run('go').result
    const results = test.facts.flatMap(({ event }) =>
      event.type === 'call.ended' && event.outcome === 'error' ? [JSON.stringify(event.result.content)] : [],
    )
    expect(results).toHaveLength(4)
    expect(results[0]).toContain('a fork starts no forks')
    await test.engine.close()
  })

  it('knows the same after a restart, and its log holds a position, not a copy', async () => {
    const requests: ModelRequest[] = []
    let isHeld = true
    const script = forking(requests, () =>
      isHeld ? (new Promise<ScriptedReply>(() => {}) as never) : say('Scope: x'),
    )
    const test = testEngine(script, FORKING)
    test.engine.run('the secret word is plum', { sessionId: SESSION }).result.catch(() => {})
    await settle(60)
    const before = requests.filter(isFork).map(({ messages, system }) => JSON.stringify([messages, system]))
    isHeld = false
    const storage = test.storage.crash()
    const log = [...storage.files].find(([path]) => path.includes('agent-a'))?.[1] ?? ''
    expect(log.toString()).not.toContain('plum')
    requests.length = 0
    const next = testEngine(script, { ...FORKING, storage, idsFrom: 500 })
    await (await next.engine.resume(SESSION))?.result
    const after = requests.filter(isFork).map(({ messages, system }) => JSON.stringify([messages, system]))
    expect(after.sort()).toEqual(before.sort())
    expect(after).toHaveLength(2)
    await next.engine.close()
  })

  it('costs next to nothing of a long conversation: its messages are the same objects', async () => {
    const texts = new Set<object>()
    let shared = 0
    const script = (request: ModelRequest): ScriptedReply => {
      const blocks = request.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
      if (isFork(request)) {
        shared = blocks.filter((block) => texts.has(block)).length
        return say('Scope: done')
      }
      for (const block of blocks) texts.add(block)
      const turn = turnOf(request)
      if (turn < 40) return callMany([{ name: 'ListAgents', input: {} }], `step ${turn}`)
      return turn === 40 ? callMany([fork('look')]) : say('the end')
    }
    const test = testEngine(script, FORKING)
    await test.engine.run('go').result
    expect(shared).toBeGreaterThan(100)
    await test.engine.close()
  })
})

describe('a definition that starts from its parent’s conversation', () => {
  const reader = (from: true | 'turn'): AgentDefinition => ({
    agentType: 'reader',
    whenToUse: 'reads',
    getSystemPrompt: () => 'You read.',
    forksParentContext: from,
    source: 'flagSettings',
  })
  const script =
    (requests: ModelRequest[]) =>
    (request: ModelRequest): ScriptedReply => {
      requests.push(request)
      if (request.source !== 'main') return say('read')
      const isSecond = JSON.stringify(request.messages).includes('second prompt')
      return isSecond && !JSON.stringify(request.messages).includes('agentId')
        ? callMany([
            { name: 'Agent', input: { description: 'd', prompt: 'the task', subagent_type: 'reader' } },
          ])
        : say('said')
    }

  it.each([
    [true, true],
    ['turn', false],
  ] as const)('%s: knows it, with a prompt and tools of its own', async (from, knowsFirst) => {
    const requests: ModelRequest[] = []
    const test = testEngine(script(requests), { definitions: [...BUILT_IN_DEFINITIONS, reader(from)] })
    await test.engine.run('first prompt', { sessionId: SESSION }).result
    await test.engine.run('second prompt', { sessionId: SESSION }).result
    const child = requests.find(({ source }) => source !== 'main')
    const text = JSON.stringify(child?.messages)
    expect(text.includes('first prompt')).toBe(knowsFirst)
    expect(text).toContain('second prompt')
    expect(text).toContain('the task')
    expect(text).not.toContain('fork_directive')
    expect(child?.system).toContain('You read.')
    const born = test.facts.flatMap(({ event }) => (event.type === 'agent.spawned' ? [event] : [])).at(-1)
    expect((born as AgentEventOf<'agent.spawned'>).inherits).toMatchObject({
      from: from === true ? 'all' : 'turn',
    })
    await test.engine.close()
  })
})

describe('coordinator mode', () => {
  it('leaves the root only what leads workers, and starts workers in the background', async () => {
    const requests: ModelRequest[] = []
    const test = testEngine(
      (request: ModelRequest): ScriptedReply => {
        requests.push(request)
        if (request.source !== 'main') return say('worked')
        return turnOf(request) === 0
          ? callMany([{ name: 'Agent', input: { description: 'd', prompt: 'the part' } }])
          : say('led')
      },
      { features: { coordinator: true } },
    )
    expect((await test.engine.run('go').result).status).toBe('completed')
    const [root] = requests
    expect(root?.tools.map(({ name }) => name).sort()).toEqual([
      'Agent',
      'SendMessage',
      'TaskOutput',
      'TaskStop',
    ])
    expect(root?.system).toContain('You coordinate work')
    const child = test.facts
      .flatMap(({ event }) => (event.type === 'agent.spawned' ? [event.plan] : []))
      .at(-1)
    expect(child).toMatchObject({ agentType: 'worker', background: { value: true } })
    await test.engine.close()
  })
})

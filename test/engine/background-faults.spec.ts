/** Agents in the background where something goes wrong: logs that fail, moments that meet, kills in between. */
import { from, switchMap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Model, ModelRequest } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { checkTree } from '../../src/journal/check/check-tree.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { Doors } from '../helpers/doors.ts'
import type { Fact, TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { heldStorage } from '../helpers/held-storage.ts'
import { agentKind, turnOf } from '../helpers/scripts.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'
const rest = (): Promise<void> => settle(40)

const pass = (door: string) => ({ name: 'Pass', input: { door } })
const agent = (name: string, more: object = {}) => ({
  name: 'Agent',
  input: { description: name, prompt: `I am ${name}`, run_in_background: true, ...more },
})
const send = (to: string, message: string) => ({ name: 'SendMessage', input: { to, message } })
const output = (id: string, more: object = {}) => ({ name: 'TaskOutput', input: { task_id: id, ...more } })

/** Who asks: `root`, or the name that it was started with. */
const whoOf = (request: ModelRequest): string =>
  request.source === 'main'
    ? 'root'
    : (/I am ([\w-]+)/.exec(JSON.stringify(request.messages[0]?.content))?.[1] ?? 'nobody')
const textIn = (request: ModelRequest): string => JSON.stringify(request.messages)
const idsIn = (request: ModelRequest): readonly string[] =>
  [...textIn(request).matchAll(/agentId: (a[0-9a-f]{16})/g)].flatMap(([, id]) => id ?? [])

/** What each says in its turns; a last line stays. */
type Play = Readonly<Record<string, readonly (ScriptedReply | ((request: ModelRequest) => ScriptedReply))[]>>

const script =
  (play: Play) =>
  (request: ModelRequest): ScriptedReply => {
    const who = whoOf(request)
    const lines = play[who] ?? [say(`${who} is done`)]
    const line = lines[turnOf(request)] ?? lines.at(-1) ?? say('nothing')
    return typeof line === 'function' ? line(request) : line
  }

type Options = Partial<EngineOptions> & { readonly storage?: MemoryStorage; readonly idsFrom?: number }

const engineOf = (play: Play, tool: Tool<{ door: string }>, more: Options = {}): TestEngine =>
  testEngine(script(play), {
    tools: [tool],
    features: { nesting: true },
    definitions: [agentKind('general-purpose'), agentKind('short', { maxTurns: 2 })],
    ...more,
  })

/** Ends that are told, by whomever, as `<agent>:<run>`. */
const told = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap(({ event }) => {
    if (event.type === 'message.added' || event.type === 'run.started')
      return (event.tells ?? []).map(({ agentId, run }) => `${agentId}:${run}`)
    return event.type === 'call.ended' && event.delivered !== undefined
      ? [`${event.delivered.agentId}:${event.delivered.run}`]
      : []
  })
const ends = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap(({ agentId, event }) => (event.type === 'agent.ended' ? [`${agentId}:${event.run}`] : []))
const children = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap(({ agentId, event }) =>
    event.type === 'agent.spawned' && event.parent !== undefined ? [agentId] : [],
  )
const logOf = (storage: MemoryStorage, agentId: string): string =>
  [...storage.files.keys()].find((path) => path.endsWith(`agent-${agentId}.jsonl`)) ?? ''
const codes = ({ events }: TestEngine): readonly string[] =>
  events.flatMap((event) => (event.kind === 'diagnostic' ? [event.code] : []))

async function violations(storage: MemoryStorage): Promise<readonly string[]> {
  const logs = [...storage.files.keys()].filter((path) => path.endsWith('.jsonl'))
  const checked = await checkTree(logs.map((path) => ({ path, entries: readEntries(storage, path) })))
  return checked.flatMap(({ path, violation }) => (violation ? [`${path}: ${violation.reason}`] : []))
}

/** Everybody but the root is gone, and each end is told once. */
async function expectAllTold(test: TestEngine, facts: readonly Fact[] = test.facts): Promise<void> {
  const root = facts.find(({ event }) => event.type === 'agent.spawned')?.agentId
  expect(test.engine.agents.filter(({ agentId }) => agentId !== root)).toEqual([])
  expect([...told(facts)].toSorted()).toEqual(
    ends(facts)
      .filter((end) => !end.startsWith(`${root}`))
      .toSorted(),
  )
  expect(await violations(test.storage)).toEqual([])
}

const begin = ({ engine }: TestEngine, more: object = {}) => engine.run('go', { sessionId: SESSION, ...more })

describe('two that tell the same end', () => {
  it('are calls of one turn: the first is the delivery, the other one reads it', async () => {
    const { tool, open } = new Doors()
    const test = engineOf(
      {
        root: [
          callMany([agent('a')]),
          (request) => callMany([output(idsIn(request)[0] ?? ''), output(idsIn(request)[0] ?? '')]),
          say('done'),
        ],
        a: [callMany([pass('a')]), say('report of a')],
      },
      tool,
    )
    const run = begin(test)
    await rest()
    open('a')
    expect((await run.result).status).toBe('completed')
    const outputs = test.facts.filter(
      ({ event }) =>
        event.type === 'call.ended' && JSON.stringify(event.result.content).includes('report of a'),
    )
    expect(outputs).toHaveLength(2)
    await expectAllTold(test)
    await test.engine.close()
  })

  it('are a wake and a prompt of the user in the same moment: whichever is first tells it', async () => {
    for (const turns of [0, 1, 2, 3, 4, 6]) {
      const { tool, open } = new Doors()
      const test = engineOf(
        { root: [callMany([agent('a')]), say('off')], a: [callMany([pass('a')]), say('report of a')] },
        tool,
      )
      await begin(test, { leavesChildren: true }).result
      open('a')
      await settle(turns)
      const answer = await begin(test).result.catch((error: { code: string }) => error.code)
      expect(['completed', 'run-in-flight']).toContain(typeof answer === 'string' ? answer : answer.status)
      await rest()
      await expectAllTold(test)
      await test.engine.close()
    }
  })
})

describe('an end that comes with the last word of a root that does not wait', () => {
  it('wakes it', async () => {
    const { tool, open } = new Doors()
    let answer = (): void => {}
    const scripted = createScriptedModel(
      script({
        root: [callMany([agent('a')]), say('off'), say('I see')],
        a: [callMany([pass('a')]), say('a')],
      }),
    )
    const slow: Model = {
      provider: scripted.provider,
      stream: (request, signal) =>
        whoOf(request) === 'root' && turnOf(request) === 1
          ? from(new Promise<void>((resolve) => (answer = resolve))).pipe(
              switchMap(() => scripted.stream(request, signal)),
            )
          : scripted.stream(request, signal),
    }
    const test = testEngine(slow, { tools: [tool] })
    const run = begin(test, { leavesChildren: true })
    await rest()
    open('a')
    await rest()
    answer()
    expect((await run.result).text).toBe('off')
    await rest()
    await expectAllTold(test)
    await test.engine.close()
  })
})

describe('a run that a message begins, while whoever is owed its end is stopped', () => {
  it('ends with that one, although there was nothing to stop yet', async () => {
    const { tool, open } = new Doors()
    const disk = heldStorage()
    let b = ''
    const test = engineOf(
      {
        root: [
          callMany([agent('a')]),
          callMany([pass('root')]),
          () => callMany([send(b, 'go on')]),
          say('off'),
        ],
        a: [callMany([agent('b')]), callMany([pass('a')])],
        b: [say('report of b'), callMany([pass('b')])],
      },
      tool,
      { storage: disk.storage },
    )
    const run = begin(test, { leavesChildren: true })
    await rest()
    const [a = ''] = children(test.facts)
    b = children(test.facts).at(-1) ?? ''
    disk.hold(`agent-${b}.jsonl`)
    open('root')
    await rest()
    expect(disk.isHeld).toBe(true)
    const killed = test.engine.kill(a)
    await rest()
    disk.release()
    await killed
    await run.result
    await rest()
    expect(ends(test.facts)).toContain(`${b}:2`)
    expect(test.engine.agents.filter(({ agentId }) => agentId === b)).toEqual([])
    await test.engine.close()
  })
})

/** A disk that has no room for one file any more, from the moment that a test says so. */
function fillableDisk() {
  const memory = createMemoryStorage()
  let full: string | undefined
  const storage: MemoryStorage = {
    ...memory,
    append: (batch) => {
      if (full !== undefined && batch.some(({ path }) => path === full))
        throw new StorageError('full', full, 'no space is left')
      return memory.append(batch)
    },
  }
  const fill = (path: string): void => {
    expect(path).not.toBe('')
    full = path
  }
  return { memory, storage, fill }
}

describe('a log', () => {
  const play: Play = {
    root: [callMany([agent('a'), agent('b')]), say('I wait')],
    a: [callMany([agent('of-a')]), callMany([pass('a')]), say('report of a')],
    'of-a': [callMany([pass('of-a')]), say('report of it')],
    b: [callMany([pass('b')]), say('report of b')],
  }

  it('that cannot be written any more is told as a failure, gives its place back, and takes its own along', async () => {
    const { tool, open } = new Doors()
    const { memory, storage, fill } = fillableDisk()
    const test = engineOf(play, tool, { storage })
    const run = begin(test)
    await rest()
    const a = test.engine.agents.find(({ description }) => description === 'a')?.agentId ?? ''
    fill(logOf(memory, a))
    open('a')
    await rest()
    expect(test.engine.agents.map(({ description }) => description)).toEqual(['main agent', 'b'])
    const news = test.facts.find(({ event }) => event.type === 'message.added' && event.tells !== undefined)
    expect(JSON.stringify(news?.event)).toContain('<status>failed</status>')
    open('b')
    expect((await run.result).status).toBe('completed')
    expect(await violations(memory)).toEqual([])
    await test.engine.close()
    // What was told as lost stays so.
    const next = engineOf(play, tool, { storage: memory.crash(), idsFrom: 500 })
    expect(await next.engine.resume(SESSION)).toBeUndefined()
    expect(next.facts).toEqual([])
    await next.engine.close()
  })

  it.each([
    ['missing', () => undefined],
    [
      'damaged',
      (bytes: Uint8Array) =>
        Buffer.concat([bytes.subarray(0, 400), Buffer.from('{]\n'), bytes.subarray(400)]),
    ],
    ['of nobody', () => Buffer.from('{"torn')],
  ] as const)('that is %s at a resume is told as a failure, and the session opens', async (how, spoil) => {
    const { tool, open } = new Doors()
    const test = engineOf(play, tool)
    begin(test).result.catch(() => {})
    await rest()
    const b = test.engine.agents.find(({ description }) => description === 'b')?.agentId ?? ''
    const disk = test.storage.crash()
    const files = new Map([...disk.files.keys()].map((path) => [path, disk.bytes(path)]))
    const spoilt = spoil(disk.bytes(logOf(disk, b)))
    if (spoilt === undefined) files.delete(logOf(disk, b))
    else files.set(logOf(disk, b), spoilt)
    const next = engineOf(play, tool, { storage: createMemoryStorage({ files }), idsFrom: 500 })
    const run = await next.engine.resume(SESSION)
    await rest()
    open('a', 'of-a')
    expect((await run?.result)?.status).toBe('completed')
    const news = next.facts.flatMap(({ event }) =>
      event.type === 'message.added' && event.tells?.some(({ agentId }) => agentId === b) === true
        ? [JSON.stringify(event.content)]
        : [],
    )
    expect(news).toHaveLength(1)
    expect(news[0]).toContain('<status>failed</status>')
    expect(codes(next).includes('background-lost')).toBe(how === 'damaged')
    expect(next.engine.agents).toHaveLength(1)
    await next.engine.close()
  })
})

describe('the log of a grandchild that cannot be written any more', () => {
  const inFront = { run_in_background: false }
  const ofA: Play = { 'of-a': [callMany([pass('of-a')]), say('report of it')] }

  /** A session whose disk is full for the grandchild from the moment that it is at its door. */
  async function withFullLog(play: Play) {
    const { tool, open } = new Doors()
    const { memory, storage, fill } = fillableDisk()
    const test = engineOf({ ...ofA, ...play }, tool, { storage })
    const run = begin(test)
    await rest()
    const idOf = (name: string) =>
      test.engine.agents.find(({ description }) => description === name)?.agentId ?? ''
    const a = idOf('a')
    const grandchild = children(test.facts).find((id) => id !== a) ?? ''
    fill(logOf(memory, grandchild))
    return { test, run, open, memory, a, grandchild, play: { ...ofA, ...play }, tool }
  }

  /** Who is told the end of that agent by a notice, and in which words. */
  const newsOf = ({ facts }: TestEngine, id: string) =>
    facts.flatMap(({ agentId, event }) =>
      event.type === 'message.added' && event.tells?.some((key) => key.agentId === id) === true
        ? [{ agentId, text: JSON.stringify(event.content) }]
        : [],
    )

  it('in the background: its parent is told that it is lost, once, and goes on; so does everybody above', async () => {
    const { test, run, open, memory, a, grandchild, play, tool } = await withFullLog({
      root: [callMany([agent('a')]), say('I wait')],
      a: [callMany([agent('of-a')]), callMany([pass('a')]), say('report of a')],
    })
    open('of-a')
    await rest()
    expect(test.engine.agents.map(({ description }) => description)).toEqual(['main agent', 'a'])
    open('a')
    expect((await run.result).status).toBe('completed')
    const news = newsOf(test, grandchild)
    expect(news.map(({ agentId }) => agentId)).toEqual([a])
    expect(news[0]?.text).toContain('<status>failed</status>')
    expect(newsOf(test, a)[0]?.text).toContain('report of a')
    expect(test.engine.agents).toHaveLength(1)
    expect(await violations(memory)).toEqual([])
    await test.engine.close()
    const next = engineOf(play, tool, { storage: memory.crash(), idsFrom: 500 })
    expect(await next.engine.resume(SESSION)).toBeUndefined()
    expect(next.facts).toEqual([])
    await next.engine.close()
  })

  it('whose parent has ended: the root is told that it is lost', async () => {
    const { test, run, open, memory, grandchild } = await withFullLog({
      root: [callMany([agent('a', { subagent_type: 'short' })]), say('I wait')],
      // It comes to the limit of its turns and leaves its own behind.
      a: [callMany([agent('of-a')]), callMany([pass('through')])],
    })
    const root = test.facts[0]?.agentId
    open('through')
    await rest()
    expect(test.engine.agents.map(({ description }) => description)).toEqual(['main agent', 'of-a'])
    open('of-a')
    expect((await run.result).status).toBe('completed')
    const news = newsOf(test, grandchild)
    expect(news.map(({ agentId }) => agentId)).toEqual([root])
    expect(news[0]?.text).toContain('<status>failed</status>')
    expect(test.engine.agents).toHaveLength(1)
    expect(await violations(memory)).toEqual([])
    await test.engine.close()
  })

  it('in front: its parent gives it up and fails, saying why; whoever is above is told that, and goes on', async () => {
    const { test, run, open, memory, a } = await withFullLog({
      root: [callMany([agent('a', inFront)]), say('the end')],
      a: [callMany([agent('of-a', inFront)]), say('report of a')],
    })
    open('of-a')
    const result = await run.result
    expect(result).toMatchObject({ status: 'completed', text: 'the end' })
    const answers = test.facts.flatMap(({ agentId, event }) =>
      event.type === 'call.ended' ? [{ agentId, event }] : [],
    )
    const [ofGrandchild, ofChild] = answers
    expect(answers).toHaveLength(2)
    expect(ofGrandchild?.agentId).toBe(a)
    expect(ofGrandchild?.event.outcome).toBe('interrupted')
    // It has no end that could be delivered.
    expect(ofGrandchild?.event.delivered).toBeUndefined()
    expect(ofChild?.event.outcome).toBe('error')
    expect(JSON.stringify(ofChild?.event.result.content)).toContain('could not be written (no space is left)')
    expect(told(test.facts)).toEqual([`${a}:1`])
    expect(await violations(memory)).toEqual([])
    await test.engine.close()
  })
})

describe('a kill', () => {
  const play: Play = {
    root: [callMany([agent('a'), agent('b', { run_in_background: false })]), say('I wait')],
    a: [callMany([agent('of-a')]), callMany([pass('a')]), say('report')],
    b: [callMany([agent('of-b')]), callMany([pass('b')]), say('report')],
  }

  it('of the root at any event leaves nobody behind and tells nothing twice', async () => {
    let hasCome = true
    for (let at = 0; hasCome; at++) {
      hasCome = false
      const { tool, open } = new Doors()
      const test = engineOf(
        { ...play, 'of-a': [callMany([pass('x')]), say('x')], 'of-b': [callMany([pass('x')]), say('x')] },
        tool,
      )
      let seen = 0
      test.engine.events$.subscribe((event) => {
        // One that is not at work yet has nothing that could be ended.
        if (event.kind !== 'fact' || event.event.type === 'agent.spawned' || seen++ !== at) return
        hasCome = true
        const root = test.engine.agents.find(({ parentAgentId }) => parentAgentId === undefined)
        if (root !== undefined) void test.engine.kill(root.agentId, 'now')
      })
      const run = begin(test)
      await rest()
      if (!hasCome) open('a', 'b', 'x')
      await rest()
      if (hasCome) {
        expect(['killed', 'completed']).toContain((await run.result).status)
        expect(test.engine.agents).toHaveLength(1)
        expect(new Set(told(test.facts)).size).toBe(told(test.facts).length)
        expect(await violations(test.storage)).toEqual([])
      }
      await test.engine.close()
    }
  })
})

describe('a message', () => {
  it('to its own parent, which waits for it, and to itself', async () => {
    const { tool, open } = new Doors()
    const test = engineOf(
      {
        root: [callMany([agent('a', { run_in_background: false })]), say('done')],
        a: [
          callMany([send('parent', 'hello above')]),
          ({ messages }) => {
            const id = /Sent to (a[0-9a-f]{16})/.exec(JSON.stringify(messages))?.[1] ?? ''
            return callMany([send(id, 'once more'), pass('a')])
          },
          say('report'),
        ],
      },
      tool,
    )
    const run = begin(test)
    await rest()
    open('a')
    expect((await run.result).status).toBe('completed')
    const root = test.facts[0]?.agentId
    const injected = test.facts.flatMap(({ agentId, event }) =>
      event.type === 'message.added' && agentId === root ? (event.injects ?? []) : [],
    )
    expect(injected).toHaveLength(2)
    await expectAllTold(test)
    await test.engine.close()
  })

  it('of two to one that has ended is one run, or one after the other; each is read once', async () => {
    const { tool, open } = new Doors()
    const test = engineOf(
      {
        root: [
          callMany([agent('a')]),
          callMany([pass('root')]),
          (request) =>
            callMany([
              agent('s1', { prompt: `I am s1 and know ${idsIn(request)[0]}` }),
              agent('s2', { prompt: `I am s2 and know ${idsIn(request)[0]}` }),
            ]),
          say('done'),
        ],
        s1: [
          (request) => callMany([send(/know (a[0-9a-f]{16})/.exec(textIn(request))?.[1] ?? '', 'one')]),
          say('s1'),
        ],
        s2: [
          (request) => callMany([send(/know (a[0-9a-f]{16})/.exec(textIn(request))?.[1] ?? '', 'two')]),
          say('s2'),
        ],
      },
      tool,
    )
    const run = begin(test)
    await rest()
    open('root')
    expect((await run.result).status).toBe('completed')
    const [a] = children(test.facts)
    const read = test.facts.flatMap(({ agentId, event }) =>
      agentId === a && (event.type === 'message.added' || event.type === 'run.started')
        ? (event.injects ?? [])
        : [],
    )
    expect(new Set(read).size).toBe(2)
    expect(read).toHaveLength(2)
    await expectAllTold(test)
    await test.engine.close()
  })

  it('of one that is stopped while it waits for the other one to end is not sent', async () => {
    const { tool } = new Doors()
    // Its last effect takes its time, so that it is at its end for long.
    const ending: { done: () => void } = { done: () => {} }
    const slowEnd: Tool<Record<string, never>> = {
      name: 'Deaf',
      description: 'Hears no abort',
      inputSchema: z.strictObject({}),
      resume: 'interrupt',
      isReadOnly: () => false,
      isConcurrencySafe: () => false,
      run: () => new Promise((resolve) => (ending.done = () => resolve({ content: 'at last' }))),
    }
    const test = engineOf(
      {
        root: [callMany([agent('a'), agent('s')]), say('I wait')],
        a: [callMany([{ name: 'Deaf', input: {} }]), say('a')],
        s: [
          callMany([pass('s')]),
          ({ messages }) => callMany([send(target, `${messages.length}`)]),
          say('s'),
        ],
      },
      tool,
      { tools: [tool, slowEnd] },
    )
    let target = ''
    const run = begin(test)
    await rest()
    const idOf = (name: string): string =>
      test.engine.agents.find(({ description }) => description === name)?.agentId ?? ''
    target = idOf('a')
    const sender = idOf('s')
    const killed = test.engine.kill(target, 'enough')
    await rest()
    const stopped = test.engine.kill(sender, 'you, too')
    await rest()
    ending.done()
    await Promise.all([killed, stopped])
    await run.result
    await rest()
    // Nobody who is gone starts anything.
    expect(ends(test.facts).filter((end) => end.startsWith(target))).toEqual([`${target}:1`])
    await expectAllTold(test)
    await test.engine.close()
  })
})

describe('a close', () => {
  it('while agents wait, and while a message begins a run, leaves nothing that writes', async () => {
    for (const turns of [0, 1, 2, 3, 5, 8]) {
      const { tool, open } = new Doors()
      const play: Play = {
        root: [
          callMany([agent('a'), agent('b')]),
          callMany([pass('root')]),
          (request) => callMany([send(idsIn(request)[0] ?? '', 'go on')]),
          say('I wait'),
        ],
        b: [callMany([pass('b')]), say('b')],
      }
      const memory = createMemoryStorage()
      const storage = {
        ...memory,
        append: (batch: Parameters<MemoryStorage['append']>[0]) => settle(1).then(() => memory.append(batch)),
      }
      const test = engineOf(play, tool, { storage })
      begin(test).result.catch(() => {})
      await rest()
      open('root')
      await settle(turns)
      await test.engine.close()
      const sizes = [...memory.files.values()].map(({ length }) => length)
      await rest()
      expect([...memory.files.values()].map(({ length }) => length)).toEqual(sizes)
      const next = engineOf(play, tool, { storage: memory.crash(), idsFrom: 500 })
      const run = await next.engine.resume(SESSION)
      open('b')
      expect((await run?.result)?.status).toBe('completed')
      await expectAllTold(next, [...test.facts, ...next.facts])
      await next.engine.close()
    }
  })
})

describe('an agent that began again while one that it had started runs on', () => {
  it('is one after a restart: nobody else writes its log', async () => {
    const { tool, open } = new Doors()
    const play: Play = {
      root: [
        callMany([agent('p', { subagent_type: 'short' })]),
        callMany([pass('root')]),
        (request) => callMany([send(idsIn(request)[0] ?? '', 'go on')]),
        say('I wait'),
      ],
      p: [
        callMany([agent('g', { subagent_type: 'short' })]),
        callMany([pass('p1')]),
        callMany([pass('p2')]),
        say('p'),
      ],
      g: [callMany([agent('h')]), callMany([pass('g')]), say('never')],
      h: [callMany([pass('h')]), say('h')],
    }
    const test = engineOf(play, tool)
    begin(test).result.catch(() => {})
    await rest()
    open('p1')
    await rest()
    open('root')
    await rest()
    const next = engineOf(play, tool, { storage: test.storage.crash(), idsFrom: 500 })
    const run = await next.engine.resume(SESSION)
    await rest()
    expect(next.engine.agents.map(({ description }) => description).toSorted()).toEqual([
      'g',
      'h',
      'main agent',
      'p',
    ])
    open('g')
    await rest()
    open('p2', 'h')
    expect((await run?.result)?.status).toBe('completed')
    await expectAllTold(next, [...test.facts, ...next.facts])
    await next.engine.close()
  })
})

describe('a snapshot', () => {
  it('holds what an agent is owed and what waits for it', async () => {
    for (const snapshotEvery of [1, 3]) {
      const { tool, open } = new Doors()
      const play: Play = {
        root: [callMany([agent('a'), agent('b'), pass('root')]), say('I wait')],
        a: [callMany([send('main', 'a word')]), callMany([pass('a')]), say('report of a')],
        b: [say('report of b')],
      }
      const test = engineOf(play, tool, { snapshotEvery })
      begin(test).result.catch(() => {})
      await rest()
      expect([...test.storage.files.keys()].some((path) => path.includes('/snapshots/'))).toBe(true)
      const next = engineOf(play, tool, { storage: test.storage.crash(), idsFrom: 500, snapshotEvery })
      const run = await next.engine.resume(SESSION)
      open('root', 'a')
      expect((await run?.result)?.status).toBe('completed')
      const injected = next.facts.flatMap(({ event }) =>
        event.type === 'message.added' ? (event.injects ?? []) : [],
      )
      expect(injected).toHaveLength(1)
      await expectAllTold(next, [...test.facts, ...next.facts])
      await next.engine.close()
    }
  })
})

describe('features.nesting', () => {
  it('lets agents start agents, five deep', async () => {
    const { tool } = new Doors()
    const deeper = (name: string, next: string) => ({
      [name]: [callMany([agent(next, { run_in_background: false })]), say(name)],
    })
    const play: Play = {
      ...deeper('root', 'd1'),
      ...deeper('d1', 'd2'),
      ...deeper('d2', 'd3'),
      ...deeper('d3', 'd4'),
      ...deeper('d4', 'd5'),
      ...deeper('d5', 'd6'),
    }
    const test = engineOf(play, tool)
    await begin(test).result
    expect(children(test.facts)).toHaveLength(5)
    await test.engine.close()
  })
})

describe('between two lines of two logs', () => {
  const limited: Play = {
    root: [callMany([agent('p', { subagent_type: 'short' }), agent('x')]), say('I wait')],
    x: [callMany([pass('x')]), say('report of x')],
    p: [callMany([agent('g')]), callMany([pass('p')]), say('never')],
    g: [callMany([pass('g')]), say('report of g')],
  }

  it('an end that is being given away is told when it is given up, and not before', async () => {
    for (const crashes of [false, true]) {
      const { tool, open } = new Doors()
      const disk = heldStorage()
      const test = engineOf(limited, tool, { storage: disk.storage })
      const run = begin(test)
      run.result.catch(() => {})
      await rest()
      disk.hold('child.released')
      open('p')
      await rest()
      expect(disk.isHeld).toBe(true)
      open('g')
      await rest()
      open('x')
      await rest()
      // Both have ended, and the root is owed both; but of one of them so is its parent still.
      expect(ends(test.facts)).toHaveLength(2)
      expect(told(test.facts)).toHaveLength(1)
      if (!crashes) disk.release()
      const next = crashes ? engineOf(limited, tool, { storage: disk.crash(), idsFrom: 500 }) : test
      const result = crashes ? (await next.engine.resume(SESSION))?.result : run.result
      expect((await result)?.status).toBe('completed')
      await expectAllTold(next, crashes ? [...test.facts, ...next.facts] : test.facts)
      await next.engine.close()
    }
  })

  /** The root lets `c` report, and `s` speak to it then. */
  const spoken: Play = {
    root: [callMany([agent('p'), agent('s')]), say('I wait')],
    p: [callMany([agent('c', { run_in_background: false })]), callMany([pass('p')]), say('p')],
    c: [say('first report'), say('second report')],
    s: [callMany([pass('s')]), () => callMany([send(spokenTo, 'go on')]), say('s')],
  }
  let spokenTo = ''
  const idOf = ({ facts }: TestEngine, name: string): string =>
    facts.find(({ event }) => event.type === 'agent.spawned' && event.plan.description === name)?.agentId ??
    ''

  it('somebody who is at its end is owed nothing more: who is above is told', async () => {
    const { tool, open } = new Doors()
    const disk = heldStorage()
    const test = engineOf(spoken, tool, { storage: disk.storage })
    const run = begin(test)
    await rest()
    spokenTo = idOf(test, 'c')
    disk.hold('agent.ended')
    open('p')
    await rest()
    expect(disk.isHeld).toBe(true)
    open('s')
    await rest()
    disk.release()
    expect((await run.result).status).toBe('completed')
    expect(ends(test.facts)).toContain(`${spokenTo}:2`)
    await expectAllTold(test)
    await test.engine.close()
  })

  it('a run that is about to begin is not lost', async () => {
    const { tool, open } = new Doors()
    const disk = heldStorage()
    const test = engineOf(spoken, tool, { storage: disk.storage })
    const run = begin(test)
    await rest()
    spokenTo = idOf(test, 'c')
    open('p')
    await rest()
    disk.hold(`agent-${spokenTo}`)
    open('s')
    await rest()
    expect(disk.isHeld).toBe(true)
    expect(test.facts.some(({ event }) => event.type === 'child.launched' && event.child.run === 2)).toBe(
      true,
    )
    expect(told(test.facts)).not.toContain(`${spokenTo}:2`)
    disk.release()
    expect((await run.result).status).toBe('completed')
    await expectAllTold(test)
    await test.engine.close()
  })

  it('a run that nobody begins any more is no end that anybody is told', async () => {
    const { tool, open } = new Doors()
    const disk = heldStorage()
    const test = engineOf(spoken, tool, { storage: disk.storage })
    begin(test).result.catch(() => {})
    await rest()
    spokenTo = idOf(test, 'c')
    open('p')
    await rest()
    disk.hold(`agent-${spokenTo}`)
    open('s')
    await rest()
    expect(disk.isHeld).toBe(true)
    // Who was about to begin it is stopped, and does not begin it again.
    void test.engine.kill(idOf(test, 's')).catch(() => {})
    await rest()
    const next = engineOf(spoken, tool, { storage: disk.crash(), idsFrom: 500 })
    const run = await next.engine.resume(SESSION)
    expect((await run?.result)?.status).toBe('completed')
    const facts = [...test.facts, ...next.facts]
    expect(told(facts)).not.toContain(`${spokenTo}:2`)
    expect(facts.some(({ event }) => event.type === 'child.released')).toBe(true)
    await expectAllTold(next, facts)
    await next.engine.close()
  })

  it('a child that was born for a killed parent is ended and told by the call that started it', async () => {
    const { tool } = new Doors()
    const disk = heldStorage()
    const play: Play = {
      root: [callMany([agent('p')]), say('I wait')],
      p: [callMany([agent('c')]), say('p')],
      c: [callMany([pass('c')]), say('c')],
    }
    const test = engineOf(play, tool, { storage: disk.storage })
    disk.hold('"content":"I am c"')
    const run = begin(test)
    run.result.catch(() => {})
    await rest()
    expect(disk.isHeld).toBe(true)
    void test.engine.kill(idOf(test, 'p')).catch(() => {})
    await rest()
    disk.write()
    const next = engineOf(play, tool, { storage: disk.crash(), idsFrom: 500 })
    const resumed = await next.engine.resume(SESSION)
    expect((await resumed?.result)?.status).toBe('completed')
    const c = next.facts.find(({ event }) => event.type === 'agent.ended')
    expect(told(next.facts)).toHaveLength(2)
    expect(c?.event).toMatchObject({ status: 'killed' })
    expect(await violations(next.storage)).toEqual([])
    await next.engine.close()
  })

  it('a child in the background that ended before anybody knew of it is told of as any other', async () => {
    const { tool } = new Doors()
    const disk = heldStorage()
    const play: Play = { root: [callMany([agent('c')]), say('I wait')], c: [say('c')] }
    const test = engineOf(play, tool, { storage: disk.storage })
    disk.hold('child.launched')
    begin(test).result.catch(() => {})
    await rest()
    expect(disk.isHeld).toBe(true)
    expect(ends(test.facts)).toHaveLength(1)
    const next = engineOf(play, tool, { storage: disk.crash(), idsFrom: 500 })
    expect((await (await next.engine.resume(SESSION))?.result)?.status).toBe('completed')
    const call = next.facts.find(({ event }) => event.type === 'call.ended')?.event
    expect(call).toMatchObject({ toolUseResult: { status: 'async_launched' } })
    await expectAllTold(next, [...test.facts, ...next.facts])
    await next.engine.close()
  })
})

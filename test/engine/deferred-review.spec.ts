/**
 * Reviews that agents in the background owe when they end (`review.deferBackground`): made with the first delivery,
 * recorded behind the end, and whatever comes in between, nobody reads of the work before its verdict, or twice.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { checkTree } from '../../src/journal/check/check-tree.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { readEntries } from '../../src/journal/read-entries.ts'
import { StorageError } from '../../src/journal/storage.ts'
import { type Fact, settle, story, testEngine } from '../helpers/engine.ts'
import { heldStorage } from '../helpers/held-storage.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'
const REPORT = 'I tidied up.'

type Answer = ScriptedReply | Promise<ScriptedReply>
/** Says a verdict. `asked`: how often it was asked before. */
type Reviewer = (asked: number) => Answer
/** What the root says in a turn, from 1. `child`: the id of the agent that it started. */
type Root = (turn: number, child: string, request: ModelRequest) => Answer

const verdict = (kind: string, reason = 'it deleted the tests'): ScriptedReply =>
  call('verdict', { verdict: kind, reason })
const never = (): Promise<never> => new Promise(() => {})
const start = (inBackground = true): ScriptedReply =>
  call('Agent', {
    description: 'tidy',
    prompt: 'remove what is unused',
    ...(inBackground && { run_in_background: true }),
  })
const waits: Root = (turn) => (turn === 1 ? start() : say('the end'))

interface World extends Partial<EngineOptions> {
  readonly root?: Root
  readonly child?: (request: ModelRequest) => Answer
  readonly storage?: MemoryStorage
  readonly idsFrom?: number
}

/** A root that starts a child in the background, the child, and a reviewer whose reviews are deferred. */
function world(reviewer: Reviewer, { root = waits, child = () => say(REPORT), ...options }: World = {}) {
  const requests: ModelRequest[] = []
  let asked = 0
  const made = testEngine(
    (request) => {
      requests.push(request)
      if (request.source === 'classifier') return reviewer(asked++)
      if (request.source !== 'main') return child(request)
      const id = /\ba[0-9a-f]{16}\b/.exec(JSON.stringify(request.messages))?.[0] ?? ''
      return root(request.messages.filter(({ role }) => role === 'assistant').length + 1, id, request)
    },
    { permissions: { mode: 'auto' }, review: { deferBackground: true }, ...options },
  )
  const rootId = (): string => made.facts.find(({ event }) => event.type === 'agent.spawned')?.agentId ?? ''
  return {
    ...made,
    questions: () => requests.filter(({ source }) => source === 'classifier').length,
    /** The last that the root's model was sent, all of it. */
    read: () => JSON.stringify(requests.filter(({ source }) => source === 'main').at(-1)?.messages ?? []),
    childStory: () =>
      story(made.facts.filter(({ agentId }) => agentId !== rootId())).filter((type) =>
        /^(run\.started|agent\.ended|review\.)/.test(type),
      ),
  }
}

const timesIn = (text: string, what: string | RegExp): number =>
  [...text.matchAll(new RegExp(what, 'g'))].length
const WARNING = 'SECURITY WARNING'

/** Every log obeys every law, alone and with the others. */
async function expectLawful(storage: MemoryStorage): Promise<void> {
  const logs = [...storage.files.keys()].filter((name) => name.endsWith('.jsonl'))
  const named = logs.map((name) => ({ path: name, entries: readEntries(storage, name) }))
  for (const { violation } of await checkTree(named)) expect(violation).toBeUndefined()
}

describe('a child in the background whose review is deferred', () => {
  it.each([
    ['allow', 0, 0],
    ['flag', 1, 0],
    ['block', 1, 0],
    ['splendid', 0, 1],
  ])('is reviewed behind its end, and told once, with a verdict of %s', async (kind, warnings, notes) => {
    const { engine, storage, read, questions, childStory, facts } = world(() => verdict(kind))
    expect((await engine.run('go').result).status).toBe('completed')
    await engine.close()
    expect(childStory()).toEqual(['run.started', 'agent.ended', 'review.ended'])
    expect(facts.find(({ event }) => event.type === 'agent.ended')?.event).toMatchObject({ review: 'owed' })
    expect(questions()).toBe(1)
    expect(timesIn(read(), '<task-id>')).toBe(1)
    expect(timesIn(read(), REPORT)).toBe(1)
    expect(timesIn(read(), WARNING)).toBe(warnings)
    expect(timesIn(read(), 'was not reviewed')).toBe(notes)
    await expectLawful(storage)
  })

  it('waits for no reviewer for ever: the time is over, and its parent reads a note', async () => {
    const { engine, clock, read, storage } = world(never, {
      review: { deferBackground: true, timeoutMs: 5_000 },
    })
    const run = engine.run('go')
    await settle(40)
    clock.advance(5_000)
    expect((await run.result).status).toBe('completed')
    await engine.close()
    expect(timesIn(read(), 'was not reviewed')).toBe(1)
    await expectLawful(storage)
  })

  it('has nothing of its report in its file before, and the warning above it behind', async () => {
    const cwd = temporaryFolder()
    let judge: (reply: ScriptedReply) => void = () => {}
    const { engine, childStory } = world(
      () =>
        new Promise((resolve) => {
          judge = resolve
        }),
      { cwd, outputFiles: true },
    )
    const run = engine.run('go')
    await settle(60)
    const folder = path.join(cwd, '.claude/tasks')
    const files = (): string =>
      readdirSync(folder)
        .map((name) => readFileSync(path.join(folder, name), 'utf8'))
        .join()
    expect(childStory()).toContain('agent.ended')
    expect(files()).toContain('ended: completed')
    expect(files()).not.toContain(REPORT)
    judge(verdict('flag'))
    await run.result
    await engine.close()
    expect(files()).toMatch(/SECURITY WARNING[\s\S]*I tidied up/)
    expect([timesIn(files(), WARNING), timesIn(files(), REPORT)]).toEqual([1, 1])
  })

  it('does not hold up a parent that has other work', async () => {
    let judge: (reply: ScriptedReply) => void = () => {}
    const { engine, read, questions } = world(
      () =>
        new Promise((resolve) => {
          judge = resolve
        }),
      {
        root: (turn) => {
          if (turn === 1) return start()
          if (turn < 6) return call('ListAgents', {})
          return say('the end')
        },
      },
    )
    const run = engine.run('go')
    await settle(150)
    expect(timesIn(read(), '"ListAgents"')).toBe(4)
    expect(read()).not.toContain(REPORT)
    judge(verdict('flag'))
    await run.result
    await engine.close()
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1, 1])
  })

  it('counts what its review cost once, for everybody above it', async () => {
    const { engine } = world(() => ({
      calls: [{ name: 'verdict', input: { verdict: 'allow' } }],
      usage: { input_tokens: 1_000, output_tokens: 100 },
    }))
    const { modelUsage } = await engine.run('go').result
    await engine.close()
    expect(modelUsage['claude-haiku-5-5']).toMatchObject({ input_tokens: 1_000, output_tokens: 100 })
  })

  it('was moved there late: it owes its review all the same', async () => {
    const { engine, childStory, storage, read, events } = world(() => verdict('flag'), {
      root: (turn) => (turn === 1 ? start(false) : say('the end')),
      child: ({ messages }) => (messages.length === 1 ? call('ListAgents', {}) : say(REPORT)),
    })
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && event.event.type === 'reply.received' && event.seq > 0)
        void engine.background(event.agentId)
    })
    await engine.run('go').result
    await engine.close()
    expect(story(events.filter((event): event is Fact => event.kind === 'fact'))).toContain(
      'agent.backgrounded',
    )
    expect(childStory()).toEqual(['run.started', 'agent.ended', 'review.ended'])
    expect([timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1])
    await expectLawful(storage)
  })

  it('is reviewed before its end in the foreground, as ever', async () => {
    const { engine, childStory, read } = world(() => verdict('flag'), {
      root: (turn) => (turn === 1 ? start(false) : say('the end')),
    })
    await engine.run('go').result
    await engine.close()
    expect(childStory()).toEqual(['run.started', 'review.requested', 'review.ended', 'agent.ended'])
    expect(timesIn(read(), WARNING)).toBe(1)
  })

  it('costs nothing in other modes, and where it has nothing to hand in', async () => {
    for (const options of [
      { permissions: { mode: 'bypassPermissions' } },
      { child: () => say('') },
    ] satisfies World[]) {
      const { engine, questions, childStory } = world(() => verdict('block'), options)
      await engine.run('go').result
      await engine.close()
      expect([questions(), childStory()]).toEqual([0, ['run.started', 'agent.ended']])
    }
  })
})

describe('whoever asks for the report first', () => {
  it('waits for the verdict with TaskOutput, and is not told again', async () => {
    const { engine, read, questions, storage } = world(() => verdict('block'), {
      root: (turn, child) =>
        turn === 1 ? start() : turn === 2 ? call('TaskOutput', { task_id: child }) : say('the end'),
    })
    await engine.run('go').result
    await engine.close()
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1, 1])
    expect(read()).not.toContain('<task-id>')
    await expectLawful(storage)
  })

  it('shares one judgement with everybody who asks at the same time', async () => {
    let judge: (reply: ScriptedReply) => void = () => {}
    const { engine, read, questions, storage } = world(
      () =>
        new Promise((resolve) => {
          judge = resolve
        }),
      {
        root: (turn, child) => {
          if (turn === 1) return start()
          if (turn > 2) return say('the end')
          const ask = { name: 'TaskOutput', input: { task_id: child } }
          return callMany([ask, ask])
        },
      },
    )
    const run = engine.run('go')
    await settle(100)
    judge(verdict('flag'))
    await run.result
    await engine.close()
    expect(questions()).toBe(1)
    expect(timesIn(read(), WARNING)).toBe(timesIn(read(), REPORT))
    expect(read()).not.toContain('<task-id>')
    await expectLawful(storage)
  })

  it('begins no next run before it: a message waits for the verdict on the last run', async () => {
    let judge: (reply: ScriptedReply) => void = () => {}
    const { engine, read, questions, childStory, storage } = world(
      (asked) =>
        asked === 0
          ? new Promise((resolve) => {
              judge = resolve
            })
          : verdict('block', 'the second was worse'),
      {
        root: (turn, child) => {
          if (turn === 1) return start()
          if (turn === 2) return call('SendMessage', { to: child, message: 'once more' })
          return say('the end')
        },
        child: ({ messages }) => say(messages.length === 1 ? REPORT : 'Once more it is.'),
      },
    )
    const run = engine.run('go')
    await settle(150)
    expect(childStory()).toEqual(['run.started', 'agent.ended'])
    judge(verdict('flag'))
    await run.result
    await engine.close()
    const once = ['run.started', 'agent.ended', 'review.ended']
    expect(childStory()).toEqual([...once, ...once])
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), 'the second was worse')]).toEqual([
      2, 2, 1,
    ])
    expect([timesIn(read(), REPORT), timesIn(read(), 'Once more it is')]).toEqual([1, 1])
    await expectLawful(storage)
  })
})

describe('a deferred review that something comes in the way of', () => {
  /** The disk as a crash right behind the first event of a type leaves it. */
  async function crashBehind(type: string): Promise<MemoryStorage> {
    const first = world(() => verdict('block'))
    const storages: MemoryStorage[] = []
    first.engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && event.event.type === type) storages.push(first.storage.crash())
    })
    await first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await first.engine.close()
    const [storage] = storages
    if (storage === undefined) throw new Error(`there was no ${type}`)
    return storage
  }

  /** The same disk, for the next process. */
  const again = ({ files }: MemoryStorage): MemoryStorage => createMemoryStorage({ files })

  const resumed = async (storage: MemoryStorage, more: World = {}) => {
    const second = world(() => verdict('flag', 'the second look'), { storage, idsFrom: 100_000, ...more })
    const run = await second.engine.resume(SESSION)
    expect((await run?.result)?.status).toBe('completed')
    await second.engine.close()
    await expectLawful(second.storage)
    return second
  }

  it('is made by the next process when the last one died behind the end', async () => {
    const { questions, read } = await resumed(await crashBehind('agent.ended'))
    expect(questions()).toBe(1)
    expect([timesIn(read(), WARNING), timesIn(read(), 'the second look')]).toEqual([1, 1])
  })

  it('is not made again when it is recorded, and nobody was told yet', async () => {
    const { questions, read } = await resumed(await crashBehind('review.ended'))
    expect(questions()).toBe(0)
    expect([timesIn(read(), WARNING), timesIn(read(), 'it deleted the tests')]).toEqual([1, 1])
  })

  it('is recorded before anybody is told, and made again when the process died in between', async () => {
    const held = heldStorage()
    held.hold('"review.ended"')
    const first = world(() => verdict('block'), { storage: held.storage })
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await settle(100)
    expect(held.isHeld).toBe(true)
    expect(first.read()).not.toContain(REPORT)
    const storage = held.crash()
    const { questions, read } = await resumed(storage)
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), 'the second look')]).toEqual([1, 1, 1])
  })

  it('does not hold up a close, and is made again behind it', async () => {
    const first = world(never)
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await settle(60)
    expect(first.questions()).toBe(1)
    await first.engine.close()
    const { questions, read } = await resumed(again(first.storage))
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1, 1])
  })

  it('does not hold up a close while somebody waits for it with TaskOutput', async () => {
    const first = world(never, {
      root: (turn, child) => (turn === 1 ? start() : call('TaskOutput', { task_id: child })),
    })
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await settle(100)
    expect(first.questions()).toBe(1)
    await first.engine.close()
    const { questions, read } = await resumed(again(first.storage), { root: () => say('the end') })
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1, 1])
  })

  it('is not made for a root that was stopped, and is made when the user speaks to it again', async () => {
    let isPatient = false
    const { engine, questions, read, storage } = world(() => (isPatient ? verdict('flag') : never()))
    const run = engine.run('go', { sessionId: SESSION })
    await settle(60)
    expect(questions()).toBe(1)
    await engine.kill(await run.started)
    expect((await run.result).status).toBe('killed')
    await settle(20)
    expect(questions()).toBe(1)
    isPatient = true
    await engine.run('and now?', { sessionId: SESSION }).result
    await engine.close()
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([2, 1, 1])
    await expectLawful(storage)
  })

  it('does not hold up an end of everything', async () => {
    const { engine } = world(never, {
      root: (turn, child) => (turn === 1 ? start() : call('TaskOutput', { task_id: child })),
    })
    const run = engine.run('go')
    await settle(100)
    await engine.killAll()
    expect((await run.result).status).toBe('killed')
    await engine.close()
  })

  it('costs nothing when nobody is ever told', async () => {
    const { engine, questions, facts } = world(() => verdict('flag'), {
      root: (turn) => (turn === 1 ? start() : never()),
    })
    const run = engine.run('go', { leavesChildren: true })
    await settle(60)
    expect(story(facts)).toContain('agent.ended')
    await engine.kill(await run.started)
    await run.result
    await engine.close()
    expect(questions()).toBe(0)
  })

  it('is given up where a call is stopped in the moment in which its child goes to the background', async () => {
    const held = heldStorage()
    let answer: () => void = () => {}
    const { engine, questions, childStory, facts, storage } = world(() => verdict('flag'), {
      storage: held.storage,
      root: (turn) => (turn === 1 ? start(false) : say('the end')),
      child: () =>
        new Promise((resolve) => {
          answer = () => resolve(say(REPORT))
        }),
    })
    const stop = new AbortController()
    const run = engine.run('go', { signal: stop.signal })
    await settle(40)
    held.hold('"agent.backgrounded"')
    void engine.background(facts.at(-1)?.agentId ?? '')
    answer()
    await settle(20)
    expect(held.isHeld).toBe(true)
    // Its move and its last word are applied in one go, and the root is stopped in it.
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && event.event.type === 'reply.received') stop.abort()
    })
    held.release()
    expect((await run.result).status).toBe('killed')
    await engine.close()
    expect(questions()).toBe(0)
    expect(childStory()).toEqual(['run.started', 'agent.ended', 'review.ended'])
    const result = JSON.stringify(facts.find(({ event }) => event.type === 'call.ended')?.event)
    expect([timesIn(result, 'was not reviewed') > 0, timesIn(result, REPORT) > 0]).toEqual([true, true])
    await expectLawful(storage)
  })

  it('is told all the same where it cannot be recorded', async () => {
    const memory = createMemoryStorage()
    const storage: MemoryStorage = {
      ...memory,
      append: (batch) => {
        const full = batch.find(({ text }) => text.includes('"review.ended"'))
        if (full !== undefined) throw new StorageError('full', full.path, 'the disk is full')
        return memory.append(batch)
      },
    }
    const { engine, read, questions, events } = world(() => verdict('flag'), { storage })
    expect((await engine.run('go').result).status).toBe('completed')
    await engine.close()
    expect([questions(), timesIn(read(), WARNING), timesIn(read(), REPORT)]).toEqual([1, 1, 1])
    expect(events.filter((event) => event.kind === 'diagnostic').map(({ code }) => code)).toContain(
      'review-not-recorded',
    )
  })
})

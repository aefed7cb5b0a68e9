/**
 * Ends of agents in the background, against every moment: whatever their parent does just then, whatever it has read
 * itself, and wherever between «stored» and «delivered» the process dies, each result comes into its context once.
 */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { Doors } from '../helpers/doors.ts'
import type { Fact, TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'
const DOORS = ['door-a', 'door-b', 'door-c']
const rest = () => settle(25)

/** What the parent is at when three agents end in the same tick. */
type Moment = 'idle' | 'waiting' | 'in a tool' | 'compacting' | 'reading one of them'
const PHASES = {
  idle: 'completed',
  waiting: 'waiting',
  'in a tool': 'acting',
  compacting: 'compacting',
  'reading one of them': 'acting',
} as const satisfies Record<Moment, string>
const MOMENTS: readonly Moment[] = ['idle', 'waiting', 'in a tool', 'compacting', 'reading one of them']

interface Scene {
  readonly moment: Moment
  /** Whether the parent has read the first result with TaskOutput before. */
  readonly hasRead: boolean
}

const SCENES: readonly Scene[] = MOMENTS.flatMap((moment) =>
  [false, true].map((hasRead) => ({ moment, hasRead })),
)

/** One life of a process. */
interface Life extends TestEngine {
  readonly doors: Doors
  readonly requests: ModelRequest[]
  /** Lets a summary that is asked for be given. */
  readonly letSumUp: () => void
}

const isTold = ({ event }: Fact): boolean =>
  (event.type === 'message.added' || event.type === 'run.started') && event.tells !== undefined

/** Every end that was told, by notice or by a call's result. */
function told(facts: readonly Fact[]): string[] {
  return facts.flatMap(({ event }) => {
    if (event.type === 'message.added' || event.type === 'run.started')
      return (event.tells ?? []).map(({ agentId, run }) => `${agentId}:${run}`)
    return event.type === 'call.ended' && event.delivered !== undefined
      ? [`${event.delivered.agentId}:${event.delivered.run}`]
      : []
  })
}

function lifeOf({ moment, hasRead }: Scene, storage?: MemoryStorage): Life {
  const doors = new Doors()
  doors.open('door-through')
  const requests: ModelRequest[] = []
  let letSumUp = (): void => {}
  const mayFinish = new Promise<void>((resolve) => {
    letSumUp = resolve
  })

  const root = (request: ModelRequest): ScriptedReply => {
    const text = JSON.stringify(request.messages)
    if (text.includes('SUMMARY')) return say('done')
    const turn = turnOf(request)
    const read = (turnOfFirst: RegExpExecArray | null) =>
      callMany([{ name: 'TaskOutput', input: { task_id: turnOfFirst?.[1], block: true } }])
    const ids = [...text.matchAll(/agentId: (a[0-9a-f]{16})/g)]
    if (turn === 0)
      return callMany(
        DOORS.map((door) => ({
          name: 'Agent',
          input: { description: door, prompt: door, run_in_background: true },
        })),
      )
    if (hasRead && turn === 1) return read(ids[0] ?? null)
    if (turn > (hasRead ? 2 : 1)) return say('done')
    switch (moment) {
      case 'idle':
      case 'waiting':
        return say('nothing else to do')
      case 'in a tool':
        return callMany([{ name: 'Pass', input: { door: 'door-root' } }])
      case 'compacting':
        return {
          ...callMany([{ name: 'Pass', input: { door: 'door-through' } }]),
          usage: { input_tokens: 96_000 },
        }
      case 'reading one of them':
        return read(ids[hasRead ? 1 : 0] ?? null)
    }
  }

  const test = testEngine(
    (request: ModelRequest) => {
      requests.push(request)
      if (request.source === 'compact') return mayFinish.then(() => say('SUMMARY of what was'))
      if (request.source === 'main') return root(request)
      const door = /door-\w/.exec(JSON.stringify(request.messages[0]))?.[0] ?? ''
      return request.messages.length === 1
        ? callMany([{ name: 'Pass', input: { door } }])
        : say(`report of ${door}`)
    },
    {
      tools: [doors.tool],
      maxTokens: 5_000,
      limits: { contextMargin: 5_000 },
      modelFacts: { '': { contextWindow: 100_000 } },
      idsFrom: storage === undefined ? 0 : 5_000,
      ...(storage !== undefined && { storage }),
    },
  )
  return { ...test, doors, requests, letSumUp }
}

/** Brings the parent to its moment, with all three agents at work, or two where it has read one result. */
async function begin(life: Life, { moment, hasRead }: Scene): Promise<void> {
  const { result } = life.engine.run('go', { sessionId: SESSION, leavesChildren: moment === 'idle' })
  result.catch(() => {})
  await rest()
  if (hasRead) life.doors.open('door-a')
  await rest()
}

/** All that is left ends in the same tick; then whatever holds the parent up is over. */
async function finish({ doors, letSumUp }: Life): Promise<void> {
  for (const door of DOORS) doors.open(door)
  await rest()
  doors.open('door-root')
  letSumUp()
  await rest()
}

/** Dies right behind the fact with this number after the moment has come; undefined: it lives on. */
async function dieAfter(life: Life, scene: Scene, count: number): Promise<MemoryStorage | undefined> {
  await begin(life, scene)
  let after: MemoryStorage | undefined
  let seen = 0
  const watching = life.engine.events$.subscribe(({ kind }) => {
    if (kind === 'fact' && ++seen === count) after = life.storage.crash()
  })
  await finish(life)
  watching.unsubscribe()
  return after
}

function expectToldOnce(lives: readonly Life[], { moment, hasRead }: Scene): void {
  const facts = lives.flatMap((life) => life.facts)
  const keys = told(facts)
  expect([...new Set(keys)].sort()).toEqual([...keys].sort())
  expect(keys).toHaveLength(3)
  const last = lives.flatMap(({ requests }) => requests).findLast(({ source }) => source === 'main')
  const text = JSON.stringify(last?.messages)
  for (const door of DOORS) {
    // What it had read before it was summed up is in the summary only.
    const isGone = moment === 'compacting' && hasRead && door === 'door-a'
    expect(text.split(`report of ${door}`), door).toHaveLength(isGone ? 1 : 2)
  }
  const live = lives.at(-1)?.engine.agents ?? []
  expect(live.filter(({ phase }) => !['idle', 'completed'].includes(phase))).toEqual([])
}

describe.each(SCENES)('three agents that end in the same tick ($moment, has read one: $hasRead)', (scene) => {
  const unread = 3 - (scene.hasRead ? 1 : 0) - (scene.moment === 'reading one of them' ? 1 : 0)

  it('are told once, all in one notice', async () => {
    const life = lifeOf(scene)
    await begin(life, scene)
    expect(life.engine.agents[0]?.phase).toBe(PHASES[scene.moment])
    expect(told(life.facts)).toHaveLength(scene.hasRead ? 1 : 0)
    await finish(life)
    expectToldOnce([life], scene)
    const notices = life.facts.flatMap((fact) => (isTold(fact) ? [told([fact]).length] : []))
    expect(notices).toEqual([unread])
    await life.engine.close()
  })

  it('are told once wherever the process dies between their ends and the last word', async () => {
    let died = 0
    // Every second fact: the two kinds of scenes take turns.
    for (let count = scene.hasRead ? 2 : 1; ; count += 2) {
      const first = lifeOf(scene)
      const disk = await dieAfter(first, scene, count)
      if (disk === undefined) {
        await first.engine.close()
        break
      }
      died += 1
      const ended = first.facts.filter(({ event }) => event.type === 'agent.ended').length
      const second = lifeOf(scene, disk)
      const resumed = await second.engine.resume(SESSION)
      resumed?.result.catch(() => {})
      await rest()
      await finish(second)
      expectToldOnce([first, second], scene)
      // All had ended, nothing was delivered: the next process has everything to tell, and tells it at once.
      if (ended >= 3 && !first.facts.some(isTold) && told(first.facts).length === 3 - unread) {
        expect(second.facts.filter(isTold)).toHaveLength(1)
      }
      await second.engine.close()
    }
    expect(died).toBeGreaterThan(3)
  })
})

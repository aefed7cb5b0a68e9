/**
 * Sessions that are recorded as histories: short, each named after what it shows. Ids count up and the clock stands
 * where a scenario puts it, so that a recording can be told from another only by what the engine does.
 */
import { z } from 'zod'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { Model, ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import type { Engine, EngineOptions } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { AgentId } from '../../src/machines/ids.ts'

/** All histories have this session id. */
export const HISTORY_SESSION = '5e551011-0000-4000-8000-00000000abcd'
const START = Date.UTC(2026, 10, 30, 12)

/** What a scenario is given: engines on one disk, one after the other. */
export interface Stage {
  /** An engine on the disk as it is now. */
  engine(model: Model, options?: Partial<EngineOptions>): Engine
  /** The process dies: the next engine starts on what has survived. */
  crash(): void
  /** The next append is cut off after this many bytes, and the process dies in it. */
  tear(bytes: number): void
  readonly storage: MemoryStorage
}

export type Scenario = (stage: Stage) => Promise<void>

const AGENT = (prompt: string, type = 'general-purpose') => ({
  name: 'Agent',
  input: { description: prompt, prompt, subagent_type: type },
})

/** A tool that answers by `run`. */
const tool = (name: string, resume: Tool['resume'], run: Tool['run']): Tool =>
  ({
    name,
    description: `${name} something`,
    inputSchema: z.strictObject({ what: z.string() }),
    resume,
    isReadOnly: () => resume === 'repeat',
    isConcurrencySafe: () => resume === 'repeat',
    run,
  }) satisfies Tool

const look = tool('Look', 'repeat', async () => ({ content: 'it is green' }))
const act = tool('Bash', 'interrupt', async () => ({ content: 'done' }))
/** One that is at it until it is stopped. */
const stuck = (name: string, resume: Tool['resume']): Tool =>
  tool(
    name,
    resume,
    (_, { signal }) =>
      new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )

/** The tools that the histories are recorded with. */
export const HISTORY_TOOLS: readonly Tool[] = [look, act, stuck('Stuck', 'interrupt')]

const turnOf = ({ messages }: ModelRequest): number =>
  messages.filter(({ role }) => role === 'assistant').length
const script = (said: (request: ModelRequest) => ScriptedReply): Model => createScriptedModel(said)

const ask = (engine: Engine, prompt: string, maxTurns?: number) =>
  engine.run(prompt, { sessionId: HISTORY_SESSION, ...(maxTurns !== undefined && { maxTurns }) })

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'one-answer': async ({ engine }) => {
    await ask(engine(createScriptedModel([say('Hello.')])), 'hello').result
  },
  'two-runs': async ({ engine }) => {
    const made = engine(createScriptedModel([say('One.'), say('Two.')]))
    await ask(made, 'first').result
    await ask(made, 'second').result
  },
  'a-tool-call': async ({ engine }) => {
    const replies = [call('Look', { what: 'the light' }, 'I look.'), say('Green.')]
    await ask(engine(createScriptedModel(replies)), 'which colour?').result
  },
  'parallel-children': async ({ engine }) => {
    const model = script((request) => {
      if (request.source !== 'main') return say(`report: ${String(request.messages[0]?.content)}`)
      return turnOf(request) === 0 ? callMany([AGENT('left'), AGENT('right')], 'Both.') : say('Done.')
    })
    await ask(engine(model), 'look on both sides').result
  },
  'reviewed-children': async ({ engine }) => {
    const judge = (request: ModelRequest): ScriptedReply => {
      const question = String(request.messages[0]?.content)
      if (question.includes('>\nlost\n')) return say('Who can tell?')
      const harm = question.includes('<proposed-call') ? 'block' : 'flag'
      const isHarm = question.includes('"wipe"') || question.includes('>\nleft\n<')
      return call('verdict', {
        verdict: isHarm && !question.includes('"tidy"}') ? harm : 'allow',
        reason: 'As told.',
      })
    }
    const model = script((request) => {
      if (request.source === 'classifier') return judge(request)
      const isFirst = turnOf(request) === 0
      if (request.source !== 'main')
        return isFirst && request.messages[0]?.content === 'right'
          ? call('Bash', { what: 'tidy' })
          : say(`report: ${String(request.messages[0]?.content)}`)
      if (!isFirst) return say('Done.')
      return callMany([
        AGENT('left'),
        AGENT('right'),
        AGENT('lost'),
        { name: 'Bash', input: { what: 'wipe' } },
      ])
    })
    await ask(engine(model, { permissions: { mode: 'auto' } }), 'look after it').result
  },
  'deferred-reviews': async ({ engine }) => {
    const inBackground = (prompt: string) => {
      const { name, input } = AGENT(prompt)
      return { name, input: { ...input, run_in_background: true } }
    }
    const model = script((request) => {
      if (request.source === 'classifier') {
        const isHarm = String(request.messages[0]?.content).includes('>\nleft\n<')
        return call('verdict', { verdict: isHarm ? 'flag' : 'allow', reason: 'As told.' })
      }
      if (request.source !== 'main') return say(`report: ${String(request.messages[0]?.content)}`)
      if (turnOf(request) > 0) return say('Done.')
      return callMany([inBackground('left'), AGENT('right')])
    })
    const options = { permissions: { mode: 'auto' }, review: { deferBackground: true } } as const
    await ask(engine(model, options), 'look after it').result
  },
  'a-failed-child': async ({ engine }) => {
    const model = script((request) => {
      if (request.source !== 'main')
        return new ModelError('invalid-request', 'no such model', { retryable: false })
      return turnOf(request) === 0 ? callMany([AGENT('fails')]) : say('It failed.')
    })
    await ask(engine(model), 'try it').result
  },
  'a-kill': async ({ engine }) => {
    const made = engine(createScriptedModel([callMany([{ name: 'Stuck', input: { what: 'for ever' } }])]))
    const run = ask(made, 'get stuck')
    const agentId = await run.started
    await settled()
    await made.kill(agentId, 'enough')
    await run.result
  },
  'a-killed-tree': async ({ engine }) => {
    const model = script((request) =>
      request.source === 'main' ? callMany([AGENT('hangs')]) : call('Stuck', { what: 'for ever' }),
    )
    const made = engine(model)
    const run = ask(made, 'delegate')
    const agentId = await run.started
    await settled()
    await made.kill(agentId)
    await run.result
  },
  'a-turn-limit': async ({ engine }) => {
    const model = script(() => call('Look', { what: 'again' }, 'Once more.'))
    await ask(engine(model), 'look for ever', 2).result
  },
  'a-crash-and-a-resume': async (stage) => {
    const manual = createManualModel()
    const lost = ask(stage.engine(manual.model), 'think')
    lost.result.catch(() => {})
    await lost.started
    await settled()
    stage.crash()
    const run = await stage.engine(createScriptedModel([say('Thought.')])).resume(HISTORY_SESSION)
    await run?.result
  },
  'an-interrupted-call': async (stage) => {
    const begun = stage.engine(createScriptedModel([call('Bash', { what: 'rm' })]), {
      tools: [stuck('Bash', 'interrupt')],
    })
    const lost = ask(begun, 'clean up')
    lost.result.catch(() => {})
    await lost.started
    await settled()
    stage.crash()
    const run = await stage.engine(createScriptedModel([say('I shall check.')])).resume(HISTORY_SESSION)
    await run?.result
  },
  'a-denied-call': async ({ engine }) => {
    const model = createScriptedModel([call('Bash', { what: 'rm' }), say('I may not.')])
    await ask(engine(model, { permissions: { mode: 'dontAsk' } }), 'clean up').result
  },
  'max-tokens': async ({ engine }) => {
    const model = createScriptedModel([{ text: 'This goes on and', stopReason: 'max_tokens' }])
    await ask(engine(model), 'tell me all').result
  },
  'max-tokens-inside-a-call': async ({ engine }) => {
    const cut = { calls: [{ name: 'Look', input: { what: 'x' } }], stopReason: 'max_tokens' }
    await ask(engine(createScriptedModel([cut, say('Shorter.')])), 'look').result
  },
  'a-failed-request': async ({ engine }) => {
    const model = script(() => new ModelError('unauthorized', 'the key is wrong', { retryable: false }))
    await ask(engine(model), 'hello').result
  },
  'a-torn-reply': async (stage) => {
    const manual = createManualModel()
    const lost = ask(stage.engine(manual.model), 'look twice')
    lost.result.catch(() => {})
    await lost.started
    await settled()
    // The first line of the reply is whole, the second is not.
    stage.tear(700)
    const request = await manual.request(0)
    request.reply(
      callMany(
        [
          { name: 'Look', input: { what: 'here' } },
          { name: 'Look', input: { what: 'there' } },
        ],
        'Two looks.',
      ),
    )
    await settled()
    stage.crash()
    const run = await stage.engine(createScriptedModel([say('Now I know.')])).resume(HISTORY_SESSION)
    await run?.result
  },
  // Nothing moves a run to the background yet; the line is written as the engine will.
  'a-move-to-the-background': async (stage) => {
    const lost = ask(stage.engine(createManualModel().model), 'take your time')
    lost.result.catch(() => {})
    await lost.started
    await settled()
    const [path, text] = [...stage.storage.files].find(([name]) => name.endsWith('.jsonl')) ?? ['', '']
    const line = text.trimEnd().split('\n').at(-1) ?? ''
    const moved = line
      .replace(/"seq":(\d+)/, (_, seq: string) => `"seq":${Number(seq) + 1}`)
      .replace(/"event":\{.*\}\}$/, '"event":{"type":"agent.backgrounded","by":"user"}}')
    await stage.storage.append([{ path, text: `${moved}\n` }])
    stage.crash()
    const run = await stage.engine(createScriptedModel([say('I took it.')])).resume(HISTORY_SESSION)
    await run?.result
  },
  'a-branch': async ({ engine }) => {
    const made = engine(createScriptedModel([say('One.'), say('Another.')]))
    await ask(made, 'first').result
    await made.branch(HISTORY_SESSION, { prompt: 'otherwise?' }).result
  },
}

/** Plays a scenario and gives its files, by their paths below the folder of sessions. */
export async function record(scenario: Scenario): Promise<ReadonlyMap<string, string>> {
  let storage = createMemoryStorage()
  let ids = 0
  const engines: Engine[] = []
  const clock = createVirtualClock(START)
  const hex = (length: number): string => (ids++).toString(16).padStart(length, '0')
  const options: Omit<EngineOptions, 'model'> = {
    clock,
    ids: {
      uuid: () => `00000000-0000-4000-8000-${hex(12)}`,
      agentId: () => `a${hex(16)}` as AgentId,
      random: () => 0.5,
    },
    processes: {
      run: () => Promise.reject(new Error('no history runs processes')),
      endSurvivors: () => Promise.resolve(0),
    },
    home: '/history',
    cwd: '/',
    permissions: { mode: 'bypassPermissions' },
    tools: HISTORY_TOOLS,
    retries: { maxRetries: 0 },
  }
  const stage: Stage = {
    engine: (model, more = {}) => {
      const engine = createEngine({ model, ...options, ...more, storage })
      engines.push(engine)
      return engine
    },
    crash: () => {
      engines.length = 0
      storage = storage.crash()
    },
    tear: (bytes) => storage.tearNextAppend(bytes),
    get storage() {
      return storage
    },
  }
  await scenario(stage)
  const files = new Map(storage.files)
  for (const engine of engines) await engine.close()
  return new Map(
    [...files]
      .filter(([path]) => path.endsWith('.jsonl'))
      .map(([path, text]) => [path.replace(/^.*\/projects\/[^/]+\//, ''), text] as const),
  )
}

/** Lets everything that is ready run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

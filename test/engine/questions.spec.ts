/** Questions to the person: asked once, answered once, over restarts; and the mode that an approved plan leads to. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { askUserQuestionTool } from '../../src/effects/tools/ask-user-question.ts'
import { exitPlanModeTool } from '../../src/effects/tools/exit-plan-mode.ts'
import type { EngineOptions, QuestionAnswer, QuestionRequest } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { pretendedWrite } from '../helpers/tools.ts'

const SESSION = '44444444-4444-4444-8444-444444444444'
const rest = () => settle(80)

class World {
  readonly done: string[] = []
  readonly tool = pretendedWrite(this.done)
}

interface Options {
  readonly mode?: NonNullable<EngineOptions['permissions']>['mode']
  readonly questions?: EngineOptions['questions']
  readonly storage?: MemoryStorage
  readonly idsFrom?: number
}

function engineOf(
  world: World,
  script: (request: ModelRequest) => ScriptedReply,
  { mode = 'default', questions = { wait: true }, ...more }: Options = {},
) {
  const requests: ModelRequest[] = []
  const tested = testEngine(
    (request) => {
      requests.push(request)
      return script(request)
    },
    {
      tools: [world.tool, exitPlanModeTool, askUserQuestionTool],
      permissions: { mode },
      questions,
      ...more,
    },
  )
  const results = () =>
    tested.facts.flatMap(({ event }) =>
      event.type === 'call.ended'
        ? [{ outcome: event.outcome, text: JSON.stringify(event.result.content) }]
        : [],
    )
  const types = () => tested.facts.map(({ event }) => event.type)
  return { ...tested, requests, results, types }
}

const QUESTION = {
  question: 'Which one?',
  header: 'Choice',
  options: [
    { label: 'A', description: 'the first' },
    { label: 'B', description: 'the second' },
  ],
}
const asks = callMany([{ name: 'AskUserQuestion', input: { questions: [QUESTION] } }])
const shows = callMany([{ name: 'ExitPlanMode', input: { plan: 'Write a file.' } }])
const writes = (file: string) => callMany([{ name: 'Write', input: { file_path: file } }])
const inOrder =
  (...replies: readonly ScriptedReply[]) =>
  (request: ModelRequest): ScriptedReply =>
    replies[turnOf(request)] ?? say('done')
const CHOSEN: QuestionAnswer = { kind: 'questions', answers: { 'Which one?': 'B' } }
const toolsIn = ({ tools }: ModelRequest): readonly string[] => tools.map(({ name }) => name)

describe('a question', () => {
  it('is answered by the host, and the model reads the answer', async () => {
    const asked: QuestionRequest[] = []
    const { engine, results, types } = engineOf(new World(), inOrder(asks), {
      questions: {
        answer: (request) => {
          asked.push(request)
          return CHOSEN
        },
      },
    })
    await engine.run('go').result
    await engine.close()
    expect(asked).toMatchObject([{ agentType: 'main', question: { kind: 'questions' } }])
    expect(results()[0]?.text).toContain('→ B')
    expect(types()).toEqual(expect.arrayContaining(['question.asked', 'question.answered']))
  })

  it('waits; a wrong answer leaves it waiting, the right one is taken once', async () => {
    const { engine, results } = engineOf(new World(), inOrder(asks))
    const run = engine.run('go')
    await rest()
    const id = engine.questions[0]?.questionId ?? ''
    const bad = expect.objectContaining({ code: 'bad-answer' })
    expect(() => engine.answerQuestion(id, { kind: 'plan', approved: true })).toThrow(bad)
    // What a host without types may give.
    expect(() => engine.answerQuestion(id, JSON.parse('{"kind":"questions","answers":3}'))).toThrow(bad)
    engine.answerQuestion(id, CHOSEN, 'ann')
    expect(() => engine.answerQuestion(id, CHOSEN)).toThrow(
      expect.objectContaining({ code: 'no-such-question' }),
    )
    await run.result
    await engine.close()
    expect(results()).toMatchObject([{ outcome: 'ok' }])
  })

  it('can be put away, and is when the host fails to answer; the failure is told', async () => {
    const { engine, results, events } = engineOf(new World(), inOrder(asks), {
      questions: {
        answer: () => {
          throw new Error('the dialog crashed')
        },
      },
    })
    await engine.run('go').result
    await engine.close()
    expect(results()[0]?.text).toContain('without an answer')
    expect(events).toContainEqual(expect.objectContaining({ kind: 'diagnostic', code: 'question-failed' }))
  })

  it('is not possible where nobody answers: the tools that ask are not offered', async () => {
    const { engine, requests, results } = engineOf(new World(), inOrder(asks, shows), {
      mode: 'plan',
      questions: {},
    })
    await engine.run('go').result
    await engine.close()
    expect(toolsIn(requests[0] ?? fail())).not.toContain('AskUserQuestion')
    expect(toolsIn(requests[0] ?? fail())).not.toContain('ExitPlanMode')
    expect(results().map(({ outcome }) => outcome)).toEqual(['denied', 'denied'])
  })

  it('is the main agent’s: a child has no tools that ask', async () => {
    const { engine, requests } = engineOf(new World(), (request) => {
      if (JSON.stringify(request.messages[0]).includes('the part')) return say('report')
      return turnOf(request) === 0
        ? callMany([{ name: 'Agent', input: { description: 'a part', prompt: 'the part' } }])
        : say('done')
    })
    await engine.run('go').result
    await engine.close()
    const child = requests.find(({ source }) => source !== 'main')
    expect(toolsIn(child ?? fail())).not.toContain('AskUserQuestion')
    expect(toolsIn(child ?? fail())).not.toContain('ExitPlanMode')
  })

  it('without an answer is asked again after a crash, under the same id', async () => {
    const first = engineOf(new World(), inOrder(asks))
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    const [before] = first.engine.questions
    const storage = first.storage.crash()
    const second = engineOf(new World(), inOrder(asks), { storage, idsFrom: 100_000 })
    const run = await second.engine.resume(SESSION)
    await rest()
    expect(second.engine.questions).toEqual([before])
    second.engine.answerQuestion(before?.questionId ?? '', CHOSEN)
    await run?.result
    await second.engine.close()
    await first.engine.close().catch(() => {})
    expect(second.results()).toMatchObject([{ outcome: 'ok' }])
    expect(second.types()).not.toContain('question.asked')
  })
})

describe('a plan', () => {
  it('that is approved ends plan mode: what was refused before is done after, with the same tools', async () => {
    const world = new World()
    const { engine, requests, results, facts } = engineOf(
      world,
      inOrder(writes('early'), shows, writes('late')),
      {
        mode: 'plan',
        questions: { answer: () => ({ kind: 'plan', approved: true, mode: 'acceptEdits' }) },
      },
    )
    await engine.run('go').result
    await engine.close()
    expect(results().map(({ outcome }) => outcome)).toEqual(['denied', 'ok', 'ok'])
    expect(results()[0]?.text).toContain('permission mode \\"plan\\"')
    expect(world.done).toEqual(['late'])
    expect(new Set(requests.map((request) => JSON.stringify(request.tools))).size).toBe(1)
    expect(JSON.stringify(requests[0]?.messages)).toContain('Plan mode is on')
    expect(facts.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'mode.changed', from: 'plan', mode: 'acceptEdits' }),
    )
  })

  it('that is approved without a mode leads to the one that asks', async () => {
    const world = new World()
    const { engine, facts } = engineOf(world, inOrder(shows, writes('late')), {
      mode: 'plan',
      questions: { answer: () => ({ kind: 'plan', approved: true }) },
    })
    const { denials } = await engine.run('go').result
    await engine.close()
    expect(denials).toHaveLength(1)
    expect(facts.map(({ event }) => event)).toContainEqual(expect.objectContaining({ mode: 'default' }))
  })

  it('that is refused changes nothing, and the feedback is the result', async () => {
    const world = new World()
    const { engine, results, types } = engineOf(world, inOrder(shows, writes('late')), {
      mode: 'plan',
      questions: { answer: () => ({ kind: 'plan', approved: false, feedback: 'test it first' }) },
    })
    await engine.run('go').result
    await engine.close()
    expect(results().map(({ outcome }) => outcome)).toEqual(['error', 'denied'])
    expect(results()[0]?.text).toContain('test it first')
    expect(types()).not.toContain('mode.changed')
    expect(world.done).toEqual([])
  })

  it('is not shown where plan mode is off: there is nothing to leave, and no tool for it', async () => {
    const { engine, requests } = engineOf(new World(), inOrder())
    await engine.run('go').result
    await engine.close()
    expect(toolsIn(requests[0] ?? fail())).toContain('AskUserQuestion')
    expect(toolsIn(requests[0] ?? fail())).not.toContain('ExitPlanMode')
  })

  it('approved before a crash stays approved in the run that goes on, and is not asked about again', async () => {
    const world = new World()
    const script = inOrder(
      shows,
      callMany([{ name: 'AskUserQuestion', input: { questions: [QUESTION] } }]),
      writes('late'),
    )
    const first = engineOf(world, script, { mode: 'plan' })
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    const approved: QuestionAnswer = { kind: 'plan', approved: true, mode: 'acceptEdits' }
    first.engine.answerQuestion(first.engine.questions[0]?.questionId ?? '', approved)
    await rest()
    const storage = first.storage.crash()
    const second = engineOf(world, script, { mode: 'plan', storage, idsFrom: 100_000 })
    const run = await second.engine.resume(SESSION)
    await rest()
    expect(second.engine.questions.map(({ question }) => question.kind)).toEqual(['questions'])
    second.engine.answerQuestion(second.engine.questions[0]?.questionId ?? '', CHOSEN)
    await run?.result
    expect(world.done).toEqual(['late'])
    await second.engine.close()
    await first.engine.close().catch(() => {})
  })

  it('whose approval a crash tore from the mode that follows has that mode when the run goes on', async () => {
    const world = new World()
    const script = inOrder(shows, writes('late'))
    const first = engineOf(world, script, { mode: 'plan' })
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    const approved: QuestionAnswer = { kind: 'plan', approved: true, mode: 'acceptEdits' }
    first.engine.answerQuestion(first.engine.questions[0]?.questionId ?? '', approved)
    await rest()
    const torn = [...first.storage.crash().files].map(([path, text]): [string, string] => {
      const lines = text.split('\n')
      const at = lines.findIndex((line) => line.includes('"mode.changed"'))
      return [path, at < 0 ? text : `${lines.slice(0, at).join('\n')}\n`]
    })
    const again = new World()
    const storage = createMemoryStorage({ files: new Map(torn) })
    const second = engineOf(again, script, { mode: 'plan', storage, idsFrom: 100_000 })
    const run = await second.engine.resume(SESSION)
    await run?.result
    expect(again.done).toEqual(['late'])
    expect(second.types()).not.toContain('question.answered')
    await second.engine.close()
    await first.engine.close().catch(() => {})
  })

  it.each([
    ['plan', 'denied'],
    ['dontAsk', 'denied'],
    ['acceptEdits', 'ok'],
  ] as const)(
    'approved in an earlier run is no word about a session that is opened under %s',
    async (mode, outcome) => {
      const world = new World()
      const answer = (): QuestionAnswer => ({ kind: 'plan', approved: true, mode: 'acceptEdits' })
      const first = engineOf(world, inOrder(shows), { mode: 'plan', questions: { answer } })
      await first.engine.run('go', { sessionId: SESSION }).result
      const storage = first.storage.crash()
      await first.engine.close()
      const script = inOrder(shows, say('done'), writes('late'))
      const second = engineOf(world, script, { mode, questions: {}, storage, idsFrom: 100_000 })
      await second.engine.run('again', { sessionId: SESSION }).result
      await second.engine.close()
      expect(second.results().map((result) => result.outcome)).toEqual([outcome])
    },
  )

  it('approved holds for later runs of the engine that saw it', async () => {
    const world = new World()
    const { engine } = engineOf(world, inOrder(shows, say('done'), writes('late')), {
      mode: 'plan',
      questions: { answer: () => ({ kind: 'plan', approved: true, mode: 'acceptEdits' }) },
    })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.run('again', { sessionId: SESSION }).result
    await engine.close()
    expect(world.done).toEqual(['late'])
  })
})

function fail(): never {
  throw new Error('no request was made')
}

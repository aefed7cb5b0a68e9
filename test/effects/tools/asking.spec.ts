import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Question } from '../../../src/effects/tools/ask-person.ts'
import {
  type AskUserQuestionInput,
  askUserQuestionTool,
} from '../../../src/effects/tools/ask-user-question.ts'
import { exitPlanModeTool } from '../../../src/effects/tools/exit-plan-mode.ts'
import { type TodoItem, todosOfResult } from '../../../src/effects/tools/todo-list.ts'
import { todoWriteTool } from '../../../src/effects/tools/todo-write.ts'
import { createToolTable, standardTools } from '../../../src/effects/tools/tool-table.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeAll(async () => {
  bench = await createWorkbench()
})
afterAll(() => bench.dispose())

/** Somebody who gives one answer. A host's code may return anything. */
function answering(answer: unknown) {
  const asked: Question[] = []
  const ask = async (question: Question): Promise<Answer | undefined> => {
    asked.push(question)
    return answer as Answer | undefined
  }
  return { asked, ask }
}
const table = createToolTable(standardTools())

describe('a plan', () => {
  const show = (answer: unknown) => bench.call(exitPlanModeTool, { plan: '1. Do it' }, answering(answer))

  it('is shown as it stands, and carried out when it is approved', async () => {
    const { asked, ask } = answering({ kind: 'plan', approved: true })
    const output = await bench.call(exitPlanModeTool, { plan: '1. Do it' }, { ask })
    expect(asked).toEqual([{ kind: 'plan', plan: '1. Do it' }])
    expect(output.isError).toBeUndefined()
    expect(output.content).toMatch(/is approved and plan mode has ended/)
    expect(output.structured).toEqual({ plan: '1. Do it', isAgent: false })
  })

  it('that is refused comes back with the reasons', async () => {
    const output = await show({ kind: 'plan', approved: false, feedback: ' smaller steps ' })
    expect(output).toMatchObject({
      isError: true,
      content: expect.stringMatching(/not approved.*\nsmaller steps$/),
    })
    expect((await show({ kind: 'plan', approved: false })).content).toMatch(/show it again\.$/)
  })

  it.each([
    ['nobody', undefined],
    ['an answer to something else', { kind: 'questions', answers: {} }],
    ['no boolean', { kind: 'plan', approved: 'true' }],
    ['the word alone', 'approved'],
  ])('is never approved by %s', async (_, answer) => {
    const output = await show(answer)
    expect(output.isError).toBe(true)
    expect(output.content).not.toMatch(/is approved/)
  })

  it('is refused where nobody can be asked, and without words', async () => {
    expect(await bench.call(exitPlanModeTool, { plan: 'x' })).toMatchObject({
      isError: true,
      content: expect.stringMatching(/nobody here who could approve/),
    })
    expect(table.parseCall('ExitPlanMode', { plan: ' \n' }).ok).toBe(false)
  })
})

describe('questions', () => {
  const options = [
    { label: 'Postgres', description: 'Known' },
    { label: 'SQLite', description: 'Small' },
  ]
  const QUESTIONS: AskUserQuestionInput = {
    questions: [
      { question: 'Which database?', header: 'Database', options },
      { question: 'Which others?', header: 'Others', options, multiSelect: true },
    ],
  }

  it('come back with their answers, in their order', async () => {
    const { asked, ask } = answering({
      kind: 'questions',
      answers: { 'Which others?': ['Postgres', 'my own'], 'Which database?': 'SQLite' },
    })
    const output = await bench.call(askUserQuestionTool, QUESTIONS, { ask })
    expect(output.content).toBe(
      'The user answered:\n\nWhich database?\n→ SQLite\n\nWhich others?\n→ Postgres, my own',
    )
    expect(asked).toMatchObject([
      { kind: 'questions', questions: [{ multiSelect: false }, { multiSelect: true }] },
    ])
  })

  it('that were left open, put away or answered by nobody are told as such', async () => {
    const some = await bench.call(
      askUserQuestionTool,
      QUESTIONS,
      answering({ kind: 'questions', answers: {} }),
    )
    expect(some.content).toMatch(/→ \(not answered\)/)
    const none = await bench.call(askUserQuestionTool, QUESTIONS, answering(undefined))
    expect(none).toMatchObject({ isError: true, content: expect.stringMatching(/put the questions away/) })
    const nobody = await bench.call(askUserQuestionTool, QUESTIONS)
    expect(nobody).toMatchObject({
      isError: true,
      content: expect.stringMatching(/nobody here who could answer/),
    })
    const odd = await bench.call(
      askUserQuestionTool,
      QUESTIONS,
      answering({ kind: 'questions', answers: [1] }),
    )
    expect(odd).toMatchObject({ isError: true, content: expect.stringMatching(/cannot be used/) })
  })

  it('named like what every object has are not answered by it', async () => {
    const [first] = QUESTIONS.questions
    const questions = [{ ...first, question: 'constructor', header: 'x', options }]
    const output = await bench.call(
      askUserQuestionTool,
      { questions },
      answering({ kind: 'questions', answers: {} }),
    )
    expect(output.content).toMatch(/→ \(not answered\)/)
  })

  it('are refused when one is there twice, and in any other number than 1 to 4', async () => {
    const twice = { questions: [...QUESTIONS.questions, ...QUESTIONS.questions] }
    const output = await bench.call(askUserQuestionTool, twice, answering(undefined))
    expect(output.content).toMatch(/"Which database\?" is there twice/)
    expect(table.parseCall('AskUserQuestion', { questions: [] }).ok).toBe(false)
    const five = { questions: Array.from({ length: 5 }, () => QUESTIONS.questions[0]) }
    expect(table.parseCall('AskUserQuestion', five).ok).toBe(false)
  })
})

describe('a list of steps', () => {
  const todo = (content: string, status: TodoItem['status']): TodoItem => ({
    content,
    status,
    activeForm: `${content}…`,
  })
  const write = (todos: readonly TodoItem[], more = {}) =>
    bench.call(todoWriteTool, { todos: [...todos] }, more)

  it('is kept in its result, from which it can be read again', async () => {
    const before = [todo('a', 'pending')]
    const after = [todo('a', 'completed'), todo('b', 'in_progress')]
    const output = await write(after, { todos: () => before })
    expect(output).toEqual({
      content: 'The list is kept: 1 of 2 completed, 1 in progress.',
      structured: { oldTodos: before, newTodos: after },
    })
    expect(todosOfResult(JSON.parse(JSON.stringify(output.structured)))).toEqual(after)
    expect(await write(after)).toMatchObject({ structured: { newTodos: after } })
    expect((await write([])).content).toBe('The list is empty now.')
  })

  it.each([undefined, 'text', {}, { newTodos: 1 }, { newTodos: [{ content: 1 }] }])(
    'is not read from %j',
    (result) => {
      expect(todosOfResult(result)).toBeUndefined()
    },
  )

  it('stays as it was when a step is there twice; several at once are advised against', async () => {
    const twice = await write([todo('a', 'pending'), todo('a', 'pending')])
    expect(twice).toEqual({ content: '"a" is in the list twice. The list stays as it was.', isError: true })
    const busy = await write([todo('a', 'in_progress'), todo('b', 'in_progress')])
    expect(busy.content).toMatch(/More than one step is in progress/)
  })

  it.each([
    [[{ content: ' ', status: 'pending', activeForm: 'x' }], /todos\.0\.content/],
    [[{ content: 'a', status: 'done', activeForm: 'x' }], /"pending" or "in_progress" or "completed"/],
    [[{ content: 'a', status: 'pending' }], /activeForm` is missing/],
    [Array.from({ length: 101 }, (_, n) => todo(`${n}`, 'pending')), /at most 100/],
  ])('is refused as %j', (todos, message) => {
    const call = table.parseCall('TodoWrite', { todos })
    expect(call.ok ? '' : call.message).toMatch(message)
  })
})

import { describe, expect, it } from 'vitest'
import type { RequestMessage } from '../../../../src/effects/model/model.ts'
import { nextStep } from '../../../../src/effects/model/offline/plan.ts'
import { writeReport } from '../../../../src/effects/model/offline/report.ts'
import type { Step } from '../../../../src/effects/model/offline/step.ts'
import { taskPrompt } from '../../../../src/effects/model/offline/task.ts'
import { tellingWords } from '../../../../src/effects/model/offline/words.ts'
import { EXPLORER, ROOT, request } from './loop.ts'

const ask = (text: string): RequestMessage => ({ role: 'user', content: text })
const next = (messages: readonly RequestMessage[], tools: readonly string[] = ROOT): Step =>
  nextStep(request(messages, tools))

/** The conversation one turn further: the step's calls, each with what `result` says. */
function answered(
  messages: readonly RequestMessage[],
  step: Step,
  result: (name: string, index: number) => string | { readonly error: string },
): readonly RequestMessage[] {
  const round = messages.length
  const results = step.calls.map((call, index) => {
    const said = result(call.name, index)
    const content = typeof said === 'string' ? said : said.error
    return {
      type: 'tool_result',
      tool_use_id: `${round}.${index}`,
      content,
      is_error: typeof said !== 'string',
    }
  })
  const calls = step.calls.map((call, index) => ({ type: 'tool_use', id: `${round}.${index}`, ...call }))
  return [...messages, { role: 'assistant', content: calls }, { role: 'user', content: results }]
}

const names = (step: Step): readonly string[] => step.calls.map((call) => call.name)
const place = (path: string, line: number, text: string) => ({ path, line, text, note: undefined })

describe('the root agent', () => {
  const question = [ask('where is `foldAgent` defined?')]
  const plan = next(question)

  it('says its plan in a sentence and asks three Explore agents at once', () => {
    expect(plan.text).toMatch(/^I look for `foldAgent` from three sides at once/)
    expect(names(plan)).toEqual(['Agent', 'Agent', 'Agent'])
    for (const { input } of plan.calls) {
      expect(input).toMatchObject({ subagent_type: 'Explore' })
      expect(input['prompt']).toMatch(/\nSearch words: `foldAgent`$/)
      expect(String(input['description']).split(' ').length).toBeLessThanOrEqual(5)
    }
  })

  it('answers with what they report: the place first, each line once, grouped', () => {
    const places = [
      [place('src/fold.ts', 30, 'export function foldAgent(state) {')],
      [
        place('src/fold.ts', 30, 'export function foldAgent(state) {'),
        place('src/agent.ts', 9, 'foldAgent(s, e)'),
      ],
      [place('test/fold.spec.ts', 4, "it('folds with foldAgent', () => {")],
    ]
    const angles = ['definitions', 'usages', 'docs-and-tests'] as const
    const done = answered(question, plan, (_, index) =>
      writeReport(angles[index] ?? 'usages', '`foldAgent`', places[index] ?? [], []),
    )
    const { text, calls } = next(done)
    expect(calls).toEqual([])
    expect(text.split('\n')[0]).toBe('`foldAgent` is defined in `src/fold.ts`, line 30.')
    expect(text.match(/^- .*$/gm)).toEqual([
      '- src/fold.ts:30: export function foldAgent(state) {',
      '- src/agent.ts:9: foldAgent(s, e)',
      "- test/fold.spec.ts:4: it('folds with foldAgent', () => {",
    ])
    expect(text).toMatch(/offline planner.*ANTHROPIC_API_KEY.*--model`\.$/)
  })

  it('names no line that only uses what was asked for', () => {
    const asked = [ask('who calls foldAgent?')]
    const done = answered(asked, next(asked), (_, index) =>
      writeReport('usages', 'x', index === 1 ? [place('src/a.ts', 9, 'state: foldAgent(s, e),')] : [], []),
    )
    expect(next(done).text).toMatch(/^Most likely the place you look for is in `src\/a.ts`, line 9\./)
  })

  it('says so when nothing was found, and which words were tried', () => {
    const done = answered(question, plan, () => writeReport('usages', '`foldAgent`', [], []))
    expect(next(done).text).toMatch(/^I found no place in this code base for `foldAgent`/)
  })

  it('says which search failed, and answers with the others', () => {
    const done = answered(question, plan, (_, index) =>
      index === 0
        ? { error: 'There is no agent type Explore.' }
        : writeReport('usages', '`foldAgent`', [place('src/agent.ts', 9, 'foldAgent(s, e)')], []),
    )
    expect(next(done).text).toContain(
      'Note: The search for names and definitions failed: There is no agent type Explore.',
    )
    expect(next(done).text).toContain('- src/agent.ts:9: foldAgent(s, e)')
  })

  it('says that there is no answer when all of them failed', () => {
    const done = answered(question, plan, () => ({ error: 'The limit of live agents is reached' }))
    expect(next(done).text).toMatch(
      /^None of the searches could be made.*The limit of live agents is reached\./,
    )
  })

  it('waits for agents that were moved to the background, and answers when all have reported', () => {
    const started = answered(question, plan, () => 'The agent runs in the background. agentId: a1')
    expect(next(started).text).toMatch(/go on in the background/)
    const notice = (index: number): RequestMessage =>
      ask(
        `<task-notification>\n<task-id>a${index}</task-id><tool-use-id>1.${index}</tool-use-id><status>completed</status>` +
          `<result>${writeReport('usages', 'x', [place(`src/${index}.ts`, 1, 'foldAgent()')], [])}</result>\n</task-notification>`,
      )
    expect(next([...started, notice(0), notice(1)]).text).toMatch(/go on in the background/)
    expect(next([...started, notice(0), notice(1), notice(2)]).text.match(/^- src/gm)).toHaveLength(3)
  })

  it.each([
    ['hello', /^Hello!/],
    ['what can you do?', /I find places in a code base/],
    ['Fix the bug in lock.ts', /can neither write nor change code/],
    ['How does it work?', /no word in that to search for/],
  ])('answers %j in words', (prompt, words) => {
    const step = next([ask(prompt)])
    expect(step.calls).toEqual([])
    expect(step.text).toMatch(words)
  })

  it('answers the latest question, and a follow-up that says «it» about the one before', () => {
    const before = [ask('where is the gate?'), { role: 'assistant', content: 'There.' } as const]
    expect(next([...before, ask('where is the mailbox?')]).text).toMatch(/^I look for mailbox /)
    expect(next([...before, ask('and where is it tested?')]).text).toMatch(/^I look for gate /)
    expect(next([...before, ask('thanks')]).calls).toEqual([])
  })

  it('answers in words where it has no tools to search with', () => {
    expect(next([ask('where is the lock?')], ['Read'])).toMatchObject({
      calls: [],
      text: expect.stringMatching(/offers me no tools/),
    })
  })
})

describe('an agent that explores', () => {
  const task = (angle: 'definitions' | 'usages' | 'docs-and-tests') =>
    [ask(taskPrompt('where is the lock taken over?', angle, tellingWords('the lock is taken over')))] as const

  it.each(['definitions', 'usages', 'docs-and-tests'] as const)('searches first, for %s', (angle) => {
    const step = next(task(angle), EXPLORER)
    expect(names(step)).toContain('Grep')
    expect(names(step)).not.toContain('Read')
    expect(names(step).includes('Glob')).toBe(angle !== 'usages')
    expect(step.calls.length).toBeLessThanOrEqual(10)
    for (const call of step.calls.filter(({ name }) => name === 'Grep'))
      expect(call.input).toMatchObject({ output_mode: 'content', '-n': true, head_limit: 80 })
  })

  it('reads around the best hits, then reports lines that it has seen and no others', () => {
    const messages = task('definitions')
    const searched = answered(messages, next(messages, EXPLORER), (name) =>
      name === 'Grep' ? 'src/lock.ts:41:export function takeOver(lock: Lock): void {' : 'No files found',
    )
    const read = next(searched, EXPLORER)
    expect(read.calls).toEqual([{ name: 'Read', input: { file_path: 'src/lock.ts', offset: 25, limit: 52 } }])
    const done = answered(
      searched,
      read,
      () => '    40\t// Ends the other one first.\n    41\texport function takeOver(lock: Lock): void {',
    )
    expect(next(done, EXPLORER).text.split('\n').slice(2)).toEqual([
      'src/lock.ts:41: export function takeOver(lock: Lock): void {',
      '    line 40 says: Ends the other one first.',
    ])
  })

  it('tries once more, more broadly, when nothing was found; then it says so', () => {
    const messages = task('usages')
    const first = answered(messages, next(messages, EXPLORER), () => 'No matches found')
    const broader = next(first, EXPLORER)
    expect(broader.calls).toHaveLength(1)
    expect(broader.calls[0]?.input).toMatchObject({ '-i': true })
    const second = answered(first, broader, () => 'No matches found')
    expect(next(second, EXPLORER)).toMatchObject({
      calls: [],
      text: 'Nothing found for usages of lock, taken over.',
    })
  })

  it('reports errors of its tools beside what it found', () => {
    const messages = task('usages')
    const searched = answered(messages, next(messages, EXPLORER), (_, index) =>
      index === 0 ? { error: 'The search took too long.' } : 'src/a.ts:3:  lock.takeOver()',
    )
    const done = answered(searched, next(searched, EXPLORER), () => ({ error: 'src/a.ts is gone.' }))
    const { text } = next(done, EXPLORER)
    expect(text).toContain('src/a.ts:3: lock.takeOver()')
    expect(text).toContain('Problem: Grep failed: The search took too long.')
    expect(text).toContain('Problem: Read failed: src/a.ts is gone.')
  })

  it('reports at once when every search failed', () => {
    const messages = task('usages')
    const failed = answered(messages, next(messages, EXPLORER), () => ({ error: 'Denied.' }))
    expect(next(failed, EXPLORER)).toMatchObject({
      calls: [],
      text: expect.stringMatching(/^Nothing found.*\n\nProblem: Grep failed: Denied\.$/),
    })
  })

  it('calls only what is offered', () => {
    const messages = task('definitions')
    expect(next(messages, ['Read', 'Glob'])).toMatchObject({
      calls: [],
      text: expect.stringMatching(/Problem: the tool Grep is not offered/),
    })
    const step = next(messages, ['Grep'])
    expect(new Set(names(step))).toEqual(new Set(['Grep']))
    const searched = answered(messages, step, () => 'src/lock.ts:41:export function takeOver() {')
    expect(next(searched, ['Grep'])).toMatchObject({
      calls: [],
      text: expect.stringMatching(/src\/lock\.ts:41:/),
    })
  })

  it('reports what it has when a closing turn takes its tools away', () => {
    const messages = task('definitions')
    const searched = answered(
      messages,
      next(messages, EXPLORER),
      () => 'src/lock.ts:41:export function takeOver() {',
    )
    expect(next(searched, [])).toMatchObject({ calls: [], text: expect.stringMatching(/src\/lock\.ts:41:/) })
    expect(next([...searched, ask('The limit is reached: report now.')], [])).toMatchObject({
      calls: [],
      text: expect.stringMatching(/src\/lock\.ts:41:/),
    })
  })

  it('answers by itself where it has a question and no agents', () => {
    const messages = [ask('where is the lock taken over?')]
    const searched = answered(
      messages,
      next(messages, EXPLORER),
      () => 'src/lock.ts:41:export function takeOver() {',
    )
    const done = answered(searched, next(searched, EXPLORER), () => '    41\texport function takeOver() {')
    expect(next(done, EXPLORER).text).toMatch(/^Most likely it is `takeOver`, in `src\/lock\.ts`, line 41\./)
  })
})

describe('a side request for a summary', () => {
  it('gets one line and makes no calls', () => {
    const messages = [ask('where is the gate?')]
    const searched = answered(messages, next(messages, EXPLORER), () => 'No matches found')
    expect(nextStep(request(searched, EXPLORER, { source: 'summary' }))).toEqual({
      text: 'Searching places for gate',
      calls: [],
    })
  })
})

/** The person at the terminal decides, and nothing decides in their place. */
import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, it } from 'vitest'
import { meaningOf, shownAtFirst, whatIsAsked } from '../../src/cli/approval-texts.ts'
import { answerIn } from '../../src/cli/ask-question.ts'
import { createTerminalAsker } from '../../src/cli/terminal-asker.ts'
import type { PermissionMode } from '../../src/definitions/permission-mode.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { askUserQuestionTool } from '../../src/effects/tools/ask-user-question.ts'
import { exitPlanModeTool } from '../../src/effects/tools/exit-plan-mode.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { pretendedShell } from '../helpers/tools.ts'
import { createFakeTerminal, soon } from './support/terminal.ts'

const run = (command: string) => ({ name: 'Bash', input: { command } })

function atTerminal(script: (request: ModelRequest) => ScriptedReply, mode: PermissionMode = 'default') {
  const done: string[] = []
  const shell = {
    ...pretendedShell((command) => {
      done.push(command)
      return 'ok'
    }),
    isConcurrencySafe: () => true,
  }
  const tested = testEngine(script, {
    tools: [shell, exitPlanModeTool, askUserQuestionTool],
    permissions: { mode, wait: true },
    questions: { wait: true },
  })
  const terminal = createFakeTerminal()
  const pauses: string[] = []
  const asker = createTerminalAsker({
    engine: tested.engine,
    stdin: terminal.stdin,
    output: terminal.output,
    clock: soon,
    colours: picocolors.createColors(false),
    progress: { pause: () => pauses.push('pause'), go: () => pauses.push('go') },
  })
  tested.engine.events$.subscribe((event) => asker.event(event))
  return { ...tested, terminal, asker, done, pauses }
}

const oneCall = (command: string) => (request: ModelRequest) =>
  turnOf(request) === 0 ? callMany([run(command)]) : say('done')

describe('the person at the terminal', () => {
  it('sees who wants to do what and why, and what «always» would grant', async () => {
    const { engine, terminal, done, pauses } = atTerminal(oneCall('npm test && rm -rf build'))
    const running = engine.run('go')
    await terminal.until('> ')
    expect(terminal.shown).toBe(
      [
        '? main wants to use Bash',
        '  │ npm test && rm -rf build',
        '  because permission mode "default" asks for approval',
        '  y yes · a always, for this session: Bash(npm test:*), Bash(rm -rf build) · n no (or: n and why)',
        '> ',
      ].join('\n'),
    )
    terminal.type('y\n')
    await running.result
    await engine.close()
    expect(done).toHaveLength(1)
    expect(pauses).toEqual(['pause', 'go'])
  })

  it.each([
    ['n because of the build\n', 'because of the build'],
    ['no\n', 'use make'],
  ])('refuses with %j, and the model reads why', async (typed, why) => {
    const { engine, terminal, done, facts } = atTerminal(oneCall('npm test'))
    const running = engine.run('go')
    await terminal.until('> ')
    terminal.type(typed)
    if (typed === 'no\n') {
      await terminal.until('do instead?')
      terminal.type('use make\n')
    }
    await running.result
    await engine.close()
    expect(done).toEqual([])
    expect(JSON.stringify(facts.map(({ event }) => event.type === 'call.ended' && event.result))).toContain(
      why,
    )
  })

  it('is asked again after an answer that is none, and an empty one decides nothing', async () => {
    const { engine, terminal, done } = atTerminal(oneCall('npm test'))
    const running = engine.run('go')
    await terminal.until('> ')
    terminal.type('\n')
    await terminal.until('> ', 2)
    terminal.type('sure, why not\n')
    await terminal.until('> ', 3)
    expect(done).toEqual([])
    terminal.type('YES\r\n')
    await running.result
    await engine.close()
    expect(done).toEqual(['npm test'])
  })

  it('is asked one thing at a time, in order, and nothing that was typed before counts', async () => {
    const { engine, terminal, done } = atTerminal((request) =>
      turnOf(request) === 0 ? callMany([run('one'), run('two'), run('three')]) : say('done'),
    )
    terminal.type('y\ny\ny\n')
    const running = engine.run('go')
    await terminal.until('> ')
    expect(terminal.shown).not.toContain('two')
    // A second line behind the answer is nobody's answer.
    terminal.type('y\ny\n')
    await terminal.until('> ', 2)
    expect(done).toEqual(['one'])
    terminal.type('n no\n')
    await terminal.until('> ', 3)
    terminal.type('y\n')
    await running.result
    await engine.close()
    expect(done).toEqual(['one', 'three'])
  })

  it('is not asked again about what «always» covers, also if it waited already', async () => {
    const { engine, terminal, done } = atTerminal((request) =>
      turnOf(request) === 0 ? callMany([run('npm test'), run('npm test'), run('npm run x')]) : say('done'),
    )
    const running = engine.run('go')
    await terminal.until('> ')
    terminal.type('a\n')
    await terminal.until('> ', 2)
    expect(done).toEqual(['npm test', 'npm test'])
    terminal.type('n no\n')
    await running.result
    await engine.close()
  })

  it('is told when a question is not needed any more', async () => {
    const { engine, terminal, done } = atTerminal(oneCall('npm test'))
    const running = engine.run('go')
    await terminal.until('> ')
    await engine.kill(await running.started)
    await terminal.until('not needed any more')
    await engine.close()
    expect(done).toEqual([])
  })

  it('who is gone refuses, all of it', async () => {
    const { engine, terminal, done } = atTerminal((request) =>
      turnOf(request) < 2 ? callMany([run('one'), run('two')]) : say('done'),
    )
    const running = engine.run('go')
    await terminal.until('> ')
    terminal.end()
    const { denials } = await running.result
    await engine.close()
    expect(done).toEqual([])
    expect(denials).toHaveLength(4)
  })

  it('is not asked when the program stops: it waits in the log', async () => {
    const { engine, terminal, asker, facts } = atTerminal(oneCall('npm test'))
    const running = engine.run('go')
    await terminal.until('> ')
    asker.stop()
    running.result.catch(() => {})
    await engine.close()
    expect(facts.map(({ event }) => event.type)).not.toContain('approval.answered')
    expect(terminal.shown.endsWith('\n')).toBe(true)
  })
})

describe('a question of the main agent', () => {
  const option = (label: string) => ({ label, description: `about ${label}` })
  const asks = callMany([
    {
      name: 'AskUserQuestion',
      input: {
        questions: [
          { question: 'Which?', header: 'One', options: [option('A'), option('B')] },
          { question: 'What else?', header: 'Two', options: [option('C'), option('D')], multiSelect: true },
        ],
      },
    },
  ])
  const resultsOf = (facts: ReturnType<typeof atTerminal>['facts']) =>
    JSON.stringify(facts.map(({ event }) => event.type === 'call.ended' && event.result))

  it('is put with its choices, one after the other', async () => {
    const { engine, terminal, facts } = atTerminal((request) => (turnOf(request) === 0 ? asks : say('done')))
    const running = engine.run('go')
    await terminal.until('> ')
    expect(terminal.shown).toContain('? main asks\n  │ Which?\n  1 A — about A\n  2 B — about B\n')
    terminal.type('2\n')
    await terminal.until('> ', 2)
    terminal.type('1, 2\n')
    await running.result
    await engine.close()
    expect(resultsOf(facts)).toContain('Which?\\n→ B\\n\\nWhat else?\\n→ C, D')
  })

  it('is put away with nothing but Enter', async () => {
    const { engine, terminal, facts } = atTerminal((request) => (turnOf(request) === 0 ? asks : say('done')))
    const running = engine.run('go')
    await terminal.until('> ')
    terminal.type('\n')
    await terminal.until('> ', 2)
    terminal.type('\n')
    await running.result
    await engine.close()
    expect(resultsOf(facts)).toContain('without an answer')
  })

  it.each([
    ['y', 'default'],
    ['e', 'acceptEdits'],
    ['n smaller steps', undefined],
  ])('that is a plan is decided with %j', async (typed, mode) => {
    const shows = callMany([{ name: 'ExitPlanMode', input: { plan: '1. Write\n2. Test' } }])
    const script = (request: ModelRequest) => (turnOf(request) === 0 ? shows : say('done'))
    const { engine, terminal, facts } = atTerminal(script, 'plan')
    const running = engine.run('go')
    await terminal.until('> ')
    expect(terminal.shown).toContain('? main shows its plan\n  │ 1. Write\n  │ 2. Test\n')
    terminal.type(`${typed}\n`)
    await running.result
    await engine.close()
    const changed = facts.flatMap(({ event }) => (event.type === 'mode.changed' ? [event.mode] : []))
    expect(changed).toEqual(mode === undefined ? [] : [mode])
    if (mode === undefined) expect(resultsOf(facts)).toContain('smaller steps')
  })

  it.each<[string, boolean, string | string[] | undefined]>([
    ['1', false, 'A'],
    ['3', false, '3'],
    ['none of them', false, 'none of them'],
    ['2,1,2', true, ['B', 'A']],
    ['1 and 2', true, '1 and 2'],
    ['  ', true, undefined],
  ])('is answered by %j (several: %s) with %j', (line, multiSelect, answer) => {
    expect(answerIn(line, { options: [option('A'), option('B')], multiSelect })).toEqual(answer)
  })
})

describe('what is shown of a call', () => {
  const asked = (toolName: string, input: unknown) => whatIsAsked({ toolName, input })

  it('is the command or the path, and how much is written', () => {
    expect(asked('Bash', { command: 'a\nb', description: 'harmless' })).toEqual(['a', 'b'])
    expect(asked('Write', { file_path: '/x', content: 'a\nb\n' })).toEqual(['/x (the whole file, 2 lines)'])
    expect(
      asked('Edit', { file_path: '/x', old_string: 'a', new_string: 'b\nc', replace_all: true }),
    ).toEqual(['/x (1 line becomes 2 lines, everywhere)'])
    expect(asked('mcp__db__drop', { table: 'all' })).toEqual(['{', '  "table": "all"', '}'])
  })

  it('spells out what would steer the terminal or hide a part', () => {
    expect(asked('Bash', { command: 'ls\x1b[2K\r\u202e' })).toEqual(['ls\\u001b[2K\\u000d\\u202e'])
  })

  it('says when it is not all', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`)
    expect(shownAtFirst(lines)).toMatchObject({ isCut: true, lines: { length: 13 } })
    expect(shownAtFirst(['x'.repeat(1_000)]).isCut).toBe(true)
    expect(shownAtFirst(['short']).isCut).toBe(false)
  })
})

describe('a typed line', () => {
  it('allows only as a plain yes, or as an «always» that was offered', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('y', ' Yes', 'a', 'ALWAYS', 'y y', 'no', 'yes!')),
        (line) => {
          const meant = meaningOf(line, { suggestions: [] })
          if (meant.kind !== 'answer' || meant.answer.decision !== 'allow') return
          expect(line.trim()).toMatch(/^y(es)?$/i)
        },
      ),
    )
    expect(meaningOf('a', { suggestions: ['Bash(ls)'] })).toMatchObject({ answer: { always: true } })
  })

  it('that begins like a no but is another word is none', () => {
    expect(meaningOf('nothing', { suggestions: [] }).kind).toBe('unclear')
    expect(meaningOf('n, use make', { suggestions: [] })).toEqual({
      kind: 'answer',
      answer: { decision: 'deny', message: 'use make' },
    })
  })
})

/** Hooks in both shapes, and that nothing else ever runs. */
import { describe, expect, it } from 'vitest'
import { readHooks } from '../../../src/definitions/files/read-hooks.ts'
import { agentOf, codesOf, goodFile } from './support.ts'

const codes = (value: unknown) => readHooks(value).problems.map(({ code }) => code)

describe('hooks', () => {
  it('are read in the shape of settings', () => {
    const groups = [
      {
        matcher: 'Edit|Write',
        hooks: [{ type: 'command', command: './lint', timeout: 5 }, { command: './log' }],
      },
      { hooks: [{ type: 'command', command: './all' }] },
    ]
    expect(
      readHooks({ PostToolUse: groups, stop: [{ matcher: '*', hooks: [{ command: './end' }] }] }),
    ).toEqual({
      hooks: [
        { event: 'PostToolUse', matcher: 'Edit|Write', command: './lint', timeout: 5 },
        { event: 'PostToolUse', matcher: 'Edit|Write', command: './log' },
        { event: 'PostToolUse', command: './all' },
        { event: 'Stop', command: './end' },
      ],
      problems: [],
    })
  })

  it('are read as a flat list', () => {
    expect(
      readHooks([
        { event: 'SubagentStop', command: './a' },
        { event: 'PreToolUse', matcher: 'Bash', command: 'b' },
      ]),
    ).toEqual({
      hooks: [
        { event: 'SubagentStop', command: './a' },
        { event: 'PreToolUse', matcher: 'Bash', command: 'b' },
      ],
      problems: [],
    })
  })

  it('are read as a flat list below an event', () => {
    expect(readHooks({ PreToolUse: [{ matcher: 'Bash', command: './guard' }] })).toEqual({
      hooks: [{ event: 'PreToolUse', matcher: 'Bash', command: './guard' }],
      problems: [],
    })
  })

  it('without an event guard tools, which is said: a guard must not be forgotten', () => {
    const { hooks, problems } = readHooks([{ command: './guard' }])
    expect(hooks).toEqual([{ event: 'PreToolUse', command: './guard' }])
    expect(problems).toMatchObject([{ code: 'hook-event-assumed' }])
  })

  it.each([
    ['a text', './x'],
    ['a number', 3],
    ['nothing', null],
    ['a list of texts', ['./x']],
    ['an event with one command', { Stop: { command: './x' } }],
    ['an event with a text', { Stop: './x' }],
    ['an event with texts', { Stop: ['./x'] }],
    ['an unknown event', { BeforeWrite: [{ command: './x' }] }],
    ['an unknown event of its own', [{ event: 'toString', command: './x' }]],
    ['another type', { Stop: [{ hooks: [{ type: 'prompt', command: './x' }] }] }],
    ['a command that is no text', [{ event: 'Stop', command: ['./x'] }]],
    ['an empty command', [{ event: 'Stop', command: '  ' }]],
    ['two events', { Stop: [{ event: 'PreToolUse', command: './x' }] }],
    ['a group with a command', { Stop: [{ command: './x', hooks: [{ command: './y' }] }] }],
    ['groups in groups', { Stop: [{ hooks: [{ hooks: [{ command: './x' }] }] }] }],
    ['a matcher that is no text', { PreToolUse: [{ matcher: ['Bash'], hooks: [{ command: './x' }] }] }],
    ['a matcher that is no pattern', { PreToolUse: [{ matcher: '(Bash', hooks: [{ command: './x' }] }] }],
  ])('of a shape that is neither never run: %s', (_, value) => {
    const { hooks, problems } = readHooks(value)
    expect(hooks).toEqual([])
    expect(problems).toMatchObject([
      { code: 'hook-unreadable', message: expect.stringContaining('never runs') },
    ])
  })

  it('keep running when a part of them is not honoured, and say so', () => {
    expect(readHooks([{ event: 'Stop', command: './x', timeout: -1 }]).hooks).toEqual([
      { event: 'Stop', command: './x' },
    ])
    expect(codes([{ event: 'Stop', command: './x', timeout: -1 }])).toEqual(['hook-unreadable'])
    expect(codes([{ event: 'Stop', command: './x', once: true }])).toEqual(['hook-unreadable'])
  })

  it('suggest the event that was meant', () => {
    expect(readHooks({ PreToolUsage: [] }).problems[0]?.message).toContain('Did you mean "PreToolUse"?')
  })

  it('of an agent file become part of its definition', () => {
    const lines = [
      'hooks:',
      '  PreToolUse:',
      '    - matcher: Bash',
      '      hooks:',
      '        - {type: command, command: ./guard}',
    ]
    const file = agentOf(goodFile(...lines))
    expect(file.definition.hooks).toEqual([{ event: 'PreToolUse', matcher: 'Bash', command: './guard' }])
    expect(codesOf(agentOf(goodFile('hooks: ./x')))).toEqual(['warning hook-unreadable:4'])
  })
})

import { describe, expect, it } from 'vitest'
import { parseArguments, type RunArguments } from '../../src/cli/arguments.ts'
import { UsageError } from '../../src/cli/errors.ts'

const parse = (...argv: string[]) => parseArguments(argv, '1.2.3')
const run = (...argv: string[]): RunArguments => {
  const parsed = parse(...argv)
  if (parsed.kind !== 'run') throw new Error(`expected a run, got ${parsed.kind}`)
  return parsed.run
}

describe('the prompt', () => {
  it.each([
    [['-p', 'what is this?'], 'what is this?'],
    [['what', 'is', 'this?'], 'what is this?'],
    [['-p', '--', '--model is a flag'], '--model is a flag'],
    [['-p', 'log'], 'log'],
    [['--verbose', 'sessions'], 'sessions'],
    [['-p', '  '], undefined],
    [[], undefined],
  ])('of %j is %j', (argv, prompt) => {
    expect(run(...argv).prompt).toBe(prompt)
  })
})

describe('the flags of a run', () => {
  it('have defaults that a newcomer can live with', () => {
    expect(run('-p', 'x')).toMatchObject({
      outputFormat: 'text',
      session: { kind: 'new' },
      allowedTools: [],
      disallowedTools: [],
      durability: 'fsync',
      verbose: false,
      includePartialMessages: false,
      maxTurns: undefined,
      model: undefined,
      permissionMode: undefined,
      sandbox: false,
    })
  })

  it('are all understood', () => {
    expect(
      run(
        ...['-p', 'x', '--output-format', 'stream-json', '--include-partial-messages', '--verbose'],
        ...[
          '--input-format',
          'text',
          '--model',
          ' opus ',
          '--fallback-model',
          'haiku',
          '--permission-mode',
          'acceptEdits',
          '--max-turns',
          '3',
          '--sandbox',
          ...['--max-budget-usd', '0.50', '--max-budget-tokens', '1000', '--max-time', '90'],
        ],
        ...['--system-prompt', 'S', '--append-system-prompt', 'A', '--durability', 'write'],
        ...['--session-id', '07679179-209E-4C95-B197-520C21888D85'],
      ),
    ).toMatchObject({
      outputFormat: 'stream-json',
      includePartialMessages: true,
      verbose: true,
      model: 'opus',
      fallbackModel: 'haiku',
      permissionMode: 'acceptEdits',
      maxTurns: 3,
      sandbox: true,
      maxBudgetUsd: 0.5,
      maxBudgetTokens: 1_000,
      maxTime: 90,
      systemPrompt: 'S',
      appendSystemPrompt: 'A',
      durability: 'write',
      session: { kind: 'new', sessionId: '07679179-209e-4c95-b197-520c21888d85' },
    })
  })

  it.each([
    [
      ['--allowedTools', 'Bash(git log:*),Read'],
      ['Bash(git log:*)', 'Read'],
    ],
    [
      ['--allowedTools', 'Read Grep'],
      ['Read', 'Grep'],
    ],
    [
      ['--allowedTools', 'Read', 'Grep'],
      ['Read', 'Grep'],
    ],
    [
      ['--allowed-tools', 'Read', '--allowedTools', 'Bash(a, b)'],
      ['Read', 'Bash(a, b)'],
    ],
    [['--allowedTools', ''], []],
  ])('%j allow %j', (argv, rules) => {
    expect(run('-p', 'x', ...argv).allowedTools).toEqual(rules)
  })

  it('forbid with the same syntax', () => {
    expect(run('-p', 'x', '--disallowedTools', 'Agent(Explore),Write').disallowedTools).toEqual([
      'Agent(Explore)',
      'Write',
    ])
  })

  it.each([
    [['-c'], { kind: 'latest' }],
    [['-r', '0767'], { kind: 'resume', id: '0767' }],
  ])('%j choose a session', (argv, session) => {
    expect(run(...argv).session).toEqual(session)
  })
})

describe('a line that nobody can mean', () => {
  it.each([
    ['an unknown flag', ['--nonsense'], /unknown option '--nonsense'/],
    ['a flag that is nearly one', ['--outputformat', 'json'], /Did you mean --output-format/],
    ['an unknown format', ['--output-format', 'xml'], /text, json, stream-json/],
    ['an unknown input format', ['--input-format', 'stream-json'], /text/],
    ['an unknown mode', ['--permission-mode', 'yolo'], /acceptEdits/],
    ['a mode for definitions only', ['--permission-mode', 'bubble'], /Allowed choices/],
    ['no number', ['--max-turns', 'many'], /whole number, 1 or more/],
    ['no turns', ['--max-turns', '0'], /whole number, 1 or more/],
    ['half a turn', ['--max-turns', '1.5'], /whole number/],
    ['a huge number', ['--max-turns', '99999999999999999999'], /whole number/],
    ['no money', ['--max-budget-usd', '0'], /number above 0/],
    ['an amount with its currency', ['--max-budget-usd', '$5'], /number above 0/],
    ['no UUID', ['--session-id', 'mine'], /UUID/],
    ['two sessions', ['-c', '-r', '0767'], /cannot be used with/],
    [
      'a new id for an old session',
      ['-c', '--session-id', '07679179-209e-4c95-b197-520c21888d85'],
      /cannot be used/,
    ],
    ['a flag without its value', ['-r'], /argument missing/],
    ['open brackets', ['--allowedTools', 'Bash(git log'], /brackets of the rule/],
    ['brackets closed twice', ['--allowedTools', 'Bash(a))'], /brackets of the rule/],
    ['partial messages of one object', ['--include-partial-messages'], /needs --output-format stream-json/],
    ['a lock of no session', ['--take-over'], /-r ID or -c/],
    ['a replay of nothing', ['replay'], /missing required argument/],
    ['two logs', ['log', 'a', 'b'], /too many arguments/],
    [
      'a position before the log',
      ['replay', 'x', '--at', '-1'],
      /whole number|argument missing|unknown option/,
    ],
  ])('such as %s is refused in one line', (_, argv, message) => {
    let refusal: unknown
    try {
      parse(...argv)
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(UsageError)
    if (!(refusal instanceof UsageError)) return
    expect(refusal.message).toMatch(message)
    expect(refusal.exitCode).toBe(2)
  })
})

describe('the subcommands', () => {
  it.each([
    [['sessions'], { kind: 'sessions', json: false }],
    [['sessions', '--json'], { kind: 'sessions', json: true }],
    [['log'], { kind: 'log', target: undefined, agent: undefined, json: false }],
    [['log', '0767', '--agent', 'a1', '--json'], { kind: 'log', target: '0767', agent: 'a1', json: true }],
    [
      ['replay', 'x.jsonl', '--at', '7'],
      { kind: 'replay', target: 'x.jsonl', at: 7, json: false, rerun: false, liveTools: false },
    ],
    [
      ['replay', '0767', '--rerun', '--live-tools'],
      { kind: 'replay', target: '0767', at: undefined, json: false, rerun: true, liveTools: true },
    ],
    [['diff', 'a', 'b', '--json'], { kind: 'diff', a: 'a', b: 'b', json: true }],
  ])('%j', (argv, parsed) => {
    expect(parse(...argv)).toEqual(parsed)
  })
})

describe('what is only printed', () => {
  it('is the version', () => {
    expect(parse('--version')).toEqual({ kind: 'print', text: '1.2.3\n' })
  })

  it('is a help that names every command and no hidden flag', () => {
    const help = parse('--help')
    if (help.kind !== 'print') throw new Error(help.kind)
    expect(help.text).toMatch(/sessions .*\n.*log .*\n.*replay /)
    expect(help.text).toContain('--permission-mode <mode>')
    expect(help.text).not.toContain('default-prompt')
  })

  it('is the help of a command', () => {
    const help = parse('replay', '--help')
    if (help.kind !== 'print') throw new Error(help.kind)
    expect(help.text).toContain('--at <n>')
  })
})

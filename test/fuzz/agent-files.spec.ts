/** Agent files of any bytes: an answer each time, the same each time, in time that grows with the size only. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentFile, FileOrigin } from '../../src/definitions/files/agent-file.ts'
import { parseAgentFile } from '../../src/definitions/files/parse-agent-file.ts'
import { parseAgentsJson } from '../../src/definitions/files/parse-agents-json.ts'
import { createAgentRegistry } from '../../src/definitions/files/registry.ts'
import { PermissionMode } from '../../src/definitions/permission-mode.ts'
import { expectLinear, fuzz, goodInputs, sizeOf } from './support/fuzz.ts'
import { hostileText, hostileValue, mutated } from './support/mutations.ts'

const ORIGIN: FileOrigin = { path: '/p/.claude/agents/fuzz.md', source: 'projectSettings' }

const KEYS = [
  ...[
    'name',
    'description',
    'tools',
    'disallowedTools',
    'allowed-tools',
    'model',
    'effort',
    'permissionMode',
  ],
  ...[
    'isolation',
    'background',
    'mcpServers',
    'hooks',
    'memory',
    'maxTurns',
    'skills',
    'outputSchema',
    'color',
  ],
  ...['emoji', '__proto__', 'Tools', '<<', 'initialPrompt'],
]
const VALUES = [
  ...[
    'Reviews code',
    'Use when: asked',
    'Closes #12',
    '"quoted"',
    "'it''s'",
    '"open',
    '[a, b]',
    '[a',
    '{a: b}',
    '{',
  ],
  ...[
    '|\n  one\n  two',
    '>\n  one\n\n  two',
    '\n  - a\n  - b',
    '\n- a',
    '\n\t- a',
    '&a x',
    '*a',
    '!!js/function x',
    '~',
  ],
  ...[
    'Read, Write',
    'Bash(git log:*)',
    'Agent(a, b',
    'none',
    '*',
    'all',
    'plan',
    'true',
    '25',
    '0x1F',
    '2024-01-01',
  ],
  ...[
    '\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{command: x}]',
    '[{event: Stop, command: x}]',
    '\n  x: {command: y}',
  ],
]
const line = fc
  .tuple(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES))
  .map(([key, value]) => `${key}: ${value}`)
const goodFile = fc
  .tuple(fc.array(line, { maxLength: 8 }), fc.constantFrom('\n', '\r\n', '\r'))
  .map(([lines, end]) =>
    Buffer.from(
      ['---', 'name: a', 'description: b', ...lines, '---', '', 'You review.']
        .join('\n')
        .replaceAll('\n', end),
    ),
  )

/** What must hold of anything that is read. */
function check(file: AgentFile): void {
  const errors = file.diagnostics.filter(({ severity }) => severity === 'error')
  if (file.kind === 'failed') expect(errors.length).toBeGreaterThan(0)
  else expect(errors).toEqual([])
  for (const { message, code } of file.diagnostics) {
    expect(message.length).toBeLessThan(2_000)
    expect(code).toMatch(/^[a-z]+(?:-[a-z]+)*$/)
  }
  if (file.kind !== 'agent') return
  const { definition } = file
  expect(definition.agentType).toMatch(/^[^\p{Cc}\\]{1,300}$/u)
  expect(definition.agentType).not.toMatch(/(?:^|\/)\.\.(?:\/|$)/)
  expect(definition.whenToUse).not.toBe('')
  expect(Object.getPrototypeOf(definition)).toBe(Object.prototype)
  if (definition.permissionMode !== undefined) PermissionMode.parse(definition.permissionMode)
  for (const tool of definition.tools ?? []) expect(tool).not.toBe('')
  for (const { command } of definition.hooks ?? []) expect(command.trim()).not.toBe('')
  // It can be stored.
  expect(() => JSON.stringify(file)).not.toThrow()
  if (file.mode === 'repaired') {
    for (const field of ['hooks', 'mcpServers', 'permissionMode'])
      expect(definition).not.toHaveProperty(field)
  }
}

describe('agent files', () => {
  fuzz('of any bytes give an answer', 300, fc.uint8Array({ maxLength: 300 }), (bytes) => {
    check(parseAgentFile(bytes, ORIGIN))
  })

  fuzz(
    'of any bytes between fences give an answer',
    500,
    fc.array(hostileText, { maxLength: 12 }),
    (texts) => {
      check(parseAgentFile(`---\nname: a\ndescription: ${texts.join('\n')}\n---\nx`, ORIGIN))
      check(parseAgentFile(`---\n${texts.join(': ')}\n---\nx`, ORIGIN))
    },
  )

  fuzz(
    'that were good once give an answer, the same each time',
    600,
    mutated(goodInputs(goodFile, 200)),
    (bytes) => {
      const file = parseAgentFile(bytes, ORIGIN)
      check(file)
      expect(JSON.stringify(parseAgentFile(bytes, ORIGIN))).toBe(JSON.stringify(file))
    },
  )

  fuzz(
    'with a list of tools never come to other tools, whatever stands before it',
    300,
    fc.array(line, { maxLength: 6 }),
    (lines) => {
      const file = parseAgentFile(
        ['---', 'name: a', 'description: b', ...lines, 'tools: Read', '---'].join('\n'),
        ORIGIN,
      )
      check(file)
      if (file.kind === 'agent') expect(file.definition.tools).toEqual(['Read'])
    },
  )

  fuzz('as JSON of any kind give an answer', 300, hostileValue, (value) => {
    const files = [
      ...parseAgentsJson(value, ORIGIN),
      ...parseAgentsJson(
        { agents: { a: value, b: { description: 'b', tools: value, hooks: value } } },
        ORIGIN,
      ),
    ]
    for (const file of files) check(file)
    createAgentRegistry(files, [])
  })

  it('of every shape take time that grows with their size only', async () => {
    const between = (text: string): string => `---\nname: a\ndescription: b\n${text}\n---\nx`
    const behind =
      (key: string) =>
      (text: string): string =>
        between(`${key}: ${text}`)
    const NOTHING = [
      '\n',
      ' ',
      '\t',
      '\r',
      '\r\n',
      ' \n',
      '\u2028',
      '\u3000',
      '\ufeff',
      '\0',
      '\n#',
      ' #',
      '\n  #',
    ]
    const FENCES = ['-', '---', '---\n', '--- \n', '...\n', '<!--', 'x', '\n\n\nx']
    const YAML = [
      'x: y\n',
      ':',
      ': ',
      '"',
      "'",
      '""',
      '\\',
      '- ',
      '\n- x',
      '[',
      '{',
      ', ',
      '? ',
      '|',
      '&a ',
      '*a ',
      '!',
      '1:',
    ]
    const KEYS_AGAIN = [
      '\nname: x',
      '\ntools: x',
      '\n  tools: x',
      '"x": y\n',
      '<<: {a: b}\n',
      'a: &a x\n',
      '{a: ',
    ]
    const shapes = [
      [(text: string) => text, [...NOTHING, ...FENCES]],
      [between, [...NOTHING, ...FENCES, ...YAML, ...KEYS_AGAIN]],
      [behind('tools'), [...NOTHING, 'Read,', 'x(', 'x,', '(', ')', 'x (', '"x" ', ' x']],
      [behind('description'), [...NOTHING, ...YAML, '<example>\n']],
      [behind('hooks'), ['\n', '{a: ', '[a, ', '\n- {command: x}', 'x']],
      [behind('name'), ['.', '/', '../', '\\', '~', 'x']],
    ] as const
    const SHAPES = shapes.flatMap(([wrap, pieces]) => pieces.map((piece) => [wrap, piece] as const))
    const size = sizeOf(20_000, 60_000)
    await expectLinear(
      size,
      SHAPES,
      ([wrap, piece], length) =>
        Buffer.from(wrap(piece.repeat(Math.ceil(length / piece.length)).slice(0, length))),
      (bytes) => parseAgentFile(bytes, ORIGIN),
    )
  })
})

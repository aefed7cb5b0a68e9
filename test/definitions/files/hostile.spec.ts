/** Files that mean harm: nothing runs, nothing throws, nothing explodes. */
import { describe, expect, it } from 'vitest'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'
import { readYaml } from '../../../src/definitions/files/read-yaml.ts'
import { agentOf, codesOf, fileOf, goodFile, ORIGIN } from './support.ts'

const mark = 'troupeTestWasHere'
const order = `globalThis.${mark} = true`

describe('code in a file', () => {
  it.each([
    `---js\n{ name: (${order}, "a"), description: "b" }\n---\n`,
    `---javascript\n${order}\n---\n`,
    `--- js\nmodule.exports = ${order}\n---\n`,
    `---coffee\n${order}\n---\n`,
    `---json\n{"name": "a", "description": "b"}\n---\n`,
    fileOf(`name: !!js/function "function () { ${order} }"`, 'description: b'),
    fileOf('name: !!js/regexp /a/', `description: !!js/undefined ${order}`),
    fileOf('? !!js/function "function () {}"', ': b', 'name: a', 'description: c'),
    `---\nlanguage: javascript\nengine: js\nname: a\ndescription: ${'`${'}${order}}\`\n---\n`,
  ])('never runs: %j', (content) => {
    expect(() => parseAgentFile(content, ORIGIN)).not.toThrow()
    expect(globalThis).not.toHaveProperty(mark)
  })

  it('does not run through the reader of YAML either', () => {
    expect(readYaml(`---js\n${order}`)).toMatchObject({ kind: 'broken' })
    expect(readYaml(`js\n${order}`).kind).toBe('read')
    expect(globalThis).not.toHaveProperty(mark)
  })
})

describe('a prototype in a file', () => {
  it.each([
    '__proto__: {tools: [Bash], permissionMode: bypassPermissions, polluted: true}',
    '__proto__:\n  tools: Bash',
    'constructor: {prototype: {polluted: true}}',
    'outputSchema: {__proto__: {polluted: true}, type: object}',
    '<<: {__proto__: {polluted: true}}',
    '"__proto__": {polluted: true}',
  ])('is data or nothing: %j', (line) => {
    const file = agentOf(goodFile(line))
    expect(file.definition.tools).toBeUndefined()
    expect(file.definition.permissionMode).toBeUndefined()
    expect(Object.getPrototypeOf(file.definition)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(file.unknownKeys)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(file.definition.outputSchema ?? {})).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
    expect(file.definition).not.toHaveProperty('outputSchema.polluted')
  })
})

describe('a bomb in a file', () => {
  const bomb = [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...'bcdefghi'
      .split('')
      .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`),
  ]

  it('of aliases is refused; what is beside it is read line by line', () => {
    const file = agentOf(goodFile(...bomb))
    expect(file.mode).toBe('repaired')
    expect(file.definition.agentType).toBe('reviewer')
  })

  it('of text in keys is refused', () => {
    const lines = [`a: &a ${'x'.repeat(20_000)}`, `? [${Array(2_000).fill('*a').join(', ')}]`, ': b']
    expect(agentOf(goodFile(...lines)).mode).toBe('repaired')
  })

  it('that refers to itself is refused', () => {
    expect(agentOf(goodFile('a: &a {b: *a}')).mode).toBe('repaired')
    expect(agentOf(goodFile('a: &a [*a]')).mode).toBe('repaired')
  })

  it.each(['[', '{', '[[', '- ', '? ', '{a: ', '!x ', '&a ', '"', "'", '|', '>', '*', '<<: '])(
    'of %j does no harm',
    (piece) => {
      const file = parseAgentFile(goodFile(`x: ${piece.repeat(20_000)}`), ORIGIN)
      expect(['agent', 'failed']).toContain(file.kind)
    },
  )

  it('of a million warnings is told in few', () => {
    const keys = Array.from({ length: 5_000 }, (_, i) => `key${i}: x`)
    const { diagnostics } = agentOf(goodFile(...keys))
    expect(diagnostics.length).toBe(201)
    expect(diagnostics.at(-1)?.code).toBe('warnings-cut')
  })
})

describe('bytes that are no text', () => {
  it('are replaced, with a warning that names the first line', () => {
    const bytes = Buffer.concat([Buffer.from(goodFile()), Buffer.from([0x0a, 0xff, 0xfe, 0x00, 0x41])])
    const file = agentOf(bytes)
    expect(file.definition.getSystemPrompt({ cwd: '/' })).toBe('You review.\n\n\ufffd\ufffd\ufffdA')
    expect(codesOf(file)).toEqual(['warning text-damaged:8'])
  })

  it('in frontmatter leave a name that can be used', () => {
    const file = agentOf(
      Buffer.concat([
        Buffer.from('---\nname: a'),
        Buffer.from([0xff, 0]),
        Buffer.from('\ndescription: b\n---\nx'),
      ]),
    )
    expect(file.definition.agentType).toBe('a\ufffd\ufffd')
  })

  it('are not reported where a replacement character was written as such', () => {
    expect(codesOf(agentOf(`${goodFile()}\ufffd`))).toEqual([])
  })

  it('can be lone halves of characters', () => {
    const file = agentOf(`${goodFile()}\ud83d`)
    expect(file.definition.getSystemPrompt({ cwd: '/' })).toContain('\ufffd')
    expect(codesOf(file)).toEqual(['warning text-damaged:7'])
  })
})

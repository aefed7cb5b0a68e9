/** Real agent files from public collections: what they come to, and that their form does not matter. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { FileOrigin } from '../../../src/definitions/files/agent-file.ts'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'
import { outcomeOf } from './support.ts'

const CORPUS = process.env['TROUPE_CORPUS'] ?? path.resolve(import.meta.dirname, '../../../../shared/corpus')
const EXPECTED = path.join(CORPUS, 'agents-expected.json')
const isThere = existsSync(EXPECTED)
if (!isThere)
  console.warn(`The corpus of agent files is not at ${EXPECTED} (TROUPE_CORPUS): its tests are skipped.`)

const Expectation = z.looseObject({
  file: z.string(),
  status: z.enum(['ok', 'not-an-agent', 'error']),
  mode: z.enum(['strict', 'repaired']).nullable(),
  name: z.string().optional(),
  tools: z.union([z.literal('ALL'), z.array(z.string())]).optional(),
  model: z.string().optional(),
  maxTurns: z.number().optional(),
  memory: z.string().optional(),
  isolation: z.string().optional(),
  description: z.object({ starts: z.string(), length: z.number().optional() }).optional(),
  diagnostics: z.array(z.string()),
})

const expected = isThere ? z.array(Expectation).parse(JSON.parse(readFileSync(EXPECTED, 'utf8'))) : []
const files = expected.map((expectation) => ({
  ...expectation,
  content: readFileSync(path.join(CORPUS, 'agents', expectation.file), 'utf8'),
  origin: {
    // The collection keeps paths flat; a missing name comes from the last part.
    path: path.posix.join('/collection', expectation.file.replaceAll('__', '/')),
    source: 'projectSettings',
  } satisfies FileOrigin,
}))

const STATUS = { agent: 'ok', 'not-an-agent': 'not-an-agent', failed: 'error' } as const

/** Names in the collections that are known under another name here, or not at all. */
const RENAMED: Readonly<Record<string, string>> = {
  LS: 'Glob',
  ls: 'Glob',
  find: 'Glob',
  read: 'Read',
  grep: 'Grep',
  bash: 'Bash',
  Task: 'Agent',
  MultiEdit: 'Edit',
  WriteFile: 'Write',
  NotebookRead: 'Read',
}
const UNKNOWN = [
  ...[
    'chrome-mcp',
    'computer-use',
    'airis-mcp-gateway',
    'context-manager',
    'error-coordinator',
    'pied-piper',
  ],
  ...['subagent-catalog:search', 'subagent-catalog:fetch', 'Workflow', 'Workflow(claude-security:scan)'],
]

describe.skipIf(!isThere)('the agent files of the corpus', () => {
  it('are as many as the collection says', () => {
    expect(files.length).toBeGreaterThan(900)
  })

  it('each come to what is expected', () => {
    const wrong = files.flatMap(({ content, origin, ...wanted }) => {
      const file = parseAgentFile(content, origin)
      const got = {
        status: STATUS[file.kind],
        ...(file.kind === 'agent' && {
          mode: file.mode,
          name: file.definition.agentType,
          ...(wanted.model !== undefined && { model: file.definition.model ?? 'inherit' }),
          ...(wanted.tools !== undefined && { tools: file.definition.tools ?? 'ALL' }),
          maxTurns: file.definition.maxTurns,
          memory: file.definition.memory,
          isolation: file.definition.isolation,
          unknown: Object.keys(file.unknownKeys),
        }),
      }
      const { status, mode, name, model, tools, maxTurns, memory, isolation, diagnostics } = wanted
      const unknown = diagnostics
        .find((text) => text.startsWith('unknown-keys:'))
        ?.slice('unknown-keys:'.length)
      const want = {
        status,
        ...(status === 'ok' && {
          mode,
          name,
          ...(model !== undefined && { model }),
          ...(tools !== undefined && { tools: tools === 'ALL' ? tools : asOurs(tools) }),
          maxTurns,
          memory,
          isolation,
          unknown: unknown?.split(',') ?? [],
        }),
      }
      return JSON.stringify(got) === JSON.stringify(want) ? [] : [{ file: wanted.file, got, want }]
    })
    expect(wrong).toEqual([])
  })

  it('keep their descriptions to the last character', () => {
    const wrong = files.flatMap(({ file, content, origin, description }) => {
      const read = parseAgentFile(content, origin)
      if (read.kind !== 'agent' || description === undefined) return []
      const text = String(read.definition.whenToUse)
      const isWhole = description.length === undefined || Array.from(text).length === description.length
      return isWhole && text.startsWith(description.starts) ? [] : [{ file, text, description }]
    })
    expect(wrong).toEqual([])
  })

  it('are never repaired without a line and the reason', () => {
    const repaired = files
      .map(({ content, origin }) => parseAgentFile(content, origin))
      .filter((file) => file.kind === 'agent' && file.mode === 'repaired')
    expect(repaired.length).toBeGreaterThan(20)
    for (const { diagnostics } of repaired) {
      const repair = diagnostics.find(({ code }) => code === 'yaml-repaired')
      expect(repair).toMatchObject({ severity: 'warning', line: expect.any(Number) })
      expect(repair?.message).toContain('`description` as plain text')
    }
  })

  it('give diagnostics with the path of their file', () => {
    for (const { content, origin } of files)
      for (const { file } of parseAgentFile(content, origin).diagnostics) expect(file).toBe(origin.path)
  })

  /** The same file in another form. */
  const FORMS: Readonly<Record<string, (text: string) => string>> = {
    CRLF: (text) => text.replaceAll('\n', '\r\n'),
    'lone CR': (text) => text.replaceAll('\n', '\r'),
    'a byte order mark': (text) => `\ufeff${text}`,
    'a byte order mark and CRLF': (text) => `\ufeff${text.replaceAll('\n', '\r\n')}`,
    'blanks behind the fences': (text) => {
      let fences = 0
      return text.replace(/^-{3,}$/gm, (fence) => (fences++ < 2 ? `${fence} \t ` : fence))
    },
    'two blank lines at the top': (text) => `\n\n${text}`,
    'no line end at the end': (text) => text.trimEnd(),
  }

  const plainFiles = files.map(({ file, content, origin }) => {
    const plain = content.replace(/\r\n?/g, '\n').replace(/^\ufeff/, '')
    return { file, plain, origin, outcome: JSON.stringify(outcomeOf(plain, origin)) }
  })

  it.each(Object.entries(FORMS))('come to the same with %s', (_, change) => {
    const different = plainFiles.filter(
      ({ plain, origin, outcome }) =>
        JSON.stringify(outcomeOf(Buffer.from(change(plain)), origin)) !== outcome,
    )
    expect(different.map(({ file }) => file)).toEqual([])
  })
})

/** Tools as written in the names that we have for them. */
function asOurs(written: readonly string[]): readonly string[] {
  return [...new Set(written.filter((name) => !UNKNOWN.includes(name)).map((name) => RENAMED[name] ?? name))]
}

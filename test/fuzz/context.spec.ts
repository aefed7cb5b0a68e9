/** Files of any kind as context: what is in them stays in its envelope, and none breaks or stalls a reader. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  cutMemory,
  memoryFolderName,
  renderMemoryPrompt,
} from '../../src/definitions/context/agent-memory.ts'
import { importsIn } from '../../src/definitions/context/claude-md-imports.ts'
import { inert } from '../../src/definitions/context/envelope.ts'
import { renderGitStatus } from '../../src/definitions/context/git-status.ts'
import { maskCode } from '../../src/definitions/context/markdown-code.ts'
import { parseSkill } from '../../src/definitions/context/parse-skill.ts'
import { renderSkill, skillListing } from '../../src/definitions/context/render-skill.ts'
import { resolveSkill } from '../../src/definitions/context/resolve-skill.ts'
import type { Skill, SkillOrigin } from '../../src/definitions/context/skill.ts'
import { byteLength, cutText, startOfText } from '../../src/definitions/context/text.ts'
import { renderContext } from '../../src/definitions/context/user-context.ts'
import { CLAUDE_MD_LIMITS, readClaudeMd } from '../../src/effects/context/read-claude-md.ts'
import { forging, tagsIn } from './support/envelopes.ts'
import { expectLinear, fuzz, sizeOf } from './support/fuzz.ts'
import { hostileText, mutatedText } from './support/mutations.ts'

const skillOf = (body: string, description = ''): Skill => ({
  name: 'a',
  description,
  body,
  baseDir: '/s',
  filename: '/s/SKILL.md',
  source: 'projectSettings',
  disableModelInvocation: false,
})

describe('an envelope', () => {
  fuzz(
    'of context has the tags of the engine and no other',
    300,
    fc.tuple(forging, forging, forging, forging),
    ([a, b, c, d]) => {
      const text = renderContext({
        claudeMd: [
          { path: `/${c}`, scope: 'user', text: `x${a}` },
          { path: '/p', scope: 'project', importedBy: d, text: `x${b}` },
        ],
        gitStatus: `x${renderGitStatus({ branch: c, mainBranch: d, status: a, isStatusCut: false, commits: b })}`,
        date: `x${d}`,
      })
      expect(tagsIn(text)).toEqual([
        'system-reminder',
        ...['claude-md', '/claude-md', 'claude-md', '/claude-md', 'git-status', '/git-status'],
        '/system-reminder',
      ])
    },
  )

  fuzz('of a skill or a memory is not left by what is in it', 300, fc.tuple(forging, forging), ([a, b]) => {
    expect(tagsIn(renderSkill(skillOf(a), b))).toEqual(['loaded-skill', '/loaded-skill'])
    expect(tagsIn(skillListing([skillOf(a, b)]))).toEqual([])
    const prompt = renderMemoryPrompt({ folder: '/m', scope: 'user', text: `x${cutMemory(a, true).text}` })
    expect(tagsIn(prompt)).toEqual(['agent-memory', '/agent-memory'])
  })

  fuzz('changes text once and not again', 200, forging, (text) => {
    expect(inert(inert(text))).toBe(inert(text))
    // Nothing but brackets changes.
    const rest = (of: string): string => of.replaceAll('&lt;', '').replace(/[<＜﹤]/g, '')
    expect(rest(inert(text))).toBe(rest(text))
  })
})

describe('a cut', () => {
  fuzz(
    'keeps within its bound and splits no character',
    300,
    fc.tuple(fc.string({ unit: 'binary' }), fc.nat(60)),
    ([text, max]) => {
      const start = startOfText(text, max)
      expect(text.startsWith(start)).toBe(true)
      expect(Buffer.from(start).toString()).toBe(start)
      const next = [...text.slice(start.length)][0]
      expect(next === undefined || byteLength(start + next) > max).toBe(true)
      expect(byteLength(cutText(text, max, '[Cut]'))).toBeLessThanOrEqual(max)
    },
  )
})

describe('a folder name', () => {
  fuzz('is one component and belongs to one type', 300, fc.tuple(hostileText, hostileText), ([a, b]) => {
    const [one, other] = [memoryFolderName(a), memoryFolderName(b)]
    expect(one).toMatch(/^[A-Za-z0-9%_-][A-Za-z0-9%._-]*$/)
    expect(dirname(join('/m', one))).toBe('/m')
    // Half a character has no bytes of its own; everything else keeps types apart.
    if (a !== b && [a, b].every((text) => Buffer.from(text).toString() === text)) expect(one).not.toBe(other)
  })
})

const markdown = fc
  .array(
    fc.oneof(
      fc.constantFrom('`', '``', '```', '```js', '~~~', '\n', '\n\n', '- ', '> ', '    ', '\\', '# ', '1. '),
      fc.constantFrom('@a.md', '@../x', '@~/y', '@/z', ' ', '@', 'text', '.', '#', '@b\\ c.md'),
      hostileText,
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''))

describe('imports', () => {
  fuzz('stand where they are said to', 300, markdown, (text) => {
    const masked = maskCode(text)
    expect(masked.length).toBe(text.length)
    expect(masked.split('\n').length).toBe(text.split('\n').length)
    const lines = text.split('\n')
    for (const { target, line } of importsIn(text)) {
      expect(lines[line - 1]?.replaceAll('\\ ', ' ')).toContain(`@${target}`)
    }
  })

  it('are found in linear time', async () => {
    const shapes = [
      '@',
      '@a ',
      '`',
      '` `` ',
      '`a',
      '> ',
      '- ',
      '1. ',
      '@....',
      '\\`',
      '```\n',
      '<',
      '@a\\ ',
      '\n',
      '@a\n',
    ]
    await expectLinear(
      sizeOf(40_000, 400_000),
      shapes,
      (shape, size) => shape.repeat(Math.ceil(size / shape.length)).slice(0, size),
      (text) => {
        importsIn(text)
        inert(text)
      },
    )
    expect(inert(`<${'\u200b'.repeat(100_000)}`)).toHaveLength(100_001)
  }, 60_000)
})

const ORIGIN: SkillOrigin = {
  path: '/s/a/SKILL.md',
  baseDir: '/s/a',
  folderName: 'a',
  source: 'projectSettings',
}
const GOOD_SKILLS = [
  '---\nname: pdf\ndescription: Works with PDF files. Use when: asked\nallowed-tools: Read, Bash(git log:*)\n---\n# PDF\n\nDo $ARGUMENTS.\n',
  '---\nname: "x"\ndescription: >\n  folded\n  text\ndisable-model-invocation: true\nmetadata: {a: [1, &x 2, *x]}\n---\nBody\n',
  '\ufeff---\r\ndescription: |\r\n  one\r\nmodel: haiku\r\n---\r\nBody\r\n',
]

describe('a skill file', () => {
  fuzz(
    'of any kind is read without a throw, twice alike',
    300,
    mutatedText(fc.constantFrom(...GOOD_SKILLS)),
    (text) => {
      const { skill, diagnostics } = parseSkill(text, ORIGIN)
      expect(parseSkill(text, ORIGIN)).toEqual({ skill, diagnostics })
      expect(skill !== undefined || diagnostics.some(({ severity }) => severity === 'error')).toBe(true)
      if (skill === undefined) return
      expect(skill.name).not.toMatch(/[:\n<]/)
      expect(skillListing([skill]).split('\n').length).toBeLessThanOrEqual(2)
      expect(resolveSkill(skill.name, [skill])).toMatchObject({ kind: 'found', by: 'exact' })
    },
  )

  it('with much to repair is read in linear time', async () => {
    const shapes = [
      'description: a: b\n',
      '---a\n',
      'a: &a [*a]\n',
      '[',
      '{a: ',
      '- ',
      '\t',
      '"',
      'name: x\n',
      '\n',
      ' \n',
      '#\n',
      '  x\n',
    ]
    await expectLinear(
      sizeOf(30_000, 250_000),
      shapes,
      (shape, size) => `---\n${shape.repeat(Math.ceil(size / shape.length))}\n---\nBody`,
      (text) => parseSkill(text, ORIGIN),
    )
  }, 60_000)
})

describe('a repository of any kind', () => {
  let base = ''
  beforeAll(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-context-')))
    for (const folder of ['repo/docs', 'home/.claude', 'outside'])
      mkdirSync(join(base, folder), { recursive: true })
    writeFileSync(join(base, 'outside/x.md'), 'SECRET')
    writeFileSync(join(base, 'repo/a.md'), 'inside @docs/b.md @../outside/x.md')
  })
  afterAll(() => rmSync(base, { recursive: true, force: true }))

  const hostileMarkdown = fc
    .array(
      fc.oneof(
        markdown,
        fc.constantFrom(' @../outside/x.md ', ' @docs/../../outside/x.md', ' @/etc/passwd ', ' @a.md '),
      ),
      {
        maxLength: 6,
      },
    )
    .map((parts) => parts.join(''))

  fuzz(
    'gives nothing from outside, within its bounds',
    60,
    fc.tuple(hostileMarkdown, hostileMarkdown),
    async ([a, b]) => {
      writeFileSync(join(base, 'repo/CLAUDE.md'), a)
      writeFileSync(join(base, 'repo/docs/b.md'), b)
      const { files } = await readClaudeMd({
        cwd: join(base, 'repo'),
        home: join(base, 'home'),
        stopAt: join(base, 'repo'),
      })
      expect(files.map(({ text }) => text).join('')).not.toMatch(/SECRET|root:x/)
      expect(files.every(({ path }) => path.startsWith(join(base, 'repo')))).toBe(true)
      expect(files.every(({ text }) => byteLength(text) <= CLAUDE_MD_LIMITS.fileBytes)).toBe(true)
      expect(new Set(files.map(({ path }) => path)).size).toBe(files.length)
    },
  )
})

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSkills, type SkillPlaces, type SkillsReading } from '../../../src/effects/context/load-skills.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const about = (what: string): string => `---\ndescription: ${what}\n---\n${what}\n`

function world(files: Readonly<Record<string, string | Buffer>>): {
  readonly at: (path: string) => string
  readonly load: (more?: Partial<SkillPlaces>) => Promise<SkillsReading>
} {
  const base = temporaryFolder()
  const at = (path: string): string => join(base, path)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), content)
  }
  return {
    at,
    load: (more = {}) =>
      loadSkills({
        userDir: at('home/.claude'),
        projectDirs: [at('repo/pkg/.claude'), at('repo/.claude')],
        stopAt: at('repo'),
        plugins: [{ name: 'docs', dir: at('plugins/docs') }],
        ...more,
      }),
  }
}
const names = ({ skills }: SkillsReading): readonly string[] =>
  skills.map(({ name, description }) => `${name}: ${description}`)
const codes = ({ diagnostics }: SkillsReading): readonly string[] => diagnostics.map(({ code }) => code)

describe('the skills on disk', () => {
  it('come from user, project and plugins, sorted by name', async () => {
    const { at, load } = world({
      'home/.claude/skills/z/SKILL.md': about('user'),
      'repo/.claude/skills/b/SKILL.md': about('project'),
      'repo/.claude/skills/b/extra.md': 'x',
      'repo/.claude/skills/README.md': 'no skill',
      'repo/.claude/skills/empty/notes.md': 'no skill',
      'repo/.claude/skills/.hidden/SKILL.md': about('hidden'),
      'plugins/docs/skills/a/SKILL.md': about('plugin'),
    })
    const reading = await load()
    expect(names(reading)).toEqual(['b: project', 'docs:a: plugin', 'z: user'])
    expect(reading.diagnostics).toEqual([])
    expect(reading.skills[0]).toMatchObject({
      source: 'projectSettings',
      baseDir: at('repo/.claude/skills/b'),
      filename: at('repo/.claude/skills/b/SKILL.md'),
      body: 'project',
    })
  })

  it("of one name are the nearer project's, then the user's, and the others are told", async () => {
    const { at, load } = world({
      'home/.claude/skills/a/SKILL.md': about('user'),
      'repo/.claude/skills/a/SKILL.md': about('root'),
      'repo/pkg/.claude/skills/a/SKILL.md': about('near'),
    })
    const reading = await load()
    expect(names(reading)).toEqual(['a: near'])
    expect(reading.diagnostics.map(({ code, file }) => [code, file])).toEqual([
      ['skill-shadowed', at('repo/.claude/skills/a/SKILL.md')],
      ['skill-shadowed', at('home/.claude/skills/a/SKILL.md')],
    ])
  })

  it('are the same however long each takes to read', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `repo/.claude/skills/s${i}/SKILL.md`,
        `---\nname: n${i % 10}\ndescription: ${i}\n---\n${'x'.repeat((i * 7919) % 20_000)}`,
      ]),
    )
    const { load } = world(files)
    const [first, second] = [await load(), await load()]
    expect(first).toEqual(second)
    expect(first.skills).toHaveLength(10)
    expect(first.diagnostics).toHaveLength(20)
  })

  it('may be none, in folders that do not exist', async () => {
    expect(await world({}).load()).toEqual({ skills: [], diagnostics: [] })
    expect(await loadSkills({ projectDirs: [], plugins: [] })).toEqual({ skills: [], diagnostics: [] })
  })

  it("of a home folder that is the project too are the user's own", async () => {
    const { at, load } = world({ 'home/.claude/skills/a/SKILL.md': about('user') })
    const reading = await load({ projectDirs: [at('home/.claude')], stopAt: at('home') })
    expect(reading.skills).toMatchObject([{ source: 'userSettings' }])
    expect(reading.diagnostics).toEqual([])
  })
})

describe('a skill that cannot be loaded as it is', () => {
  it.each([
    ['the file', 'repo/.claude/skills/a/SKILL.md', '../../../../secret/SKILL.md'],
    ['its folder', 'repo/.claude/skills/a', '../../../secret'],
    ['the folder of all', 'repo/.claude/skills', '../../'],
    ['the settings folder', 'repo/.claude', '../elsewhere'],
    ["a plugin's file", 'plugins/docs/skills/a/SKILL.md', '../../../../secret/SKILL.md'],
  ])('is refused when %s is a link out of its place', async (_, link, target) => {
    const { at, load } = world({
      'secret/SKILL.md': about('SECRET'),
      'elsewhere/skills/a/SKILL.md': about('SECRET'),
      'repo/x': '',
      'plugins/docs/x': '',
    })
    mkdirSync(dirname(at(link)), { recursive: true })
    symlinkSync(target, at(link))
    const reading = await load()
    expect(reading.skills).toEqual([])
    expect(codes(reading)).toEqual(['skill-outside'])
  })

  it("is loaded through a link inside the repository, and through any link of the user's", async () => {
    const { at, load } = world({
      'repo/shared/a/SKILL.md': about('shared'),
      'dotfiles/b/SKILL.md': about('mine'),
      'repo/pkg/.claude/skills/x': '',
      'home/.claude/skills/x': '',
    })
    symlinkSync(at('repo/shared/a'), at('repo/pkg/.claude/skills/a'))
    symlinkSync(at('dotfiles/b'), at('home/.claude/skills/b'))
    const reading = await load()
    expect(names(reading)).toEqual(['a: shared', 'b: mine'])
    expect(reading.diagnostics).toEqual([])
  })

  it('is cut when it is huge', async () => {
    const { load } = world({ 'repo/.claude/skills/a/SKILL.md': about('é'.repeat(300 * 1024)) })
    const reading = await load()
    expect(codes(reading)).toContain('skill-cut')
    expect(reading.skills[0]?.body.length).toBeLessThan(256 * 1024)
  })

  it('is told when it is no text, a folder, or a link to itself', async () => {
    const { at, load } = world({
      'repo/.claude/skills/a/SKILL.md': Buffer.from([0, 1, 2]),
      'repo/.claude/skills/b/SKILL.md/x': '',
      'repo/.claude/skills/c/x': '',
    })
    symlinkSync('SKILL.md', at('repo/.claude/skills/c/SKILL.md'))
    const reading = await load()
    expect(reading.skills).toEqual([])
    expect(codes(reading)).toEqual(['skill-unreadable', 'skill-unreadable', 'skill-unreadable'])
  })

  it('is told when it is one of too many', async () => {
    const { at, load } = world({ 'repo/x': '' })
    for (let i = 0; i < 501; i++) mkdirSync(at(`repo/.claude/skills/s${i}`), { recursive: true })
    expect(codes(await load())).toEqual(['skills-too-many'])
  })
})

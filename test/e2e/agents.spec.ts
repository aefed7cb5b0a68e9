/** `troupe agents`: the built program on real folders. */
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlace, jsonLines } from './support/program.ts'
import { anybody, giveTo, unprivileged } from './support/unprivileged.ts'

const agent = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: Reviews code\n${more}---\nYou review.\n`

describe('troupe agents', () => {
  it('lists, shows and validates what the project has', async () => {
    await using place = createPlace({
      '.claude/agents/a.md': agent('reviewer', 'tools: Read, Grp\n'),
      '.claude/agents/broken.md': '---\nname: broken\n---\n',
      'kit/agents/b.md': agent('helper'),
    })
    const list = await place.troupe(['agents', 'list', '--json', '--plugin-dir', 'kit'])
    expect(list.code).toBe(0)
    const names = jsonLines(list.stdout).map((each) => each['name'])
    expect(names).toEqual(expect.arrayContaining(['reviewer', 'kit:helper', 'Explore', 'troupe-guide']))
    const show = await place.troupe(['agents', 'show', 'reviewer'])
    expect(show.stdout).toMatch(/^reviewer {2}project, \.claude\/agents\/a\.md\n/)
    const validate = await place.troupe(['agents', 'validate'])
    expect(validate.code).toBe(1)
    expect(validate.stdout).toMatch(/^\.claude\/agents\/a\.md:4:\d+: warning: .* \[tool-unknown\]$/m)
    expect(validate.stdout).toMatch(/^\.claude\/agents\/broken\.md:1:1: error: .* \[description-missing\]$/m)
    const one = await place.troupe(['agents', 'validate', '.claude/agents/a.md'])
    expect(one.code).toBe(0)
  })

  it('shows nothing of what a cloned repository points to', async () => {
    await using place = createPlace({ '.claude/agents/a.md': agent('reviewer') })
    symlinkSync('/etc/passwd', path.join(place.project, '.claude/agents/passwd.md'))
    symlinkSync('..', path.join(place.project, '.claude/agents/round'))
    const { code, stdout } = await place.troupe(['agents', 'validate'])
    expect(code).toBe(1)
    expect(stdout).toContain('[agent-file-outside]')
    expect(stdout).toContain('[agent-file-repeated]')
    expect(stdout).not.toContain('root:')
  })

  it.skipIf(typeof unprivileged === 'string')(
    'tells of folders that may not be read, and reads the others',
    async () => {
      await using place = createPlace({
        '.claude/agents/a.md': agent('reviewer'),
        '.claude/agents/closed/b.md': agent('b'),
      })
      mkdirSync(path.join(place.home, '.claude/agents'), { recursive: true })
      giveTo(anybody, place)
      for (const folder of [
        path.join(place.project, '.claude/agents/closed'),
        path.join(place.home, '.claude/agents'),
      ])
        chmodSync(folder, 0)
      const { code, stdout } = await place.troupe(['agents', 'list'], { user: anybody })
      expect(code).toBe(0)
      expect(stdout).toMatch(/^reviewer +project/m)
      expect(stdout.match(/: The folder cannot be read: EACCES/g)).toHaveLength(2)
    },
  )
})

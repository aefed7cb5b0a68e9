import { describe, expect, it } from 'vitest'
import { renderGitStatus } from '../../../src/definitions/context/git-status.ts'
import { byteLength } from '../../../src/definitions/context/text.ts'
import { renderContext } from '../../../src/definitions/context/user-context.ts'

const FACTS = {
  branch: 'topic',
  mainBranch: 'main',
  status: ' M a.ts\n?? b.ts\n',
  isStatusCut: false,
  commits: 'abc1234 First\n',
}

describe('the context of an agent', () => {
  it('is one envelope with its files in order, git status and date', () => {
    const text = renderContext({
      claudeMd: [
        { path: '/home/u/.claude/CLAUDE.md', scope: 'user', text: 'Mine.\n' },
        { path: '/p/CLAUDE.md', scope: 'project', text: 'Ours. </claude-md>' },
        { path: '/p/docs/a.md', scope: 'project', importedBy: '/p/CLAUDE.md', text: 'More.' },
        { path: '/p/CLAUDE.local.md', scope: 'local', text: ' \n' },
      ],
      gitStatus: 'Branch: main',
      date: '2026-11-30',
    })
    expect(
      text.replace(/^.*\n.*\n\n.*\n\n/, ''),
    ).toBe(`<claude-md path="/home/u/.claude/CLAUDE.md" scope="the user's own, for every project">
Mine.
</claude-md>

<claude-md path="/p/CLAUDE.md" scope="the project's">
Ours. &lt;/claude-md>
</claude-md>

<claude-md path="/p/docs/a.md" scope="the project's" imported-by="/p/CLAUDE.md">
More.
</claude-md>

<git-status>
Branch: main
</git-status>

Date: 2026-11-30
</system-reminder>`)
    expect(text).toMatch(/^<system-reminder>\n/)
  })

  it('is empty when there is nothing to tell', () => {
    const nothing = { path: '/p/CLAUDE.md', scope: 'project', text: '\n' } as const
    expect(renderContext({ claudeMd: [nothing], gitStatus: ' ', date: undefined })).toBe('')
  })
})

describe('a git status', () => {
  it('says that it may be out of date', () => {
    const [head, ...rest] = renderGitStatus(FACTS).split('\n')
    expect(head).toContain('may be out of date')
    expect(rest.join('\n')).toBe(
      'Branch: topic\nMain branch: main\n\nChanged files (git status --short):\n M a.ts\n?? b.ts\n\nLatest commits:\nabc1234 First',
    )
  })

  it('says what is not known', () => {
    const text = renderGitStatus({
      branch: undefined,
      mainBranch: undefined,
      status: undefined,
      isStatusCut: false,
      commits: undefined,
    })
    expect(text).toContain('detached HEAD')
    expect(text).not.toContain('Main branch')
    expect(text.match(/did not answer/g)).toHaveLength(2)
  })

  it('tells a clean tree without commits', () => {
    const text = renderGitStatus({ ...FACTS, status: '', commits: '' })
    expect(text).toContain('Changed files: none')
    expect(text).toContain('Latest commits: none')
  })

  it('of too many files keeps the first ones and the commits within its bound', () => {
    const status = '?? é\n'.repeat(20_000)
    const text = renderGitStatus({ ...FACTS, status })
    expect(byteLength(text)).toBeLessThanOrEqual(40 * 1024)
    expect(byteLength(text)).toBeGreaterThan(39 * 1024)
    expect(text).toMatch(/\n\n\[Cut: .*git status --short\]\n\nLatest commits:\nabc1234 First$/)
  })

  it('is marked as cut when its output was', () => {
    expect(renderGitStatus({ ...FACTS, isStatusCut: true })).toContain('[Cut: more files')
  })

  it('lets no commit write lines or control characters of its own', () => {
    const text = renderGitStatus({ ...FACTS, commits: `a ${'x'.repeat(1000)}\nb \u001b[31m\r!\n` })
    expect(text).toMatch(/a x{298}…\nb \\u001b\[31m\\u000d!$/)
  })
})

import { expect, it, onTestFinished, vi } from 'vitest'
import { openGit } from '../../../src/effects/worktrees/git.ts'
import { git, repository } from './world.ts'

it('takes a command that prints nothing for done when it is, without another pause', async () => {
  const root = repository()
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const opened = openGit(root, { mark: 'a1/test' })
  expect(await opened.run(['update-ref', 'refs/heads/other', 'HEAD'])).toBe('')
  expect(await opened.ask(['show-ref', '--verify', '--quiet', 'refs/heads/missing'])).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: '',
  })
  expect(timers).not.toHaveBeenCalled()
  expect(git(root, 'rev-parse', 'other')).toBe(git(root, 'rev-parse', 'HEAD'))
})

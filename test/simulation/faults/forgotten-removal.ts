import { type Fault, replaceMethod } from './fault.ts'

export const FORGOTTEN_REMOVAL: Fault = {
  name: 'forgotten-removal',
  law: 9,
  text: 'A worktree is told as removed, and is still there.',
  within: 60,
  scenario: 'worktrees',
  breakOnScene: ({ worktrees }) => {
    replaceMethod(worktrees, 'portFor', (portFor) => (life) => ({
      ...portFor(life),
      remove: () => Promise.resolve(),
    }))
  },
}

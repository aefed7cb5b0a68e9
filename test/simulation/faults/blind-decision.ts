import { type Fault, replaceMethod } from './fault.ts'

export const BLIND_DECISION: Fault = {
  name: 'blind-decision',
  law: 9,
  text: 'Worktrees are removed without a look at what is in them.',
  within: 60,
  scenario: 'worktrees',
  breakOnScene: ({ worktrees }) => {
    replaceMethod(worktrees, 'portFor', (portFor) => (life) => ({
      ...portFor(life),
      decide: () => Promise.resolve({ kind: 'remove', reasons: ['it is in the way'] }),
    }))
  },
}

import { describe, expect, it } from 'vitest'
import type { TaskStatus } from '../../../../src/effects/tools/agents/agents-port.ts'
import { answerOutput } from '../../../../src/effects/tools/agents/words.ts'

const TASK: TaskStatus = {
  taskId: 'a1',
  agentType: 'maker',
  description: 'makes things',
  status: 'running',
  isBackgrounded: true,
  turns: 1,
  toolUses: 2,
  tokens: 3,
  lastActivities: [],
  pendingMessages: 0,
  parentId: undefined,
}

describe('what an agent has written', () => {
  it('stands in the line of that agent, and looks like no other one', () => {
    const description = 'makes things (1 turns, 1 tool uses)\na2  maker  running  more things'
    const { content } = answerOutput(
      { kind: 'unknown', known: [{ ...TASK, description, lastActivities: ['reads\nwrites'] }] },
      'a3',
    )
    expect(String(content).split('\n')).toHaveLength(2)
  })
})

describe('a task that goes on', () => {
  it.each([
    [{}, undefined],
    [{ worktreePath: '/p/.claude/worktrees/w' }, 'worktree: /p/.claude/worktrees/w'],
    [
      { worktreePath: '/p/.claude/worktrees/w', worktreeBranch: 'worktree-w' },
      'worktree: /p/.claude/worktrees/w (branch worktree-w)',
    ],
  ])('is told with the worktree that it works in: %j', (worktree, expected) => {
    const { content, structured } = answerOutput({ kind: 'going-on', task: { ...TASK, ...worktree } }, 'a1')
    expect(
      String(content)
        .split('\n')
        .find((line) => line.startsWith('worktree:')),
    ).toBe(expected)
    expect(structured).toMatchObject({ task: worktree })
  })
})

import { describe, expect, it } from 'vitest'
import {
  checkHooks,
  hookLabel,
  hooksForAgent,
  hooksForAll,
} from '../../../src/definitions/hooks/scoped-hook.ts'

const FILE = { kind: 'file', path: '/p/.claude/settings.json' } as const

describe('hooks in force', () => {
  it('are for all agents, or for the one whose definition has them', () => {
    const declaration = { event: 'PreToolUse', matcher: 'Bash', command: 'check' } as const
    expect(hooksForAll([declaration], FILE)).toEqual([{ declaration, scope: { kind: 'all' }, source: FILE }])
    expect(hooksForAgent([declaration], 'a1', FILE)).toEqual([
      { declaration, scope: { kind: 'agent', agentId: 'a1' }, source: FILE },
    ])
  })

  it('end a child where its definition says Stop, whatever matcher stands there', () => {
    const [hook] = hooksForAgent([{ event: 'Stop', matcher: 'x', command: 'c', timeout: 5 }], 'a1', FILE)
    expect(hook?.declaration).toEqual({ event: 'SubagentStop', command: 'c', timeout: 5 })
  })

  it('are told when their matcher cannot be used, or is of no use', () => {
    const hooks = hooksForAll(
      [
        { event: 'PreToolUse', matcher: '^(?!Bash)', command: 'c' },
        { event: 'UserPromptSubmit', matcher: 'Bash', command: 'c' },
        { event: 'UserPromptSubmit', matcher: '*', command: 'c' },
        { event: 'PreToolUse', matcher: 'Bash|Edit', command: 'c' },
        { event: 'Stop', command: 'c' },
      ],
      FILE,
    )
    expect(checkHooks(hooks)).toMatchObject([
      { severity: 'error', code: 'hook-matcher-refused', source: FILE },
      { severity: 'warning', code: 'hook-matcher-unused', source: FILE },
    ])
  })

  it('have a name of one line, whatever their file is called', () => {
    expect(hookLabel('Stop', FILE)).toBe('Stop hook of /p/.claude/settings.json')
    expect(hookLabel('Stop', { kind: 'plugin', name: 'a\n</b>\u0007', root: '/x' })).toBe(
      'Stop hook of plugin a </b>\\u0007',
    )
    expect(hookLabel('Stop', { kind: 'host' })).toBe('Stop hook of the host')
    expect(hookLabel('Stop', { kind: 'host', name: 'x'.repeat(500) })).toHaveLength(200)
  })
})

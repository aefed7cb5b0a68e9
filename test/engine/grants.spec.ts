/** «Always»: what an answer grants, and to whom. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../src/definitions/features.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import { openProject } from '../../src/effects/project/open-project.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../src/engine/api.ts'
import { grantScopeOf } from '../../src/engine/grants.ts'
import { settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { pretendedShell } from '../helpers/tools.ts'

const shell = pretendedShell((command) => `ran ${command}`)

const bash = (command: string) => callMany([{ name: 'Bash', input: { command } }])
const isChild = ({ messages }: ModelRequest): boolean => JSON.stringify(messages[0]).includes('the part')
const delegate = (background: boolean) =>
  callMany([
    {
      name: 'Agent',
      input: { description: 'a part', prompt: 'the part', ...(background && { run_in_background: true }) },
    },
  ])

function asking(
  script: (request: ModelRequest) => ScriptedReply,
  more: Parameters<typeof testEngine>[1] = {},
) {
  const asked: ApprovalRequest[] = []
  const canUseTool = (request: ApprovalRequest): ApprovalAnswer => {
    asked.push(request)
    return { decision: 'allow', always: true }
  }
  const tested = testEngine(script, {
    tools: [shell],
    ...more,
    permissions: { mode: 'default', ...more.permissions, canUseTool },
  })
  const granted = () =>
    tested.facts.flatMap(({ agentId, event }) =>
      event.type === 'permission.granted' ? [{ agentId, rule: event.rule }] : [],
    )
  return { ...tested, asked, granted }
}

describe('«always»', () => {
  it('grants every rule that a compound command needs, together', async () => {
    const { engine, asked, granted } = asking((request) => {
      if (turnOf(request) === 0) return bash('npm test && npm run build')
      if (turnOf(request) === 1) return bash('npm run build && npm test')
      return say('done')
    })
    await engine.run('go').result
    await engine.close()
    expect(asked.map(({ suggestions }) => suggestions)).toEqual([['Bash(npm test:*)', 'Bash(npm run:*)']])
    expect(granted().map(({ rule }) => rule)).toEqual(['Bash(npm test:*)', 'Bash(npm run:*)'])
  })

  it('grants the rules that are missing when some are there', async () => {
    const { engine, asked } = asking(
      (request) => (turnOf(request) === 0 ? bash('npm test && npm run build') : say('done')),
      { permissions: { allow: ['Bash(npm test:*)'] } },
    )
    await engine.run('go').result
    await engine.close()
    expect(asked[0]?.suggestions).toEqual(['Bash(npm test:*)', 'Bash(npm run:*)'])
  })

  it('of a child in the foreground holds for its parent at once', async () => {
    const { engine, asked } = asking((request) => {
      if (isChild(request)) return turnOf(request) === 0 ? bash('npm test') : say('report')
      return [delegate(false), bash('npm test'), say('done')][turnOf(request)] ?? say('done')
    })
    await engine.run('go').result
    await engine.close()
    expect(asked.map(({ agentType, grantScope }) => [agentType, grantScope])).toEqual([
      ['general-purpose', 'session'],
    ])
  })

  it.skipIf(!FEATURES.background.isBuilt)('of a child in the background is in its own log only', async () => {
    const { engine, asked, granted } = asking(
      (request) => {
        if (isChild(request)) return [bash('npm test'), bash('npm test a')][turnOf(request)] ?? say('report')
        return turnOf(request) === 0 ? delegate(true) : say('done')
      },
      { features: { background: true } },
    )
    const run = engine.run('go')
    const root = await run.started
    await run.result
    await settle(60)
    await engine.close()
    expect(asked.map(({ grantScope }) => grantScope)).toEqual(['agent'])
    expect(granted().map(({ agentId }) => agentId === root)).toEqual([false])
  })

  it('promises nothing for a call that an ask rule wants: it would ask again', async () => {
    const home = temporaryFolder()
    mkdirSync(path.join(home, '.claude'))
    writeFileSync(
      path.join(home, '.claude/settings.json'),
      JSON.stringify({ permissions: { ask: ['Bash(npm:*)'] } }),
    )
    const cwd = temporaryFolder()
    const project = await openProject({ cwd, home, env: {} })
    const { engine, asked, granted } = asking(
      (request) => (turnOf(request) < 2 ? bash('npm test') : say('done')),
      { project, cwd },
    )
    await engine.run('go').result
    await engine.close()
    expect(asked.map(({ suggestions }) => suggestions)).toEqual([[], []])
    expect(granted()).toEqual([])
  })
})

describe('a grant would hold', () => {
  type Placed = Parameters<typeof grantScopeOf>[0]
  const placed = (parent: Placed | undefined, where: 'foreground' | 'started' | 'moved'): Placed => ({
    parent,
    birth: { plan: where === 'started' ? { background: { value: true } } : {} },
    run: {
      snapshot: {
        value: {
          running: { turn: 'acting', placement: where === 'moved' ? 'backgrounded' : 'foreground' },
        },
      },
    },
  })
  const root = placed(undefined, 'foreground')

  it.each([
    ['session', [] as const],
    ['session', ['foreground', 'foreground'] as const],
    ['agent', ['started'] as const],
    ['agent', ['moved'] as const],
    ['agent', ['moved', 'foreground'] as const],
  ])('for the %s below the root by way of %j', (scope, ways) => {
    expect(grantScopeOf(ways.reduce(placed, root))).toBe(scope)
  })
})

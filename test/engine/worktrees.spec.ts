/** Agents in worktrees of their own, with real git. */
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import { systemClock } from '../../src/effects/clock.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import type { AgentView } from '../../src/engine/api.ts'
import { WORKTREE_TOOLS } from '../../src/engine/worktree/worktree-tools.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import { git, NOTHING_REMAINS, remains, repository, scratch, write } from '../effects/worktrees/world.ts'
import { testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const SESSION = '66666666-6666-4666-8666-666666666666'

const worker: AgentDefinition = {
  agentType: 'maker',
  whenToUse: 'to make things',
  getSystemPrompt: () => 'You make things.',
  isolation: 'worktree',
  source: 'flagSettings',
}

const isChild = ({ system }: ModelRequest): boolean => String(system).includes('You make things.')

type Steps = readonly ((cwd: string) => ScriptedReply)[]

const cwdIn = (system: unknown): string =>
  /- Working directory: (.+) \(in a git/u.exec(String(system))?.[1] ?? ''

/** A root that delegates once to a child that takes these steps. */
function world(root: string, steps: Steps, more: Parameters<typeof testEngine>[1] = {}) {
  const requests: ModelRequest[] = []
  const made = testEngine(
    (request) => {
      requests.push(request)
      if (!isChild(request))
        return turnOf(request) === 0
          ? call('Agent', { description: 'make it', prompt: 'make it', subagent_type: 'maker' })
          : say('all done')
      return (steps[turnOf(request)] ?? (() => say('report')))(cwdIn(request.system))
    },
    {
      cwd: root,
      clock: systemClock,
      processes: createLocalProcessRunner({ clock: systemClock }),
      tools: standardTools(),
      definitions: [...BUILT_IN_DEFINITIONS, worker],
      ...more,
    },
  )
  return { ...made, requests, child: () => requests.filter(isChild) }
}

const typesOf = (facts: ReturnType<typeof world>['facts']): readonly string[] =>
  facts.map(({ event }) => event.type).filter((type) => type.startsWith('worktree.'))

const resultOf = (facts: ReturnType<typeof world>['facts']): string =>
  JSON.stringify(
    facts.flatMap(({ event }) => (event.type === 'call.ended' && event.delivered ? [event] : [])),
  )

describe('an agent in a worktree', () => {
  it('works there and nowhere else; without changes nothing of it remains', async () => {
    const root = repository()
    const { engine, facts, child, events } = world(root, [() => call('Bash', { command: 'pwd' })])
    const result = await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect([result.status, events.filter(({ kind }) => kind === 'diagnostic')]).toEqual(['completed', []])
    expect(typesOf(facts)).toEqual([
      'worktree.requested',
      'worktree.created',
      'worktree.decided',
      'worktree.removed',
    ])
    const [request] = child()
    const cwd = cwdIn(request?.system)
    expect(cwd).toContain(`${root}/.claude/worktrees/agent-`)
    expect(String(request?.system)).toContain('Your working directory is a git worktree')
    // One directory is named, and it is not the parent's.
    expect(String(request?.system).replaceAll(cwd, '')).not.toContain(root)
    expect(JSON.stringify(child()[1]?.messages)).toContain(`${cwd}`)
    expect(resultOf(facts)).not.toContain('worktreePath')
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('a fork is told behind its directive where it works now, and shares everything before', async () => {
    const root = repository()
    const asked: ModelRequest[] = []
    const { engine } = testEngine(
      (request) => {
        asked.push({ ...request, messages: structuredClone([...request.messages]) })
        if (request.source === 'fork')
          return turnOf(request) === 0 ? call('Bash', { command: 'pwd' }) : say('Scope: done')
        if (turnOf(request) > 0) return say('all done')
        return call('Agent', { description: 'fork', prompt: 'do it', isolation: 'worktree' })
      },
      {
        cwd: root,
        clock: systemClock,
        processes: createLocalProcessRunner({ clock: systemClock }),
        tools: standardTools(),
        features: { fork: true },
      },
    )
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    const [parent] = asked
    const [first, second] = asked.filter(({ source }) => source === 'fork')
    expect(first?.system).toBe(parent?.system)
    const texts = JSON.stringify(first?.messages)
    const place = /Your working directory: (\S+?agent-\w+)/u.exec(texts)?.[1] ?? 'nowhere'
    expect(place).toContain(`${root}/.claude/worktrees/agent-`)
    expect(texts.indexOf('do it')).toBeLessThan(texts.indexOf(place))
    expect(JSON.stringify(second?.messages.at(-1))).toContain(place)
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('intent, creation and preparation stand in this order in its log, and the log says where it works', async () => {
    const root = repository()
    const { engine, facts } = world(root, [])
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    const childId = facts.find(({ event }) => event.type === 'worktree.requested')?.agentId
    const types = facts.filter(({ agentId }) => agentId === childId).map(({ event }) => event.type)
    expect(types.indexOf('worktree.requested')).toBeLessThan(types.indexOf('worktree.created'))
    expect(types.indexOf('worktree.created')).toBeLessThan(types.indexOf('agent.prepared'))
    expect(types.slice(-3)).toEqual(['worktree.decided', 'worktree.removed', 'agent.ended'])
  })

  it('its changes are kept and named in result and text', async () => {
    const root = repository()
    const { engine, facts } = world(root, [
      (cwd) => call('Write', { file_path: path.join(cwd, 'made.txt'), content: 'x' }),
    ])
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    const [tree = ''] = remains(root).branches
    expect(tree).toMatch(/^worktree-agent-/u)
    const text = resultOf(facts)
    expect(text).toContain(`"worktreeBranch":"${tree}"`)
    expect(text).toContain('which was kept')
    expect(existsSync(path.join(root, '.claude/worktrees', tree.replace('worktree-', ''), 'made.txt'))).toBe(
      true,
    )
    expect(git(root, 'status', '--porcelain')).toBe('')
  })

  it('the main checkout is refused by path, by link and by git -C in every mode, and the report counts it', async () => {
    const root = repository()
    const { engine, facts, child } = world(root, [
      () => call('Write', { file_path: path.join(root, 'stolen.txt'), content: 'x' }),
      (cwd) => {
        symlinkSync(root, path.join(cwd, 'node_modules'))
        return call('Write', { file_path: path.join(cwd, 'node_modules', 'stolen.txt'), content: 'x' })
      },
      () => call('Bash', { command: `git -C ${root} commit --allow-empty -m stolen` }),
    ])
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(existsSync(path.join(root, 'stolen.txt'))).toBe(false)
    expect(git(root, 'log', '--format=%s')).toBe('first')
    const results = JSON.stringify(child().at(-1)?.messages)
    expect(results.match(/outside of your worktree/gu)).toHaveLength(3)
    expect(resultOf(facts)).toContain('Refused by the engine, so not done (3)')
  })

  it('is shown with it to the host and to other agents', async () => {
    const root = repository()
    const { engine, facts, requests } = world(root, [
      (cwd) => call('Write', { file_path: path.join(cwd, 'x.txt'), content: 'x' }),
    ])
    const seen: (readonly AgentView['worktree'][])[] = []
    engine.events$.subscribe((event) => {
      if (event.kind === 'fact' && ['worktree.created', 'worktree.decided'].includes(event.event.type))
        seen.push(
          engine.agents
            .filter(({ parentAgentId }) => parentAgentId !== undefined)
            .map(({ worktree }) => worktree),
        )
    })
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    const created = facts.flatMap(({ event }) => (event.type === 'worktree.created' ? [event.path] : []))
    const [branch] = remains(root).branches
    expect(seen).toEqual([
      [{ path: created[0], branch, fate: 'in-use' }],
      [{ path: created[0], branch, fate: 'kept' }],
    ])
    expect(requests.length).toBeGreaterThan(0)
  })

  it('no repository, no commit: the child fails with what to do, its parent goes on', async () => {
    const folder = scratch()
    const { engine, facts } = world(folder, [])
    const result = await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(result.status).toBe('completed')
    expect(resultOf(facts)).toContain('not in a git repository')
  })

  it('killed in the middle of its work: changes are kept, their absence is not', async () => {
    for (const writes of [true, false]) {
      const root = repository()
      const made = world(root, [
        (cwd) =>
          writes
            ? call('Write', { file_path: path.join(cwd, 'x.txt'), content: 'x' })
            : call('Bash', { command: 'true' }),
        () => call('Bash', { command: 'sleep 60' }),
      ])
      const run = made.engine.run('go', { sessionId: SESSION })
      const started = new Promise<void>((resolve) =>
        made.engine.events$.subscribe((event) => {
          if (event.kind !== 'fact' || event.event.type !== 'process.started') return
          if (made.child().length > 1) resolve()
        }),
      )
      await started
      await made.engine.kill(await run.started)
      await made.engine.close()
      expect(remains(root).trees).toBe(writes ? 2 : 1)
    }
  })
})

describe('a session that goes on', () => {
  /** Closes the engine while the child waits, and gives the storage for the next one. */
  async function interrupted(root: string) {
    const steps: Steps = [
      (cwd) => call('Write', { file_path: path.join(cwd, 'x.txt'), content: 'x' }),
      () => call('Bash', { command: 'sleep 60' }),
      (cwd) => call('Read', { file_path: path.join(cwd, 'a.txt') }),
    ]
    // One disk for both engines: the first lets go of its logs, not of the disk.
    const storage = { ...createMemoryStorage(), close: () => Promise.resolve() }
    const first = world(root, steps, { storage })
    const run = first.engine.run('go', { sessionId: SESSION })
    run.result.catch(() => {})
    await new Promise<void>((resolve) =>
      first.engine.events$.subscribe((event) => {
        if (event.kind === 'fact' && event.event.type === 'process.started') resolve()
      }),
    )
    await first.engine.close()
    const second = world(root, steps, { storage, idsFrom: 1_000 })
    const tree = path.join(
      root,
      '.claude/worktrees',
      remains(root).branches[0]?.replace('worktree-', '') ?? '',
    )
    return { second, tree }
  }

  it('finds the worktree with everything in it', async () => {
    const root = repository()
    const { second, tree } = await interrupted(root)
    const run = await second.engine.resume(SESSION)
    expect((await run?.result)?.status).toBe('completed')
    await second.engine.close()
    expect(readFileSync(path.join(tree, 'x.txt'), 'utf8')).toBe('x')
    expect(cwdIn(second.child().at(-1)?.system)).toBe(tree)
  })

  it('makes it again where it is gone, and says so', async () => {
    const root = repository()
    const { second, tree } = await interrupted(root)
    rmSync(tree, { recursive: true })
    const run = await second.engine.resume(SESSION)
    expect((await run?.result)?.status).toBe('completed')
    await second.engine.close()
    expect(
      second.facts.some(
        ({ event }) =>
          event.type === 'run.resumed' && (event.differences ?? []).join().includes('has been made again'),
      ),
    ).toBe(true)
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('never falls back to the main checkout: what cannot be made again is a fault', async () => {
    const root = repository()
    const { second, tree } = await interrupted(root)
    rmSync(tree, { recursive: true })
    write(tree, { 'something/else.txt': 'x' })
    const run = await second.engine.resume(SESSION)
    expect((await run?.result)?.status).toBe('completed')
    await second.engine.close()
    expect(second.child()).toEqual([])
    expect(resultOf(second.facts)).toContain('is no worktree of')
    expect(existsSync(path.join(tree, 'something/else.txt'))).toBe(true)
  })
})

describe('worktrees by hooks', () => {
  it('are made, used and kept without git, unless the remove hook takes them away', async () => {
    for (const removes of [false, true]) {
      const folder = scratch()
      const place = path.join(folder, 'made by hook')
      const { engine, facts, child } = world(folder, [() => call('Bash', { command: 'pwd' })], {
        hooks: [
          {
            event: 'WorktreeCreate',
            name: 'maker',
            run: () => {
              write(place, { 'x.txt': 'x' })
              return { hookSpecificOutput: { hookEventName: 'WorktreeCreate', worktreePath: place } }
            },
          },
          ...(removes
            ? [
                {
                  event: 'WorktreeRemove' as const,
                  name: 'remover',
                  run: () => {
                    rmSync(place, { recursive: true })
                    return undefined
                  },
                },
              ]
            : []),
        ],
      })
      await engine.run('go', { sessionId: SESSION }).result
      await engine.close()
      expect(JSON.stringify(child()[1]?.messages)).toContain(place)
      expect(typesOf(facts).at(-1)).toBe(removes ? 'worktree.removed' : 'worktree.decided')
      expect(resultOf(facts).includes(`"worktreePath":"${place}"`)).toBe(!removes)
    }
  })
})

describe('EnterWorktree and ExitWorktree', () => {
  /** A root that takes these steps, each with the text of the last result. */
  function session(
    root: string,
    steps: readonly ScriptedReply[],
    more: Parameters<typeof testEngine>[1] = {},
  ) {
    const requests: ModelRequest[] = []
    const made = testEngine(
      (request) => {
        requests.push(request)
        return steps[turnOf(request)] ?? say('done')
      },
      {
        cwd: root,
        clock: systemClock,
        processes: createLocalProcessRunner({ clock: systemClock }),
        tools: [...standardTools(), ...WORKTREE_TOOLS],
        ...more,
      },
    )
    const said = (): string => JSON.stringify(requests.at(-1)?.messages)
    return { ...made, requests, said }
  }

  it('move the root there and back, and only once', async () => {
    const root = repository()
    const tree = path.join(root, '.claude/worktrees/try+this')
    const { engine, said, facts } = session(root, [
      call('ExitWorktree', { action: 'keep' }),
      call('EnterWorktree', { name: 'try/this' }),
      call('EnterWorktree', {}),
      call('Bash', { command: 'echo "in $PWD"' }),
      call('ExitWorktree', { action: 'remove' }),
      call('Bash', { command: 'echo "in $PWD"' }),
    ])
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(said()).toContain('You are in no worktree')
    expect(said()).toContain(`You are in the worktree ${tree} already`)
    expect(said()).toContain(`in ${tree}`)
    expect(said()).toContain(`"content":"in ${root}"`)
    expect(facts.map(({ event }) => event.type).filter((type) => type.startsWith('worktree.'))).toEqual([
      'worktree.requested',
      'worktree.created',
      'worktree.decided',
      'worktree.removed',
      'worktree.left',
    ])
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('refuse to remove what would be lost, with a list, unless it is to be discarded', async () => {
    const root = repository()
    const { engine, said } = session(root, [
      call('EnterWorktree', { name: 'x', branch: 'feature' }),
      call('Bash', { command: 'echo x > new.txt' }),
      call('ExitWorktree', { action: 'remove' }),
      call('ExitWorktree', { action: 'remove', discard_changes: true }),
    ])
    await engine.run('go', { sessionId: SESSION }).result
    await engine.close()
    expect(said()).toContain('would be lost: uncommitted changes: new.txt')
    expect(git(root, 'branch', '--list', 'feature')).toBe('')
  })

  it('the root is where it was when its session goes on, also where a sweep has taken the tree', async () => {
    const root = repository()
    const storage = { ...createMemoryStorage(), close: () => Promise.resolve() }
    const first = session(root, [call('EnterWorktree', { name: 'x' })], { storage })
    await first.engine.run('go', { sessionId: SESSION }).result
    await first.engine.close()
    const tree = path.join(root, '.claude/worktrees/x')
    git(root, 'worktree', 'remove', tree)
    const second = session(root, [say(''), say(''), call('Bash', { command: 'echo "in $PWD"' })], {
      storage,
      idsFrom: 1_000,
    })
    await second.engine.run('where are you?', { sessionId: SESSION }).result
    await second.engine.close()
    expect(second.said()).toContain(`in ${tree}`)
    expect(cwdIn(second.requests.at(-1)?.system)).toBe(tree)
  })
})

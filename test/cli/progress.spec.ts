import picocolors from 'picocolors'
import { describe, expect, it } from 'vitest'
import { paintFor } from '../../src/cli/agent-colours.ts'
import { coloursFor } from '../../src/cli/colours.ts'
import { displayWidth } from '../../src/cli/format.ts'
import type { Output } from '../../src/cli/host.ts'
import { createProgress, type Progress } from '../../src/cli/progress.ts'
import { createVirtualClock, type VirtualClock } from '../../src/effects/virtual-clock.ts'
import { AgentId, callId } from '../../src/machines/ids.ts'
import { CHILD, createTeller, delegation, ROOT, SESSION, text } from './support/facts.ts'

/** A terminal that understands what the tree uses: line feeds, cursor up, erase below. */
function createTerminal(columns = 80) {
  let lines: string[] = []
  let frames = 0
  let widest = 0
  const output: Output = {
    isTTY: true,
    columns,
    rows: 24,
    write(written) {
      frames += 1
      for (const part of written.match(/\p{Cc}\[\d+A|\p{Cc}\[0J|\P{Cc}*\n/gu) ?? []) {
        if (part.endsWith('A')) lines = lines.slice(0, lines.length - Number.parseInt(part.slice(2), 10))
        else if (part.endsWith('\n')) lines.push(part.slice(0, -1))
      }
      widest = Math.max(widest, ...lines.map(displayWidth))
    },
  }
  return {
    output,
    get lines() {
      return lines
    },
    get frames() {
      return frames
    },
    get widest() {
      return widest
    },
  }
}

function create(columns?: number, hint?: string) {
  const { facts, root, child } = delegation()
  const clock: VirtualClock = createVirtualClock(facts[0]?.at)
  const terminal = createTerminal(columns)
  const progress: Progress = createProgress({
    style: 'tree',
    output: terminal.output,
    clock,
    colours: picocolors.createColors(false),
    colorOf: () => 'red',
    cwd: '/project',
    ...(hint !== undefined && { hint }),
  })
  return { facts, root, child, clock, terminal, progress }
}

describe('the tree', () => {
  it('shows each agent with its tools, tokens and last activity', () => {
    const { facts, clock, terminal, progress } = create()
    clock.advance(200)
    for (const fact of facts.slice(0, 9)) progress.event(fact)
    clock.advance(1)
    expect(terminal.lines).toEqual([
      '● main  1 tool · 120 tokens · 0.2 s · Agent Explore: list files',
      '└─ ● Explore list files  1 tool · 120 tokens · 0.1 s · Bash ls',
    ])
  })

  it('tells the keys once a child has been waited for over 2 s, and not of one in the background', () => {
    const { facts, child, clock, terminal, progress } = create(80, 'ctrl+b to the background')
    for (const fact of facts.slice(0, 9)) progress.event(fact)
    clock.advance(1_000)
    expect(terminal.lines).toHaveLength(2)
    clock.advance(2_000)
    expect(terminal.lines.at(-1)).toBe('ctrl+b to the background')
    progress.event(child.event({ type: 'agent.backgrounded', by: 'user' }))
    clock.advance(1_000)
    expect(terminal.lines).toHaveLength(2)
    expect(terminal.lines[1]).toContain('in the background')
    progress.stop()
    expect(terminal.lines).toEqual([])
  })

  it('tells the keys once a command of the main agent has been waited for over 2 s', () => {
    const { facts, root, clock, terminal, progress } = create(80, 'ctrl+b to the background')
    for (const fact of facts.slice(0, 4)) progress.event(fact)
    progress.event(root.event({ type: 'process.started', callId: callId(1, 4, 0), pid: 7 }))
    clock.advance(1_000)
    expect(terminal.lines).toHaveLength(1)
    clock.advance(2_000)
    expect(terminal.lines.at(-1)).toBe('ctrl+b to the background')
    const result = { type: 'tool_result' as const, tool_use_id: 'x', content: 'done' }
    progress.event(root.event({ type: 'call.ended', callId: callId(1, 4, 0), outcome: 'ok', result }))
    clock.advance(1_000)
    expect(terminal.lines).toHaveLength(1)
  })

  it('shows how a child ended while the root goes on', () => {
    const { facts, clock, terminal, progress } = create()
    for (const fact of facts.slice(0, 13)) progress.event(fact)
    clock.advance(1000)
    expect(terminal.lines[1]).toBe('└─ ✔ Explore list files  1 tool · 240 tokens · 0.1 s')
  })

  it('draws branches so that siblings and cousins can be told apart', () => {
    const { facts, clock, terminal, progress } = create()
    const teller = createTeller()
    const birth = (id: string, depth: number, parent: AgentId) =>
      teller.agent(AgentId.parse(id)).spawned({
        kind: 'Explore',
        description: id.slice(-2),
        depth,
        parent: { agentId: parent, callId: callId(1, 4, 0), toolUseId: id },
      })
    for (const fact of facts.slice(0, 6)) progress.event(fact)
    progress.event(birth('a0000000000000002', 1, ROOT))
    progress.event(birth('a0000000000000003', 2, CHILD))
    clock.advance(1)
    expect(terminal.lines.map((line) => line.replace(/ {2}\d+ tool.*/, ''))).toEqual([
      '● main',
      '├─ ● Explore list files',
      '│  └─ ● Explore 03',
      '└─ ● Explore 02',
    ])
  })

  it('is drawn at most ten times a second, however much happens', () => {
    const { facts, clock, terminal, progress } = create()
    for (const fact of facts.slice(0, 4)) progress.event(fact)
    for (let i = 0; i < 1000; i++) {
      progress.event({
        kind: 'delta',
        sessionId: SESSION,
        agentId: ROOT,
        delta: { type: 'text', index: 0, text: 'x' },
      })
      clock.advance(1)
    }
    expect(terminal.frames).toBeLessThanOrEqual(11)
    expect(terminal.frames).toBeGreaterThan(8)
    expect(terminal.lines[0]).toContain('writing')
  })

  it('goes on counting seconds while nothing happens', () => {
    const { facts, clock, terminal, progress } = create()
    for (const fact of facts.slice(0, 4)) progress.event(fact)
    clock.advance(61_000)
    expect(terminal.lines[0]).toMatch(/1 min 0[01] s/)
  })

  it('lets a line stand above it', () => {
    const { facts, clock, terminal, progress } = create()
    for (const fact of facts.slice(0, 4)) progress.event(fact)
    clock.advance(100)
    progress.line('troupe: something')
    expect(terminal.lines.map((line) => line.slice(0, 17))).toEqual([
      'troupe: something',
      '● main  1 tool · ',
    ])
  })

  it('is gone without a trace when it stops, and stays so', () => {
    const { facts, clock, terminal, progress } = create()
    for (const fact of facts) progress.event(fact)
    clock.advance(100)
    progress.stop()
    progress.stop()
    expect(terminal.lines).toEqual([])
    for (const fact of facts) progress.event(fact)
    clock.advance(10_000)
    expect(terminal.lines).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('never wraps: no row is wider than the terminal, whatever agents say', () => {
    const { facts, child, clock, terminal, progress } = create(40)
    for (const fact of facts.slice(0, 5)) progress.event(fact)
    progress.event(
      child.spawned({
        kind: 'Explore',
        description: '調べる 全部 '.repeat(9),
        parent: { agentId: ROOT, callId: callId(1, 4, 0), toolUseId: 'toolu_1' },
      }),
    )
    progress.event(child.event({ type: 'run.suspended', reason: 'closed' }))
    clock.advance(100)
    expect(terminal.widest).toBeLessThan(40)
    expect(terminal.lines).toHaveLength(2)
  })

  it('counts the agents that it has no room for', () => {
    const { facts, clock, terminal, progress } = create()
    const teller = createTeller()
    for (const fact of facts.slice(0, 5)) progress.event(fact)
    for (let i = 0; i < 40; i++) {
      const agent = teller.agent(AgentId.parse(`a${String(i).padStart(16, '0')}`))
      if (agent.agentId === ROOT) continue
      progress.event(
        agent.spawned({
          kind: 'Explore',
          parent: { agentId: ROOT, callId: callId(1, 4, 0), toolUseId: `t${i}` },
        }),
      )
    }
    clock.advance(100)
    expect(terminal.lines).toHaveLength(16)
    expect(terminal.lines.at(-1)).toMatch(/… and 25 more agents/)
  })

  it('gives no control character of an agent to the terminal', () => {
    const { facts, child, clock, terminal, progress } = create()
    for (const fact of facts.slice(0, 7)) progress.event(fact)
    progress.event(
      child.replies([
        text('x'),
        { type: 'tool_use', id: 't', name: 'Bash', input: { command: '\x1b[2J\nrm\u202e' } },
      ]),
    )
    clock.advance(100)
    expect(terminal.lines[1]).toMatch(/· Bash rm$/)
  })
})

describe('the colour of a definition', () => {
  it.each(['tree', 'lines'] as const)('is that of its agents in the %s, and of no others', (style) => {
    const { facts } = delegation()
    const clock = createVirtualClock(facts[0]?.at)
    const pieces: string[] = []
    const progress = createProgress({
      style,
      output: { isTTY: true, columns: 80, rows: 24, write: (text) => void pieces.push(text) },
      clock,
      colours: picocolors.createColors(true),
      colorOf: (agentType) => (agentType === 'Explore' ? 'orange' : undefined),
      cwd: '/project',
    })
    for (const fact of facts.slice(0, 11)) progress.event(fact)
    clock.advance(200)
    progress.stop()
    const written = pieces.join('')
    expect(written).toContain('\x1b[38;5;208mExplore')
    expect(written).toContain(style === 'tree' ? '\x1b[1mmain' : ' main: ')
  })

  it('is what its name says, and none for other words or where colours are off', () => {
    const [on, off] = [picocolors.createColors(true), picocolors.createColors(false)]
    const known = ['red', 'blue', 'green', 'yellow', 'purple', 'orange', 'pink', 'cyan']
    const painted = known.map((color) => paintFor(color, on)('x'))
    expect(new Set([...painted, 'x']).size).toBe(known.length + 1)
    expect(paintFor('Red', on)('x')).toBe(on.red('x'))
    for (const color of [undefined, '', '#ff0000', 'constructor', '\x1b[31m'])
      expect(paintFor(color, on)('x')).toBe('x')
    for (const color of known) expect(paintFor(color, off)('x')).toBe('x')
  })
})

describe('a line of its own', () => {
  it('gives no control character to the terminal', () => {
    const { terminal, progress } = create()
    progress.line('troupe: failed: \x1b[2Jno\u009b2J\u061c')
    expect(terminal.lines).toContain('troupe: failed: no2J')
  })
})

describe('the totals', () => {
  it('are of the run that is on', () => {
    const { facts, root, progress } = create()
    for (const fact of facts) progress.event(fact)
    expect(progress.totals()).toBe('2 agents, 4 turns, 2 tool calls')
    progress.event(root.started('next', { run: 2 }))
    progress.event(root.replies([text('done')]))
    expect(progress.totals()).toBe('1 agent, 1 turn, 0 tool calls')
  })
})

describe('colours', () => {
  const terminal = { isTTY: true, columns: 80, rows: 24, write: () => {} }
  const painted = (output: Output, env: Record<string, string>) => coloursFor(output, env).red('x') !== 'x'

  it.each([
    [true, 'on a terminal', terminal, {}],
    [false, 'when NO_COLOR is set', terminal, { NO_COLOR: '1' }],
    [true, 'when NO_COLOR is empty', terminal, { NO_COLOR: '' }],
    [false, 'on a dumb terminal', terminal, { TERM: 'dumb' }],
    [false, 'in a pipe', { ...terminal, isTTY: false }, {}],
    [true, 'in a pipe when they are forced', { ...terminal, isTTY: false }, { FORCE_COLOR: '1' }],
    [false, 'when they are forced and forbidden', terminal, { FORCE_COLOR: '1', NO_COLOR: '1' }],
  ])('are there (%s) %s', (expected, _, output, env: Record<string, string>) => {
    expect(painted(output, env)).toBe(expected)
  })
})

/**
 * What a person sees on standard error while agents work: on a terminal a live tree, elsewhere plain lines when
 * they are asked for. Never anything on standard output.
 *
 *   P1  The tree is drawn at most every {@link FRAME_MS} milliseconds and at least every {@link TICK_MS}.
 *   P2  A line that is written while the tree stands is above it afterwards, whole.
 *   P3  While it pauses nothing is written; no line is lost.
 *   P4  After `stop` the terminal is as if the tree had never been there.
 */
import type { CancelTimer, Clock } from '../effects/clock.ts'
import type { EngineEvent } from '../engine/api.ts'
import { paintFor } from './agent-colours.ts'
import { type AgentNode, createAgentTree } from './agent-tree.ts'
import type { Colours } from './colours.ts'
import { counted, displayWidth, formatCount, formatDuration, forTerminal, oneLine } from './format.ts'
import type { Output } from './host.ts'

const FRAME_MS = 100
const TICK_MS = 1000
/** Milliseconds. */
const HINT_MS = 2000
/** Agents that are drawn; more are counted. */
const MAX_ROWS = 16

export type ProgressStyle = 'tree' | 'lines' | 'none'

export interface ProgressOptions {
  readonly style: ProgressStyle
  readonly output: Output
  readonly clock: Clock
  readonly colours: Colours
  /** The `color` of the definition of this name. */
  readonly colorOf: (agentType: string) => string | undefined
  readonly cwd: string
  /** A row under the tree, while the main agent has waited for another one for {@link HINT_MS}. */
  readonly hint?: string
}

export interface Progress {
  /** Takes note of something that was there before this process. */
  prepare(event: EngineEvent): void
  event(event: EngineEvent): void
  /** Writes a line of its own; what in it would steer the terminal is left out. */
  line(text: string): void
  /** Takes the tree away and keeps lines back until {@link go}: somebody else speaks with the person. */
  pause(): void
  go(): void
  /** Takes the tree away. Harmless when called again; events after it are only counted. */
  stop(): void
  /** Agents, turns and tools of this run so far, in words. */
  totals(): string
}

/** Progress that follows the events of one session. */
export function createProgress(options: ProgressOptions): Progress {
  const { style, output, clock, colours, colorOf, cwd, hint } = options
  const paintOf = (node: AgentNode): ((text: string) => string) => paintFor(colorOf(node.agentType), colours)
  const tree = createAgentTree(cwd)
  const began = clock.now()
  let drawn = 0
  let drawnAt = Number.NEGATIVE_INFINITY
  let cancel: CancelTimer | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let stopped = style !== 'tree'
  let keptBack: string[] | undefined

  const erase = (): string => (drawn === 0 ? '' : `\x1b[${drawn}A\x1b[0J`)

  const draw = (): void => {
    if (keptBack !== undefined) return
    const nodes = tree.nodes()
    const rows = renderTree(nodes, {
      now: clock.now(),
      width: Math.max(20, (output.columns || 80) - 1),
      height: Math.max(3, Math.min(MAX_ROWS, (output.rows || 24) - (hint === undefined ? 2 : 3))),
      colours,
      paintOf,
    })
    if (hint !== undefined && isWaitedFor(nodes, clock.now() - HINT_MS))
      rows.push(colours.dim(oneLine(hint, Math.max(20, (output.columns || 80) - 1))))
    output.write(`${erase()}${rows.map((row) => `${row}\n`).join('')}`)
    drawn = rows.length
    drawnAt = clock.now()
    schedule(TICK_MS)
  }

  const schedule = (ms: number): void => {
    const due = clock.now() + ms
    if (cancel !== undefined && dueAt <= due) return
    cancel?.()
    dueAt = due
    cancel = clock.setTimer(ms, () => {
      cancel = undefined
      if (!stopped) draw()
    })
  }

  const line = (text: string): void => {
    if (keptBack !== undefined) {
      keptBack.push(text)
      return
    }
    output.write(`${erase()}${text}\n`)
    const stood = drawn > 0
    drawn = 0
    if (!stopped && stood) draw()
  }

  const go = (): void => {
    const kept = keptBack
    keptBack = undefined
    for (const text of kept ?? []) line(text)
    if (!stopped && tree.size > 0) schedule(0)
  }

  return {
    prepare: (event) => void tree.event(event),
    event(event) {
      const step = tree.event(event)
      if (style === 'lines' && step !== undefined) {
        const at = Number.isNaN(step.at) ? clock.now() : step.at
        const seconds = `${(Math.max(0, at - began) / 1000).toFixed(1)}s`.padStart(7)
        line(
          `${seconds} ${'  '.repeat(step.node.depth)}${paintOf(step.node)(nameOf(step.node))}: ${oneLine(step.text)}`,
        )
      }
      if (!stopped && tree.size > 0) schedule(Math.max(0, drawnAt + FRAME_MS - clock.now()))
    },
    line: (text) => line(forTerminal(text)),
    pause() {
      if (keptBack !== undefined) return
      if (drawn > 0) output.write(erase())
      drawn = 0
      keptBack = []
    },
    go,
    stop() {
      stopped = true
      cancel?.()
      cancel = undefined
      if (drawn > 0) output.write(erase())
      drawn = 0
      go()
    },
    totals() {
      const nodes = tree.nodes()
      const sum = (of: (node: AgentNode) => number): number =>
        nodes.reduce((total, node) => total + of(node), 0)
      return [
        counted(nodes.length, 'agent'),
        counted(
          sum((node) => node.turns),
          'turn',
        ),
        counted(
          sum((node) => node.toolUses),
          'tool call',
        ),
      ].join(', ')
    },
  }
}

/** Whether the main agent waits for an agent, or for a command of its own, that was there at a moment already. */
function isWaitedFor(nodes: readonly AgentNode[], at: number): boolean {
  return nodes.some(
    (node) =>
      node.status === 'running' &&
      (node.depth === 1
        ? !node.isInBackground && node.startedAt <= at
        : node.depth === 0 && node.commandSince !== undefined && node.commandSince <= at),
  )
}

const nameOf = (node: AgentNode): string =>
  node.parentId === undefined ? 'main' : oneLine(`${node.agentType} ${node.agentId.slice(0, 5)}`, 40)

interface Canvas {
  readonly now: number
  readonly width: number
  readonly height: number
  readonly colours: Colours
  readonly paintOf: (node: AgentNode) => (text: string) => string
}

/** The rows of the tree, each at most `width` columns wide. */
function renderTree(nodes: readonly AgentNode[], canvas: Canvas): string[] {
  const hidden = nodes.length > canvas.height ? nodes.length - canvas.height + 1 : 0
  const shown = hidden === 0 ? nodes : mostTelling(nodes, canvas.height - 1)
  const rows = shown.map((node, i) => renderRow(node, branch(shown, i), canvas))
  return hidden === 0 ? rows : [...rows, canvas.colours.dim(`   … and ${counted(hidden, 'more agent')}`)]
}

/** The root and those that work, in their order; finished ones as far as there is room. */
function mostTelling(nodes: readonly AgentNode[], room: number): AgentNode[] {
  const rank = (node: AgentNode): number =>
    node.parentId === undefined ? 0 : node.status === 'running' ? 1 : node.status === 'failed' ? 2 : 3
  const chosen = new Set([...nodes].sort((a, b) => rank(a) - rank(b)).slice(0, room))
  return nodes.filter((node) => chosen.has(node))
}

/** The lines that lead to a row: `├─ ` or `└─ ` after one column pair for each level above. */
function branch(nodes: readonly AgentNode[], index: number): string {
  const depth = nodes[index]?.depth ?? 0
  if (depth === 0) return ''
  const continues = (level: number): boolean => {
    for (const node of nodes.slice(index + 1)) {
      if (node.depth < level) return false
      if (node.depth === level) return true
    }
    return false
  }
  let lines = ''
  for (let level = 1; level < depth; level++) lines += continues(level) ? '│  ' : '   '
  return `${lines}${continues(depth) ? '├─ ' : '└─ '}`
}

function renderRow(node: AgentNode, lead: string, { now, width, colours, paintOf }: Canvas): string {
  const { mark, paint } = markOf(node, colours)
  const isRoot = node.parentId === undefined
  const name = isRoot ? 'main' : oneLine(node.agentType, 24)
  const about = isRoot ? '' : oneLine(node.description, 40)
  const facts = [
    counted(node.toolUses, 'tool'),
    `${formatCount(node.tokens)} tokens`,
    formatDuration(Math.max(0, (node.endedAt ?? now) - node.startedAt)),
    ...(node.isInBackground && node.status === 'running' ? ['in the background'] : []),
    ...(node.status === 'completed' ? [] : [node.lastActivity]),
  ].join(' · ')
  const head = `${lead}${mark} ${name}`
  const room = width - displayWidth(head)
  const aboutShown = oneLine(about, Math.max(0, room - 1))
  const aboutText = aboutShown === '' ? '' : ` ${aboutShown}`
  const factsText = oneLine(facts, Math.max(0, room - displayWidth(aboutText) - 2))
  return `${lead === '' ? '' : colours.dim(lead)}${paint(mark)} ${colours.bold(paintOf(node)(name))}${aboutText}${factsText === '' ? '' : `  ${colours.dim(factsText)}`}`
}

function markOf({ status }: AgentNode, colours: Colours): { mark: string; paint: (text: string) => string } {
  switch (status) {
    case 'running':
      return { mark: '●', paint: colours.cyan }
    case 'suspended':
      return { mark: '◌', paint: colours.yellow }
    case 'completed':
      return { mark: '✔', paint: colours.green }
    case 'failed':
      return { mark: '✖', paint: colours.red }
    case 'killed':
      return { mark: '■', paint: colours.yellow }
  }
}

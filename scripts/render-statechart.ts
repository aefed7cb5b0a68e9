/**
 * A machine as text that people read: a Mermaid state diagram and a table of all transitions, both made from the
 * machine's own config, so that neither can tell another story than the code.
 *
 * Drawn are the states, the regions and every transition that moves. What a state takes without leaving it is in
 * the table only; arrows that go nowhere would hide the ones that matter.
 */
import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate'

type Node = AnyStateMachine['root']

/** The diagram, as the content of a `mermaid` code block. */
export function diagramOf(machine: AnyStateMachine): string {
  return ['stateDiagram-v2', ...indent(linesInside(machine.root, arrowsOf(machine)))].join('\n')
}

/** Every transition, one row each, in the order in which the machine tries them. */
export function tableOf(machine: AnyStateMachine): string {
  const rows = nodesOf(machine.root).flatMap((node) => {
    const transitions = transitionsOf(node)
    const name = node === machine.root ? '*anywhere*' : `\`${node.path.join('.')}\``
    const effects = node.invoke.map(({ src }) => `\`${src}\``).join(', ')
    if (transitions.length === 0) {
      // A parent without transitions of its own is told by its children.
      if (!isLeaf(node)) return []
      return [[name, effects, '', '', node.type === 'final' ? '*an end*' : '', '']]
    }
    return transitions.map((transition, i) => [
      i === 0 ? name : '',
      i === 0 ? effects : '',
      transition.eventType === '' ? '*at once*' : `\`${transition.eventType}\``,
      code(guardOf(transition, transitions)),
      transition.target?.map(({ path }) => `\`${path.join('.')}\``).join(', ') ?? '*stays*',
      transition.actions.map((action) => code(nameOfAction(action))).join(', '),
    ])
  })
  const head = ['State', 'Effect', 'Event', 'If', 'Goes to', 'Does']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Effects that no state holds but actions start, one per item of work. */
export function startedByActions(machine: AnyStateMachine): string[] {
  const invoked = new Set(nodesOf(machine.root).flatMap(({ invoke }) => invoke.map(({ src }) => String(src))))
  return Object.keys(machine.implementations.actors).filter((name) => !invoked.has(name))
}

// ── arrows ───────────────────────────────────────────────────────────────────────────────────────────────

/** All transitions between the same two states: one arrow with one label. */
interface Arrow {
  readonly from: Node
  readonly to: Node
  readonly label: string
}

function arrowsOf(machine: AnyStateMachine): Arrow[] {
  return nodesOf(machine.root).flatMap((from) => {
    const all = transitionsOf(from)
    const targets = new Set(all.flatMap(({ target }) => target ?? []))
    return [...targets].map((to) => ({
      from,
      to,
      label: labelOf(
        all.filter(({ target }) => target?.includes(to)),
        all,
      ),
    }))
  })
}

/** One line per event; several guards of one event become a list under it. */
function labelOf(
  transitions: readonly AnyTransitionDefinition[],
  all: readonly AnyTransitionDefinition[],
): string {
  const events = new Set(transitions.map(({ eventType }) => eventType))
  return [...events]
    .flatMap((event) => {
      const guards = transitions
        .filter(({ eventType }) => eventType === event)
        .map((transition) => guardOf(transition, all))
      const [first = ''] = guards
      if (guards.length > 1) return [event, ...guards.map((guard) => `· ${guard}`)]
      return [[event, first && `[${first}]`].filter(Boolean).join(' ')]
    })
    .join('<br/>')
}

/** The guard's name; `otherwise` for the candidate that is left when the guards before it said no. */
function guardOf(transition: AnyTransitionDefinition, all: readonly AnyTransitionDefinition[]): string {
  const { guard, eventType } = transition
  if (guard !== undefined) return nameOf(guard)
  const rivals = all.slice(0, all.indexOf(transition)).filter((rival) => rival.eventType === eventType)
  return rivals.length > 0 ? 'otherwise' : ''
}

// ── states ───────────────────────────────────────────────────────────────────────────────────────────────

/** What stands between the braces of a state: its start, its children, and the arrows that stay inside it. */
function linesInside(node: Node, arrows: readonly Arrow[]): string[] {
  const children = Object.values(node.states)
  const blocks = children.map((child) => linesOf(child, arrows))
  const inner = arrows
    .filter(({ from, to }) => innermostAround(from, to) === node)
    .map(({ from, to, label }) => `${idOf(from)} --> ${idOf(to)}${label && ` : ${label}`}`)
  if (node.type === 'parallel')
    return [...blocks.flatMap((block, i) => (i === 0 ? block : ['--', ...block])), ...inner]
  return [
    ...node.initial.target.map((first) => `[*] --> ${idOf(first)}`),
    ...blocks.flat(),
    ...inner,
    ...children.filter(({ type }) => type === 'final').map((end) => `${idOf(end)} --> [*]`),
  ]
}

function linesOf(node: Node, arrows: readonly Arrow[]): string[] {
  const label = [node.key, ...node.invoke.map(({ src }) => `▶ ${src}`)].join('<br/>')
  const id = idOf(node)
  const name = label === id ? id : `"${label}" as ${id}`
  if (isLeaf(node)) return [label === id ? id : `state ${name}`]
  return [`state ${name} {`, ...indent(linesInside(node, arrows)), '}']
}

/** The key where it is unique, which keeps the source readable; else the whole path. */
function idOf(node: Node): string {
  const namesakes = nodesOf(node.machine.root).filter(({ key }) => key === node.key)
  return namesakes.length > 1 ? node.path.join('_') : node.key
}

/** The state whose box an arrow is drawn in: the innermost one that holds both ends and is neither. */
function innermostAround(a: Node, b: Node): Node | undefined {
  const around = ancestorsOf(b)
  return ancestorsOf(a).find((node) => around.includes(node))
}

function ancestorsOf({ parent }: Node): Node[] {
  return parent === undefined ? [] : [parent, ...ancestorsOf(parent)]
}

// ── reading a machine ────────────────────────────────────────────────────────────────────────────────────

const nodesOf = (node: Node): Node[] => [node, ...Object.values(node.states).flatMap(nodesOf)]

const isLeaf = (node: Node): boolean => node.type === 'atomic' || node.type === 'final'

const transitionsOf = (node: Node): AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
]

/** The name of a guard or an action; what has none is told by its type. */
function nameOf(reference: unknown): string {
  if (typeof reference === 'string') return reference
  const hasType = (typeof reference === 'object' || typeof reference === 'function') && reference !== null
  return hasType && 'type' in reference ? String(reference.type) : 'unnamed'
}

/** An action with the words among its fixed parameters: `recordOutcome(limit, turns)`. */
function nameOfAction(action: unknown): string {
  const params =
    typeof action === 'object' && action !== null && 'params' in action ? action.params : undefined
  const words = wordsIn(params)
  return words.length > 0 ? `${nameOf(action)}(${words.join(', ')})` : nameOf(action)
}

function wordsIn(value: unknown): string[] {
  if (typeof value === 'string') return /\s/.test(value) ? [] : [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(wordsIn) : []
}

const code = (text: string): string => (text === '' || text === 'otherwise' ? text : `\`${text}\``)

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)

/**
 * What a machine of ours may be made of (M2 and M3 of the agent machine), as two checkers that name each violation.
 *
 * {@link brokenRules} reads the raw config and the implementations, so that a bad machine can be checked without
 * being built. It cannot see into the functions of `assign` and `enqueueActions`; {@link brokenSteps} looks at
 * what these asked for on real steps.
 */
import type { AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { fromCallback, transition } from 'xstate'

/** The two halves of a machine; a built one has exactly these. */
export interface MachineParts {
  readonly config: unknown
  readonly implementations: {
    readonly actors?: unknown
    readonly actions?: unknown
    readonly guards?: unknown
  }
}

/** Keys that make something happen which the pure `transition` does not see, or sees only in part. */
const FORBIDDEN_IN_STATE = ['after', 'entry', 'exit', 'onDone', 'onError', 'output', 'history', 'route']
const FORBIDDEN_IN_INVOKE = ['onDone', 'onError', 'onSnapshot', 'systemId']
const ALLOWED_ACTIONS = ['xstate.assign', 'xstate.enqueueActions', 'xstate.spawnChild', 'xstate.stopChild']
const ALLOWED_REQUESTS = ['xstate.spawnChild', 'xstate.stopChild']

/** A state of a raw config with its place, in document order. */
interface ConfigState {
  /** `machine.parent.child`, with the machine's id first. */
  readonly path: string
  readonly config: Readonly<Record<string, unknown>>
  readonly parent: ConfigState | undefined
}

interface ConfigTransition {
  readonly descriptor: string
  readonly target: unknown
  readonly guard: unknown
  readonly actions: unknown
}

/** Every rule that the parts break, each with the place; empty for a good machine. `effects`: names of its effects. */
export function brokenRules({ config, implementations }: MachineParts, effects: readonly string[]): string[] {
  const states = statesOf(record(config))
  return [
    ...actorRules(implementations.actors, effects),
    ...states.flatMap((state) => stateRules(state, states, implementations, effects)),
    ...initialRules(states),
    ...reachRules(states),
  ]
}

function actorRules(actors: unknown, effects: readonly string[]): string[] {
  const named = Object.entries(record(actors))
  const missing = effects.filter((name) => !named.some(([actor]) => actor === name))
  return [
    ...missing.map((name) => `effect ${name}: not among the machine's actors`),
    ...named.flatMap(([name, logic]) => [
      ...(effects.includes(name) ? [] : [`actor ${name}: not a declared effect`]),
      ...(isCallbackLogic(logic) ? [] : [`actor ${name}: not callback logic`]),
    ]),
  ]
}

/** XState has no tag for it; what `fromCallback` makes is told by the code of its `start`. */
function isCallbackLogic(logic: unknown): boolean {
  return String(record(logic)['start']) === String(record(fromCallback(() => {}))['start'])
}

function stateRules(
  state: ConfigState,
  states: readonly ConfigState[],
  implementations: MachineParts['implementations'],
  effects: readonly string[],
): string[] {
  const { config, path } = state
  const broken: string[] = []
  for (const key of FORBIDDEN_IN_STATE) if (key in config) broken.push(`${path}: has ${key}`)

  for (const invoke of list(config['invoke']).map(record)) {
    const src = invoke['src']
    if (typeof src !== 'string' || !effects.includes(src)) {
      broken.push(`${path}: invokes ${nameOf(src)}, not a declared effect`)
    }
    // A generated id would change with the place of the state, and with it every stored snapshot.
    if (typeof invoke['id'] !== 'string') broken.push(`${path}: invokes ${nameOf(src)} without an id`)
    for (const key of FORBIDDEN_IN_INVOKE) if (key in invoke) broken.push(`${path}: invoke has ${key}`)
  }

  for (const { descriptor, target, guard, actions } of transitionsOf(state)) {
    const place = `${path} on ${descriptor}`
    if (/^xstate\.|\*/.test(descriptor)) broken.push(`${place}: takes events that are not its own`)
    for (const wanted of list(target)) {
      if (findTarget(state, wanted, states) === undefined) broken.push(`${place}: no state ${nameOf(wanted)}`)
    }
    if (guard !== undefined && typeof named(guard, implementations.guards) !== 'function') {
      broken.push(`${place}: no guard ${nameOf(guard)}`)
    }
    for (const action of list(actions)) broken.push(...actionRules(action, implementations.actions, place))
  }
  return broken
}

function actionRules(action: unknown, actions: unknown, place: string): string[] {
  const implementation = typeof action === 'function' ? action : named(action, actions)
  if (typeof implementation !== 'function') return [`${place}: no action ${nameOf(action)}`]
  const type = 'type' in implementation ? implementation.type : 'a function of its own'
  if (typeof type === 'string' && ALLOWED_ACTIONS.includes(type)) return []
  return [`${place}: action ${nameOf(action)} is ${nameOf(type)}`]
}

/** The states that a run begins in must want no effect. */
function initialRules(states: readonly ConfigState[]): string[] {
  const root = states[0]
  return root === undefined
    ? ['machine: has no states']
    : entered(root, states).flatMap(({ path, config }) => [
        ...('invoke' in config ? [`${path}: is initial and invokes`] : []),
        ...('initial' in config && findChild(path, config['initial'], states) === undefined
          ? [`${path}: initial state ${nameOf(config['initial'])} does not exist`]
          : []),
      ])
}

/** Every state can be reached by targets alone; whether guards let it be is for the graph tests. */
function reachRules(states: readonly ConfigState[]): string[] {
  const reached = new Set<ConfigState>()
  const open = states.slice(0, 1).flatMap((root) => entered(root, states))
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (reached.has(state)) continue
    reached.add(state)
    if (state.parent !== undefined) open.push(state.parent)
    for (const { target } of transitionsOf(state)) {
      for (const wanted of list(target)) {
        const found = findTarget(state, wanted, states)
        if (found !== undefined) open.push(...entered(found, states))
      }
    }
  }
  return states.filter((state) => !reached.has(state)).map(({ path }) => `${path}: cannot be reached`)
}

/** A step to look at: an event on a snapshot. */
export interface Step {
  readonly from: AnyMachineSnapshot
  readonly event: AnyEventObject
}

/** What steps of a machine ask for beyond the start and stop of effects, and children that nothing asked for. */
export function brokenSteps(
  machine: AnyStateMachine,
  steps: readonly Step[],
  effects: readonly string[],
): string[] {
  return steps.flatMap(({ from, event }) => {
    const [next, requests] = transition(machine, from, event)
    const place = `${JSON.stringify(from.value)} on ${event.type}`
    const spawned = requests
      .filter(({ type }) => type === 'xstate.spawnChild')
      .map(({ params }) => record(params))
    const asked = spawned.map((params) => params['id'])
    const unasked = Object.keys(next.children).filter((id) => !(id in from.children) && !asked.includes(id))
    return [
      ...requests
        .filter(({ type }) => !ALLOWED_REQUESTS.includes(type))
        .map(({ type }) => `${place}: asks for ${type}`),
      ...spawned
        .filter(({ src }) => typeof src !== 'string' || !effects.includes(src))
        .map(({ src }) => `${place}: starts ${nameOf(src)}, not a declared effect`),
      ...unasked.map((id) => `${place}: child ${id} appears without being asked for`),
    ]
  })
}

// ── reading a raw config ─────────────────────────────────────────────────────────────────────────────────

function statesOf(root: Readonly<Record<string, unknown>>): ConfigState[] {
  const walk = (state: ConfigState): ConfigState[] => [
    state,
    ...Object.entries(record(state.config['states'])).flatMap(([key, config]) =>
      walk({ path: `${state.path}.${key}`, config: record(config), parent: state }),
    ),
  ]
  return walk({ path: String(root['id'] ?? 'machine'), config: root, parent: undefined })
}

function transitionsOf({ config }: ConfigState): ConfigTransition[] {
  const named = { ...record(config['on']), ...('always' in config && { always: config['always'] }) }
  return Object.entries(named).flatMap(([descriptor, transitions]) =>
    list(transitions).map((transition) => {
      const { target, guard, actions } =
        typeof transition === 'string'
          ? { target: transition, guard: undefined, actions: [] }
          : record(transition)
      return { descriptor, target, guard, actions }
    }),
  )
}

/** `#id.path` from the machine or from a state with an id, `.child` below the state, `sibling` beside it. */
function findTarget(
  from: ConfigState,
  target: unknown,
  states: readonly ConfigState[],
): ConfigState | undefined {
  if (typeof target !== 'string') return undefined
  if (target.startsWith('#')) {
    const [id, ...rest] = target.slice(1).split('.')
    const anchor = states.find(({ config }) => config['id'] === id)
    return anchor && states.find(({ path }) => path === [anchor.path, ...rest].join('.'))
  }
  if (target.startsWith('.')) return states.find(({ path }) => path === `${from.path}${target}`)
  return from.parent && states.find(({ path }) => path === `${from.parent?.path}.${target}`)
}

function findChild(path: string, key: unknown, states: readonly ConfigState[]): ConfigState | undefined {
  return states.find((state) => state.path === `${path}.${String(key)}`)
}

/** The state and what is entered with it: all regions of a parallel state, the initial child of a compound one. */
function entered(state: ConfigState, states: readonly ConfigState[]): ConfigState[] {
  const children = states.filter(({ parent }) => parent === state)
  const initial = findChild(state.path, state.config['initial'], states)
  const next = state.config['type'] === 'parallel' ? children : initial === undefined ? [] : [initial]
  return [state, ...next.flatMap((child) => entered(child, states))]
}

/** The implementation that a name, or an object with the name as `type`, stands for. */
function named(reference: unknown, implementations: unknown): unknown {
  const name = typeof reference === 'string' ? reference : record(reference)['type']
  return typeof name === 'string' ? record(implementations)[name] : undefined
}

function nameOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'function') return 'of its own'
  const type = record(value)['type']
  return typeof type === 'string' ? type : String(value)
}

const list = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

function record(value: unknown): Readonly<Record<string, unknown>> {
  // The cast only says that keys may be looked up; every value stays unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * Kinds of sessions. Each makes a plan from a seed; a later capability adds its own here, or a file of its own and a
 * line in the table.
 */
import { type Chance, chanceFrom } from './chance.ts'
import { PLANNER } from './definitions.ts'
import type {
  AgentPlan,
  BodyKind,
  CallPlan,
  DiskFault,
  ModelFault,
  Plan,
  PromptPlan,
  Stop,
  TurnPlan,
} from './plan.ts'
import { NAMES } from './plan.ts'

/** How likely things are, from calm to wild. */
interface Weather {
  readonly modelFaults: number
  readonly brokenCalls: number
  readonly oddBodies: number
  readonly stops: Readonly<Record<Stop['kind'], number>>
  readonly mostStops: number
  readonly diskFaults: number
  readonly delegation: number
  readonly looseModes: number
  /** Sessions that write snapshots, go on in a branch, and have a line of a log spoiled. Default: none. */
  readonly snapshots?: number
  readonly branches?: number
  readonly damage?: number
  /** Children that are to have a worktree. Default: none. */
  readonly worktrees?: number
  /** What else than `bypassPermissions` there is. Default: all that needs no classifier. */
  readonly modes?: readonly Plan['mode'][]
  /** The mode of all sessions. Default: as {@link looseModes} says. */
  readonly mode?: Plan['mode']
  /** Calls wait for approval; hooks are there. Default: not. */
  readonly asks?: boolean
  readonly hooks?: boolean
  /** Agents in the background owe their reviews when they end. Default: not. */
  readonly defersReviews?: boolean
  /** Children that are started in the background. Default: none. */
  readonly background?: number
  /** Calls that ask an agent in the background to stop. Default: none. */
  readonly requests?: number
  /** Children that plan, and show it to whoever started them. Default: none. */
  readonly plans?: number
  /** Calls that speak to agents, read their results or stop them. Default: none. */
  readonly words?: number
  /** Calls that fork their agent, of those that start one. Default: none. */
  readonly forks?: number
  /** Calls that run a command, or look after one that was moved. Default: none. */
  readonly moves?: number
  /** The models take little, so that conversations are summed up. Default: they take everything. */
  readonly isNarrow?: boolean
}

const NO_STOPS = { crash: 0, close: 0, intrude: 0, 'prompt-again': 0, kill: 0, 'crash-in-write': 0, move: 0 }

export const SCENARIOS: Readonly<Record<string, Weather>> = {
  /** Nothing goes wrong but what the model and the tools do. */
  calm: {
    modelFaults: 0.1,
    brokenCalls: 0.1,
    oddBodies: 0.2,
    stops: NO_STOPS,
    mostStops: 0,
    diskFaults: 0,
    delegation: 0.35,
    looseModes: 0.8,
  },
  crashes: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 4, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.4,
    looseModes: 0.95,
  },
  kills: {
    modelFaults: 0.1,
    brokenCalls: 0.03,
    oddBodies: 0.3,
    stops: { ...NO_STOPS, kill: 4, crash: 1, 'crash-in-write': 1, close: 1 },
    mostStops: 6,
    diskFaults: 0,
    delegation: 0.5,
    looseModes: 0.9,
  },
  disk: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 1, kill: 1, close: 1 },
    mostStops: 2,
    diskFaults: 3,
    delegation: 0.4,
    looseModes: 0.95,
  },
  /** Many short lives on few events, so that nearly every resume opens from a snapshot, or from what is left of one. */
  snapshots: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, close: 3, kill: 0.5 },
    mostStops: 6,
    diskFaults: 0,
    delegation: 0.4,
    looseModes: 0.95,
    snapshots: 1,
  },
  branches: {
    modelFaults: 0.05,
    brokenCalls: 0.05,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, close: 1, kill: 0.5 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.4,
    looseModes: 0.95,
    snapshots: 0.3,
    branches: 1,
  },
  /** Children beside whoever started them: ends, kills and crashes meet at any moment. */
  background: {
    modelFaults: 0.1,
    brokenCalls: 0.02,
    oddBodies: 0,
    stops: { ...NO_STOPS, kill: 3, crash: 3, 'crash-in-write': 3, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.8,
    looseModes: 0.95,
    snapshots: 0.2,
    background: 0.7,
  },
  /** The same on a disk that fails: whoever cannot write goes on no more, beside others who do. */
  'background-disk': {
    modelFaults: 0.05,
    brokenCalls: 0.02,
    oddBodies: 0,
    stops: { ...NO_STOPS, kill: 1, crash: 1, close: 1 },
    mostStops: 2,
    diskFaults: 3,
    delegation: 0.8,
    looseModes: 0.95,
    background: 0.7,
  },
  damage: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 4, close: 1 },
    mostStops: 4,
    diskFaults: 0,
    delegation: 0.5,
    looseModes: 0.95,
    damage: 1,
  },
  /** A classifier judges calls and reports, in its own mood. */
  reviews: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, kill: 2, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.5,
    looseModes: 1,
    snapshots: 0.3,
    mode: 'auto',
  },
  /** The work of children in the background is judged when their ends are first handed on. */
  'deferred-reviews': {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, kill: 2, close: 2 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.8,
    looseModes: 1,
    snapshots: 0.2,
    background: 0.7,
    mode: 'auto',
    defersReviews: true,
  },
  /** Children in worktrees, which are made, looked at and removed while everything else goes on. */
  worktrees: {
    modelFaults: 0.1,
    brokenCalls: 0.03,
    oddBodies: 0.2,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, kill: 2, close: 1 },
    mostStops: 6,
    diskFaults: 0,
    delegation: 0.8,
    looseModes: 1,
    snapshots: 0.3,
    worktrees: 0.9,
  },
  /** Calls wait for the word of the user. */
  approvals: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, kill: 2, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.4,
    looseModes: 1,
    snapshots: 0.3,
    mode: 'default',
    asks: true,
  },
  /** Hooks see beginnings, ends and calls, and have their say. */
  hooks: {
    modelFaults: 0.05,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, crash: 3, 'crash-in-write': 3, kill: 3, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.5,
    looseModes: 1,
    snapshots: 0.3,
    hooks: true,
  },
  /** Conversations outgrow their model, at any moment; summaries are cut off, fail, and are asked for again. */
  compaction: {
    modelFaults: 0.1,
    brokenCalls: 0.03,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, kill: 2, crash: 3, 'crash-in-write': 3, close: 1 },
    mostStops: 6,
    diskFaults: 0,
    delegation: 0.4,
    looseModes: 0.95,
    snapshots: 0.3,
    isNarrow: true,
  },
  wild: {
    modelFaults: 0.3,
    brokenCalls: 0.15,
    oddBodies: 0.4,
    stops: { crash: 2, close: 2, intrude: 2, 'prompt-again': 1, kill: 2, 'crash-in-write': 2, move: 0 },
    mostStops: 7,
    diskFaults: 1,
    delegation: 0.45,
    looseModes: 0.7,
  },
  /** Agents in the background are asked to stop, and agree or do not, while everything else goes on. */
  requests: {
    modelFaults: 0.1,
    brokenCalls: 0.02,
    oddBodies: 0,
    stops: { ...NO_STOPS, kill: 2, crash: 3, 'crash-in-write': 3, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.8,
    looseModes: 1,
    snapshots: 0.2,
    background: 0.9,
    requests: 0.5,
    hooks: true,
  },
  /** Agents show their plans to whoever started them, who approves or does not, in whatever mode it is itself. */
  plans: {
    modelFaults: 0.1,
    brokenCalls: 0.02,
    oddBodies: 0,
    stops: { ...NO_STOPS, kill: 2, crash: 3, 'crash-in-write': 3, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 1,
    // Modes that hold for a whole tree leave nobody to plan; under a root that plans no plan is approved.
    looseModes: 0.05,
    modes: ['default', 'default', 'dontAsk', 'dontAsk', 'plan', 'acceptEdits'],
    snapshots: 0.2,
    background: 0.6,
    requests: 0.15,
    plans: 0.8,
  },
  /** Agents go on from the conversations of others, who go on meanwhile, are summed up, and end. */
  forks: {
    modelFaults: 0.05,
    brokenCalls: 0.02,
    oddBodies: 0.2,
    stops: { ...NO_STOPS, kill: 1.5, crash: 3, 'crash-in-write': 3, close: 1.5 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.8,
    looseModes: 0.95,
    snapshots: 0.4,
    worktrees: 0.15,
    forks: 0.65,
  },
  /** Agents have names, speak to each other, read results and stop each other, at work, idle and at their end. */
  messages: {
    modelFaults: 0.05,
    brokenCalls: 0.02,
    oddBodies: 0,
    stops: { ...NO_STOPS, kill: 2, crash: 3, 'crash-in-write': 3, close: 1 },
    mostStops: 5,
    diskFaults: 0,
    delegation: 0.9,
    looseModes: 1,
    snapshots: 0.2,
    background: 0.8,
    words: 0.5,
  },
  /** The user moves commands and children to the background, where they go on behind whoever waited for them. */
  moves: {
    modelFaults: 0.05,
    brokenCalls: 0.02,
    oddBodies: 0.1,
    stops: { ...NO_STOPS, move: 10, kill: 1.5, crash: 2.5, 'crash-in-write': 2, close: 1 },
    mostStops: 14,
    diskFaults: 0,
    delegation: 0.45,
    looseModes: 1,
    snapshots: 0.2,
    background: 0.1,
    moves: 0.9,
  },
}

const TYPES = { worker: 6, reader: 2, wide: 2, nobody: 0.3 }

/** Tokens. Half of it is always there for a request. */
const WINDOW = 100_000

/** The plan of a seed: one of the scenarios, or the given one. */
export function planFor(seed: number, scenario?: string): Plan {
  const chance = chanceFrom(seed, 'plan')
  const name = scenario ?? chance.pick(Object.keys(SCENARIOS))
  const weather = SCENARIOS[name]
  if (weather === undefined)
    throw new Error(`there is no scenario ${name}: ${Object.keys(SCENARIOS).join(', ')}`)
  const depth = chance.weigh({ 1: 4, 2: 4, 0: 1 })
  return {
    seed,
    scenario: name,
    durability: chance.pick(['write', 'fsync']),
    slowWrites: chance.pick([0, 0.3, 1]),
    diskFaults: manyOf(chance, weather.diskFaults, () => diskFault(chance)),
    mode:
      weather.mode ??
      (chance.happens(weather.looseModes)
        ? 'bypassPermissions'
        : chance.pick(weather.modes ?? ['plan', 'dontAsk', 'default', 'acceptEdits'])),
    deny: chance.happens(0.1) ? ['Put'] : [],
    limits: {
      // Who begins with what a fork knew is two levels down.
      depth: Number(depth) + (weather.forks === undefined ? 0 : 1),
      liveAgents: chance.pick([3, 4, 64]),
      spawns: chance.pick([2, 5, 1_000]),
      childMaxTurns: chance.pick(
        weather.requests === undefined && weather.words === undefined ? [1, 2, 4, 200] : [3, 5, 200],
      ),
    },
    prompts: manyOf(chance, 2, () => promptPlan(chance, weather), 1),
    stops: manyOf(chance, weather.mostStops, () => stop(chance, weather)),
    ...beyondOneSession(chance, weather),
    ...(weather.asks === true && { asks: true }),
    ...(weather.hooks === true && { hooks: true }),
    ...(weather.isNarrow === true && { window: WINDOW }),
    ...(weather.defersReviews === true && { defersReviews: true }),
    ...(weather.plans !== undefined && { plans: true, allow: ['Put', 'Act'] }),
    ...(weather.words !== undefined && { speaks: true }),
    ...(weather.moves !== undefined && { moves: true }),
    ...(weather.forks !== undefined && {
      forks: chance.weigh({ beside: 3, awaited: 1 }),
      ...(chance.happens(0.35) && { window: WINDOW }),
    }),
  }
}

/** What only some scenarios have: drawn last, so that the others' plans stay what they are. */
function beyondOneSession(
  chance: Chance,
  weather: Weather,
): Pick<Plan, 'snapshotEvery' | 'snapshotRuins' | 'branch' | 'damage'> {
  const { snapshots = 0, branches = 0, damage = 0 } = weather
  return {
    ...(snapshots > 0 &&
      chance.happens(snapshots) && {
        snapshotEvery: chance.pick([1, 2, 3, 5]),
        snapshotRuins: manyOf(
          chance,
          4,
          () => chance.weigh({ none: 4, torn: 1, flipped: 1, gone: 1, older: 1, 'of-another': 1 }),
          1,
        ),
      }),
    ...(branches > 0 &&
      chance.happens(branches) && {
        branch: { at: chance.next(), prompt: promptPlan(chance, weather) },
      }),
    ...(damage > 0 &&
      chance.happens(damage) && {
        damage: {
          afterLife: 1 + chance.below(2),
          log: chance.next(),
          line: chance.next(),
          how: chance.pick(['garbage', 'zeros', 'gone', 'twice'] as const),
        },
      }),
  }
}

function manyOf<T>(chance: Chance, most: number, make: () => T, least = 0): readonly T[] {
  return Array.from({ length: least + chance.below(most - least + 1) }, make)
}

function promptPlan(chance: Chance, weather: Weather): PromptPlan {
  return {
    ...agentPlan(chance, weather, 0),
    asBlocks: chance.happens(0.2),
    ...(chance.happens(0.2) && { maxTurns: 1 + chance.below(3) }),
  }
}

function agentPlan(chance: Chance, weather: Weather, depth: number): AgentPlan {
  // Who is to be asked something must be at work long enough.
  const [usual, more] = depth === 0 ? [[1, 3] as const, [3, 5] as const] : [[0, 2] as const, [3, 6] as const]
  // What is inherited, or has been moved, must be there first.
  const isGrown = weather.forks !== undefined || weather.moves !== undefined
  const grown = depth === 0 ? ([2, 4] as const) : ([1, 3] as const)
  const isAsked = weather.requests !== undefined || weather.words !== undefined
  const [least, most] = isAsked ? more : isGrown ? grown : usual
  const turns: TurnPlan[] = []
  const count = least + chance.below(most - least + 1)
  while (turns.length < count) turns.push(turnPlan(chance, weather, depth, turns.some(launches)))
  return { turns }
}

/** It shows its plan before it works, and once more if it thinks that it has to. */
function plannerPlan(chance: Chance, weather: Weather, depth: number): AgentPlan {
  const { turns } = agentPlan(chance, weather, depth)
  const shows = (): TurnPlan => {
    const turn = turnPlan(chance, weather, depth, false)
    return { ...turn, calls: [{ kind: 'show-plan' }, ...turn.calls.slice(1)] }
  }
  return { turns: [...manyOf(chance, 2, shows, 1), ...turns] }
}

/** Whether an agent in the background is started in a turn. */
const launches = ({ calls }: TurnPlan): boolean =>
  calls.some((call) => call.kind === 'agent' && call.isInBackground === true)

function turnPlan(chance: Chance, weather: Weather, depth: number, hasLaunched: boolean): TurnPlan {
  const calls = chance.happens(0.85)
    ? manyOf(chance, depth === 0 ? 4 : 3, () => callPlan(chance, weather, depth, hasLaunched), 1)
    : []
  const text = chance.weigh({
    plain: 6,
    none: 3,
    blank: weather.brokenCalls * 5,
    surrogate: weather.brokenCalls * 5,
  })
  return {
    // Its last word may not be its last: then it has to say that it was said.
    text: weather.background !== undefined && calls.length === 0 ? 'plain' : text,
    thinking: chance.happens(0.1),
    calls,
    attempts: chance.happens(weather.modelFaults) ? manyOf(chance, 3, () => modelFault(chance), 1) : [],
    pace: chance.weigh({ 'at-once': 2, whole: 4, deltas: 3 }),
    ...(chance.happens(weather.brokenCalls) && {
      stop: chance.pick(['max_tokens', 'pause_turn', 'refusal', 'end_turn'] as const),
    }),
  }
}

function callPlan(chance: Chance, weather: Weather, depth: number, hasLaunched: boolean): CallPlan {
  if (chance.happens(weather.brokenCalls)) {
    return {
      kind: 'broken',
      form: chance.pick(['unknown-tool', 'no-object', 'wrong-input', 'odd-name', 'same-id'] as const),
    }
  }
  if (weather.requests !== undefined && hasLaunched && chance.happens(weather.requests))
    return { kind: 'ask', which: chance.pick([0, 0, 1, 2]) }
  if (weather.words !== undefined && (hasLaunched || depth > 0) && chance.happens(weather.words))
    return wordPlan(chance)
  if (depth < 3 && chance.happens(weather.delegation / (depth + 1))) {
    const plans = weather.plans !== undefined && chance.happens(weather.plans)
    const isFork = weather.forks !== undefined && chance.happens(weather.forks)
    const types: Readonly<Record<string, number>> =
      weather.forks === undefined ? TYPES : { worker: 3, reader: 1, heir: 2, listener: 2 }
    return {
      kind: 'agent',
      type: plans ? PLANNER : chance.weigh(types),
      agent: plans ? plannerPlan(chance, weather, depth + 1) : agentPlan(chance, weather, depth + 1),
      ...(weather.worktrees !== undefined && chance.happens(weather.worktrees) && { apart: true as const }),
      // Drawn only where it can be, so that the plans of the other scenarios stay what they are.
      ...(weather.background !== undefined &&
        chance.happens(weather.background) && { isInBackground: true as const }),
      ...(weather.words !== undefined && chance.happens(0.6) && { name: chance.pick(NAMES) }),
      ...(isFork && { isFork: true as const }),
    }
  }
  if (weather.moves !== undefined && chance.happens(weather.moves))
    return chance.happens(0.6)
      ? { kind: 'command' }
      : {
          kind: 'look-after',
          how: chance.weigh({ read: 3, end: 1 }),
          which: chance.pick([0, 0, 1]),
        }
  return {
    kind: 'tool',
    tool: chance.pick(['Look', 'Put', 'Act', 'Run'] as const),
    how: bodyKind(chance, weather),
  }
}

function wordPlan(chance: Chance): CallPlan {
  const which = chance.pick([0, 0, 1, 2])
  const kind = chance.weigh({ say: 6, read: 4, stop: 1, question: 1.5, list: 0.5 })
  switch (kind) {
    case 'say':
      return { kind, which, to: chance.weigh({ child: 4, parent: 2, main: 1, name: 3, all: 2 }) }
    case 'read':
      return { kind, which, block: chance.happens(0.6) }
    case 'stop':
      return { kind, which }
    case 'question':
    case 'list':
      return { kind }
  }
}

function bodyKind(chance: Chance, weather: Weather): BodyKind {
  if (!chance.happens(weather.oddBodies)) return 'fine'
  // Long ones are cut when the window gets narrow.
  return chance.weigh({ error: 3, throws: 3, deaf: 4, odd: 2, long: weather.forks === undefined ? 0.3 : 12 })
}

const modelFault = (chance: Chance): ModelFault =>
  chance.weigh({
    overloaded: 3,
    server: 2,
    cut: 3,
    silent: 2,
    stalled: 2,
    'no-message': 1,
    throws: 0.5,
    'invalid-request': 0.7,
  })

const diskFault = (chance: Chance): DiskFault => ({
  write: 1 + chance.below(60),
  kind: chance.pick(['full', 'io', 'short', 'sync'] as const),
})

function stop(chance: Chance, weather: Weather): Stop {
  const kind = chance.weigh(weather.stops)
  const after = chance.below(chance.pick([20, 60, 150]))
  if (kind === 'move') return { kind, after: after % 30, which: chance.below(6) }
  if (kind === 'kill') return { kind, after, which: chance.below(6) }
  if (kind === 'crash-in-write')
    return { kind, write: 1 + chance.below(60), when: chance.pick(['before', 'torn', 'after'] as const) }
  return { kind, after }
}

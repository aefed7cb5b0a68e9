import { describe, expect, it } from 'vitest'
import {
  assign,
  emit,
  enqueueActions,
  fromCallback,
  fromPromise,
  raise,
  sendTo,
  setup,
  spawnChild,
} from 'xstate'
import type { EffectName } from '../../../src/machines/agent/effects.ts'
import { agentMachine } from '../../../src/machines/agent/machine.ts'
import type { MachineParts } from '../../helpers/machine-rules.ts'
import { brokenRules, brokenSteps } from '../../helpers/machine-rules.ts'
import { eventsIn, shortestRuns } from '../../helpers/run-graph.ts'

/** Spelled as a record, so that a new effect name must be added here. */
const EFFECTS = Object.keys({
  prepare: true,
  requestModel: true,
  compact: true,
  runCall: true,
  checkReport: true,
  awaitNews: true,
  drain: true,
  stopHooks: true,
  review: true,
} satisfies Record<EffectName, true>)

describe('the agent machine', () => {
  it('is made only of what the pure transition sees whole (M2), and begins without an effect (M3)', () => {
    expect(brokenRules(agentMachine, EFFECTS)).toEqual([])
  })

  it('asks for nothing but the start and stop of its effects, on every step of its graph', {
    timeout: 120_000,
  }, () => {
    const steps = shortestRuns().flatMap(({ state }) =>
      eventsIn(state).map((event) => ({ from: state, event })),
    )
    expect(steps.length).toBeGreaterThan(1_000)
    expect(brokenSteps(agentMachine, steps, EFFECTS)).toEqual([])
  })
})

describe('the rules for a machine', () => {
  const work = fromCallback(() => {})
  const goodActions = { remember: assign({}) }
  const goodConfig = {
    id: 'm',
    initial: 'idle',
    states: {
      idle: { on: { 'work.asked': { target: 'busy', actions: 'remember' } } },
      busy: { invoke: { id: 'work', src: 'work' }, on: { 'work.done': { guard: 'isGood', target: 'idle' } } },
    },
  }
  const good: MachineParts = {
    config: goodConfig,
    implementations: { actors: { work }, actions: goodActions, guards: { isGood: () => true } },
  }
  /** The good machine with other contents of its two states, and more implementations. */
  const bad = (
    states: Record<string, unknown>,
    implementations: MachineParts['implementations'] = {},
  ): MachineParts => {
    return {
      config: { ...goodConfig, states: { ...goodConfig.states, ...states } },
      implementations: { ...good.implementations, ...implementations },
    }
  }

  it('are kept by a good machine', () => {
    expect(brokenRules(good, ['work'])).toEqual([])
  })

  const toBusy = { 'work.asked': 'busy' }
  const invoke = { id: 'work', src: 'work' }
  it.each<[rule: string, machine: MachineParts, found: string]>([
    ['timers', bad({ idle: { on: toBusy, after: { 100: 'busy' } } }), 'm.idle: has after'],
    ['entry actions', bad({ idle: { on: toBusy, entry: 'remember' } }), 'm.idle: has entry'],
    ['exit actions', bad({ idle: { on: toBusy, exit: 'remember' } }), 'm.idle: has exit'],
    ['onDone of a state', bad({ busy: { onDone: 'idle' } }), 'm.busy: has onDone'],
    [
      'onDone of an effect',
      bad({ busy: { invoke: { ...invoke, onDone: 'idle' } } }),
      'm.busy: invoke has onDone',
    ],
    [
      'onError of an effect',
      bad({ busy: { invoke: { ...invoke, onError: 'idle' } } }),
      'm.busy: invoke has onError',
    ],
    [
      'onDone in other words',
      bad({ busy: { on: { 'xstate.done.actor.work': 'idle' } } }),
      'm.busy on xstate.done.actor.work: takes events that are not its own',
    ],
    ['wildcards', bad({ busy: { on: { '*': 'idle' } } }), 'm.busy on *: takes events that are not its own'],
    ['an effect at the start', bad({ idle: { on: toBusy, invoke } }), 'm.idle: is initial and invokes'],
    [
      'an undeclared effect',
      bad({ busy: { invoke: { id: 'x', src: 'play' } } }),
      'm.busy: invokes play, not a declared effect',
    ],
    [
      'an effect without an id',
      bad({ busy: { invoke: { src: 'work' } } }),
      'm.busy: invokes work without an id',
    ],
    [
      'promises',
      bad({}, { actors: { work: fromPromise(async () => {}) } }),
      'actor work: not callback logic',
    ],
    [
      'child machines',
      bad({}, { actors: { work: setup({}).createMachine({}) } }),
      'actor work: not callback logic',
    ],
    ['spare actors', bad({}, { actors: { work, play: work } }), 'actor play: not a declared effect'],
    ['missing actors', bad({}, { actors: {} }), "effect work: not among the machine's actors"],
    ['a target that is not there', bad({ busy: { on: { go: 'bed' } } }), 'm.busy on go: no state bed'],
    ['a target by a wrong id', bad({ busy: { on: { go: '#n.idle' } } }), 'm.busy on go: no state #n.idle'],
    [
      'a missing guard',
      bad({ busy: { on: { go: { guard: 'isFun', target: 'idle' } } } }),
      'm.busy on go: no guard isFun',
    ],
    [
      'a guard without a name',
      bad({ busy: { on: { go: { guard: () => true, target: 'idle' } } } }),
      'm.busy on go: no guard of its own',
    ],
    ['a missing action', bad({ busy: { on: { go: { actions: 'sing' } } } }), 'm.busy on go: no action sing'],
    ['a state nobody enters', bad({ attic: {} }), 'm.attic: cannot be reached'],
    [
      'a first state that is not there',
      bad({ idle: { initial: 'cot', on: toBusy, states: { bed: {} } } }),
      'm.idle: initial state cot does not exist',
    ],
    [
      'functions as actions',
      bad({ busy: { always: { actions: () => {} } } }),
      'm.busy on always: action of its own is a function of its own',
    ],
    [
      'raise',
      bad({ busy: { on: { go: { actions: raise({ type: 'x' }) } } } }),
      'm.busy on go: action of its own is xstate.raise',
    ],
    [
      'sendTo by name',
      bad(
        { busy: { on: { go: { actions: ['remember', { type: 'tell' }] } } } },
        {
          actions: { ...goodActions, tell: sendTo('work', { type: 'x' }) },
        },
      ),
      'm.busy on go: action tell is xstate.sendTo',
    ],
    [
      'emit',
      bad({ busy: { on: { go: { actions: emit({ type: 'x' }) } } } }),
      'm.busy on go: action of its own is xstate.emit',
    ],
  ])('find %s', (_, machine, found) => {
    expect(brokenRules(machine, ['work'])).toContain(found)
  })

  const machine = setup({
    actors: { work, play: work },
    actions: {
      raiseInside: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'x' })),
      startPlay: enqueueActions(({ enqueue }) => enqueue.spawnChild('play', { id: 'p' })),
      spawnInAssign: assign(({ spawn }) => {
        spawn('work', { id: 'w' })
        return {}
      }),
      startWork: spawnChild('work', { id: 'f' }),
    },
  }).createMachine({
    initial: 'idle',
    states: {
      idle: {
        on: {
          good: { actions: 'startWork' },
          raises: { actions: 'raiseInside' },
          plays: { actions: 'startPlay' },
          spawns: { actions: 'spawnInAssign' },
        },
      },
    },
  })

  it.each([
    ['nothing wrong in the start of a declared effect', 'good', []],
    ['an event raised inside enqueueActions', 'raises', ['"idle" on raises: asks for xstate.raise']],
    ['an undeclared effect', 'plays', ['"idle" on plays: starts play, not a declared effect']],
    ['spawn inside assign', 'spawns', ['"idle" on spawns: child w appears without being asked for']],
  ])('find %s by its steps', (_, type, found) => {
    const from = machine.resolveState({ value: 'idle' })
    expect(brokenSteps(machine, [{ from, event: { type } }], ['work'])).toEqual(found)
  })
})

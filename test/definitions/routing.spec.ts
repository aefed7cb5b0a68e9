import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { EXPLORE } from '../../src/definitions/built-in/explore.ts'
import { GENERAL_PURPOSE } from '../../src/definitions/built-in/general-purpose.ts'
import { DEFAULT_LIMITS } from '../../src/definitions/limits.ts'
import { resolveModelId } from '../../src/definitions/model-aliases.ts'
import { PermissionMode } from '../../src/definitions/permission-mode.ts'
import { parseRules } from '../../src/definitions/permissions/rule.ts'
import { resolveModel } from '../../src/definitions/resolve-model.ts'
import {
  routeSpawn,
  type SpawnCaller,
  type SpawnPlan,
  type SpawnPolicy,
  type SpawnSituation,
  spawnableDefinitions,
} from '../../src/definitions/routing.ts'
import { SpawnPlan as RecordedPlan } from '../../src/machines/agent/events.ts'

const input = { description: 'find it', prompt: 'Find it.' }

function situationOf(
  caller: Partial<SpawnCaller> = {},
  policy: Partial<SpawnPolicy> = {},
  more: readonly AgentDefinition[] = [],
): SpawnSituation {
  return {
    definitions: [GENERAL_PURPOSE, EXPLORE, ...more],
    caller: { depth: 0, mode: 'default', model: 'parent-model', ...caller },
    policy: {
      limits: DEFAULT_LIMITS,
      live: 1,
      spawns: 0,
      denyRules: [],
      resolveModelId: (name) => `id:${name}`,
      ...policy,
    },
  }
}

const denying = (...texts: readonly string[]): Partial<SpawnPolicy> => ({
  denyRules: parseRules(texts, { kind: 'deny', source: '--disallowedTools' }).rules,
})

/** The plan of a call that must have been routed to one. */
function planOf(call: Parameters<typeof routeSpawn>[0], situation: SpawnSituation): SpawnPlan {
  const routed = routeSpawn(call, situation)
  if (routed.kind === 'refused') throw new Error(routed.message)
  return routed.plan
}

describe('which agent a call means', () => {
  it('is general-purpose when none is named, on the model of the parent', () => {
    expect(routeSpawn(input, situationOf())).toEqual({
      kind: 'spawn',
      plan: {
        agentType: 'general-purpose',
        description: 'find it',
        model: { value: 'id:parent-model', rule: 'parent' },
        mode: { value: 'default', rule: 'parent' },
        maxTurns: { value: 200, rule: 'setting limits.childMaxTurns' },
        isolation: { value: 'none', rule: 'default' },
        background: { value: false, rule: 'default' },
        thinking: { value: 'off', rule: 'default' },
      },
    })
    expect(planOf({ ...input, subagent_type: '  ' }, situationOf()).agentType).toBe('general-purpose')
  })

  it('is the one named, blanks around it aside', () => {
    const plan = planOf({ ...input, subagent_type: ' Explore ' }, situationOf())
    expect(plan).toMatchObject({
      agentType: 'Explore',
      model: { value: 'id:haiku', rule: 'definition haiku' },
    })
  })

  it('is refused when there is none, with what there is', () => {
    expect(routeSpawn({ ...input, subagent_type: 'explore' }, situationOf())).toEqual({
      kind: 'refused',
      code: 'unknown-agent-type',
      message:
        'There is no agent type "explore". Available are: general-purpose, Explore. Did you mean "Explore"?',
    })
  })

  it('does not offer what is denied when it lists what there is', () => {
    const routed = routeSpawn({ ...input, subagent_type: 'x' }, situationOf({}, denying('Agent(Explore)')))
    expect(routed).toMatchObject({ message: 'There is no agent type "x". Available are: general-purpose.' })
    expect(routeSpawn({ ...input, subagent_type: 'x' }, situationOf({}, denying('Agent')))).toMatchObject({
      message: expect.stringContaining('do the work yourself'),
    })
  })

  it.each(['Agent(Explore)', 'Task(Explore)', 'Task( x, Explore )', 'Agent'])(
    'is refused by the rule %s, which it names',
    (rule) => {
      const routed = routeSpawn({ ...input, subagent_type: 'Explore' }, situationOf({}, denying(rule)))
      expect(routed).toMatchObject({ kind: 'refused', code: 'denied-by-rule' })
      expect(routed).toMatchObject({ message: expect.stringMatching(/rule Agent.*\(--disallowedTools\)/u) })
    },
  )

  it('is refused when the caller may start other types only', () => {
    const allowed = { allowedAgentTypes: ['Explore', 'Plan'] }
    expect(routeSpawn(input, situationOf(allowed))).toMatchObject({
      code: 'agent-type-not-allowed',
      message: expect.stringContaining('Explore, Plan'),
    })
    expect(routeSpawn({ ...input, subagent_type: 'Explore' }, situationOf(allowed)).kind).toBe('spawn')
    expect(routeSpawn(input, situationOf({ allowedAgentTypes: [] })).kind).toBe('refused')
  })

  it('shows a caller only what it may start', () => {
    const names = (situation: SpawnSituation) =>
      spawnableDefinitions(situation).map(({ agentType }) => agentType)
    expect(names(situationOf())).toEqual(['general-purpose', 'Explore'])
    expect(names(situationOf({ allowedAgentTypes: ['Explore'] }))).toEqual(['Explore'])
    expect(names(situationOf({}, denying('Agent(Explore)')))).toEqual(['general-purpose'])
  })
})

describe('limits', () => {
  it.each([
    ['depth-limit', 'limits.depth', { depth: 1 }, {}],
    ['live-agents-limit', 'limits.liveAgents', {}, { live: 64 }],
    ['spawns-limit', 'limits.spawns', {}, { spawns: 1_000 }],
  ] as const)('%s: one over it is refused, naming %s and what to do', (code, setting, caller, policy) => {
    const routed = routeSpawn(input, situationOf(caller, policy))
    expect(routed).toMatchObject({ kind: 'refused', code, message: expect.stringContaining(setting) })
    expect(routed).toMatchObject({ message: expect.stringMatching(/yourself/u) })
  })

  it('let the last one pass', () => {
    expect(routeSpawn(input, situationOf({ depth: 0 }, { live: 63, spawns: 999 })).kind).toBe('spawn')
    const nested = { limits: { ...DEFAULT_LIMITS, depth: 5 } }
    expect(routeSpawn(input, situationOf({ depth: 4 }, nested)).kind).toBe('spawn')
    expect(routeSpawn(input, situationOf({ depth: 5 }, nested)).kind).toBe('refused')
  })

  it('are looked at last: the first refusal in the order is the one told', () => {
    const full = situationOf(
      { depth: 9, allowedAgentTypes: [] },
      { ...denying('Agent'), live: 99, spawns: 9_999 },
    )
    const codes = [
      routeSpawn({ ...input, subagent_type: 'x' }, full),
      routeSpawn(input, full),
      routeSpawn(input, situationOf({ depth: 9, allowedAgentTypes: [] }, { live: 99, spawns: 9_999 })),
      routeSpawn(input, situationOf({ depth: 9 }, { live: 99, spawns: 9_999 })),
      routeSpawn(input, situationOf({}, { live: 99, spawns: 9_999 })),
      routeSpawn(input, situationOf({}, { spawns: 9_999 })),
    ].map((routed) => (routed.kind === 'refused' ? routed.code : routed.kind))
    expect(codes).toEqual([
      'unknown-agent-type',
      'denied-by-rule',
      'agent-type-not-allowed',
      'depth-limit',
      'live-agents-limit',
      'spawns-limit',
    ])
  })
})

describe('the model of a child', () => {
  const resolve = (name: string): string => `id:${name}`

  it.each([
    [{ pin: 'opus', argument: 'haiku', definition: 'sonnet', parent: 'p' }, 'id:opus', 'pin opus'],
    [{ argument: ' haiku ', definition: 'sonnet', parent: 'p' }, 'id:haiku', 'argument haiku'],
    [{ argument: '  ', definition: 'sonnet', parent: 'p' }, 'id:sonnet', 'definition sonnet'],
    [{ definition: 'inherit', parent: 'p' }, 'id:p', 'parent: definition says inherit'],
    [{ argument: 'Inherit', definition: 'sonnet', parent: 'p' }, 'id:p', 'parent: argument says inherit'],
    [{ parent: 'p' }, 'id:p', 'parent'],
    [{ definition: 'inherit' }, 'id:d', 'default'],
    [{}, 'id:d', 'default'],
  ])('of %j is %s by the rule "%s"', (choices, value, rule) => {
    expect(resolveModel({ default: 'd', ...choices }, resolve)).toEqual({ value, rule })
  })

  it('is pinned by the mode that the child will have, not by the one asked for', () => {
    const planner: AgentDefinition = {
      agentType: 'p',
      whenToUse: 'x',
      getSystemPrompt: () => '',
      permissionMode: 'plan',
      source: 'flagSettings',
    }
    const policy = { modelByMode: { plan: 'opus' } }
    const call = { ...input, subagent_type: 'p' }
    expect(planOf(call, situationOf({}, policy, [planner])).model.value).toBe('id:opus')
    expect(planOf(call, situationOf({ mode: 'acceptEdits' }, policy, [planner])).model.value).toBe(
      'id:parent-model',
    )
  })

  it('is an id that the alias table knows', () => {
    const plan = planOf(
      { ...input, model: 'opus' },
      situationOf({}, { resolveModelId: (name) => resolveModelId(name) }),
    )
    expect(plan.model.value).toBe(resolveModelId('opus'))
  })
})

describe('a plan', () => {
  it('takes the turns of the definition over the setting', () => {
    const short: AgentDefinition = {
      agentType: 's',
      whenToUse: 'x',
      getSystemPrompt: () => '',
      maxTurns: 3,
      source: 'projectSettings',
    }
    expect(planOf({ ...input, subagent_type: 's' }, situationOf({}, {}, [short])).maxTurns).toEqual({
      value: 3,
      rule: 'definition s',
    })
  })

  it('is what the log records', () => {
    expectTypeOf<SpawnPlan>().toExtend<RecordedPlan>()
    expect(RecordedPlan.safeParse(planOf(input, situationOf())).success).toBe(true)
  })

  it('is the same for the same situation, whatever the mode, and never wider than the caller', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PermissionMode.options),
        fc.constantFrom('Explore', undefined, 'nope'),
        (mode, type) => {
          const call = { ...input, ...(type !== undefined && { subagent_type: type }) }
          const routed = routeSpawn(call, situationOf({ mode }))
          expect(routeSpawn(call, situationOf({ mode }))).toEqual(routed)
          if (routed.kind === 'spawn') expect(routed.plan.mode).toEqual({ value: mode, rule: 'parent' })
        },
      ),
    )
  })
})

/** What routing does with what can be switched on: refused or left out while off, in the plan when on. */
import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import type { AgentInput } from '../../src/definitions/agent-tool.ts'
import { EXPLORE } from '../../src/definitions/built-in/explore.ts'
import { GENERAL_PURPOSE } from '../../src/definitions/built-in/general-purpose.ts'
import { VERIFICATION } from '../../src/definitions/built-in/verification.ts'
import { DEFAULT_FEATURES, type Features, featureNames } from '../../src/definitions/features.ts'
import { DEFAULT_LIMITS } from '../../src/definitions/limits.ts'
import { PermissionMode } from '../../src/definitions/permission-mode.ts'
import { isNarrower } from '../../src/definitions/permissions/modes.ts'
import { parseRules } from '../../src/definitions/permissions/rule.ts'
import {
  routeSpawn,
  type SpawnPlan,
  type SpawnSituation,
  spawnableDefinitions,
} from '../../src/definitions/routing.ts'
import { SpawnPlan as RecordedPlan } from '../../src/machines/agent/events.ts'

const task = { description: 'find it', prompt: 'Find it.' }

const define = (agentType: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  agentType,
  whenToUse: 'x',
  getSystemPrompt: () => '',
  source: 'projectSettings',
  ...more,
})

interface Setup {
  readonly features?: Partial<Features>
  readonly caller?: Partial<SpawnSituation['caller']>
  readonly policy?: Partial<SpawnSituation['policy']>
  readonly definitions?: readonly AgentDefinition[]
  readonly more?: Pick<SpawnSituation, 'mcpServers' | 'hostChoices'>
}

const situationOf = ({ features, caller, policy, definitions = [], more }: Setup = {}): SpawnSituation => ({
  definitions: [GENERAL_PURPOSE, EXPLORE, VERIFICATION, ...definitions],
  caller: { depth: 0, mode: 'default', model: 'parent-model', ...caller },
  policy: {
    limits: DEFAULT_LIMITS,
    live: 1,
    spawns: 0,
    denyRules: [],
    resolveModelId: (name) => `id:${name}`,
    ...(features !== undefined && { features }),
    ...policy,
  },
  ...more,
})

function planOf(input: Partial<AgentInput>, setup?: Setup): SpawnPlan {
  const routed = routeSpawn({ ...task, ...input }, situationOf(setup))
  if (routed.kind === 'refused') throw new Error(routed.message)
  return routed.plan
}

/** The code of a refusal, or `spawn`. */
function outcomeOf(input: Partial<AgentInput>, setup?: Setup): string {
  const routed = routeSpawn({ ...task, ...input }, situationOf(setup))
  return routed.kind === 'refused' ? routed.code : routed.kind
}

const noteCodes = (plan: SpawnPlan): readonly string[] => (plan.notes ?? []).map(({ code }) => code)

describe('the type that a call means', () => {
  const guide = define('guide', { aliases: ['old-guide', 'Handbook'] })

  it('may be named by an alias', () => {
    expect(planOf({ subagent_type: 'old-guide' }, { definitions: [guide] }).agentType).toBe('guide')
  })

  it('is its own type before it is an alias of another', () => {
    const definitions = [guide, define('old-guide')]
    expect(planOf({ subagent_type: 'old-guide' }, { definitions }).agentType).toBe('old-guide')
  })

  it('is suggested by its alias in the right case', () => {
    expect(
      routeSpawn({ ...task, subagent_type: 'handbook' }, situationOf({ definitions: [guide] })),
    ).toMatchObject({
      code: 'unknown-agent-type',
      message: expect.stringContaining('Did you mean "Handbook"?'),
    })
  })

  it.each(['Agent(old-guide)', 'Agent(guide)', 'Task(HANDBOOK)'])(
    'is denied under all its names by %s',
    (rule) => {
      const policy = { denyRules: parseRules([rule], { kind: 'deny', source: 'settings' }).rules }
      for (const subagent_type of ['guide', 'old-guide'])
        expect(outcomeOf({ subagent_type }, { definitions: [guide], policy })).toBe('denied-by-rule')
    },
  )

  it.each([
    [['guide'], true],
    [['old-guide'], true],
    [['GUIDE'], true],
    [['Explore'], false],
  ])('is allowed by Agent(%j): %j', (allowedAgentTypes, isAllowed) => {
    const setup = { definitions: [guide], caller: { allowedAgentTypes } }
    expect(outcomeOf({ subagent_type: 'guide' }, setup)).toBe(isAllowed ? 'spawn' : 'agent-type-not-allowed')
  })

  it('is not what an allowed name means in another case when that name is taken', () => {
    const setup = {
      definitions: [define('guide'), define('Guide')],
      caller: { allowedAgentTypes: ['Guide'] },
    }
    expect(outcomeOf({ subagent_type: 'guide' }, setup)).toBe('agent-type-not-allowed')
  })
})

describe('teams', () => {
  const on = { features: { teams: true } }

  it.each<[Partial<AgentInput>, string]>([
    [{ name: 'ada' }, '`name`'],
    [{ team_name: 'red', name: 'ada' }, '`team_name`, `name`'],
    [{ mode: 'plan' }, '`mode`'],
  ])('that are off refuse %j, naming what to leave out', (input, fields) => {
    const routed = routeSpawn({ ...task, ...input }, situationOf())
    expect(routed).toMatchObject({ code: 'teams-off', message: expect.stringContaining(fields) })
  })

  it('take a member by team and name, or by name alone where the session has one', () => {
    expect(planOf({ team_name: ' red ', name: ' ada ' }, on)).toMatchObject({ team: 'red', name: 'ada' })
    expect(planOf({ name: 'ada' }, { ...on, caller: { team: 'blue' } })).toMatchObject({ team: 'blue' })
    expect(outcomeOf({ team_name: 'red' }, on)).toBe('teammate-without-name')
  })

  it('do not make a member of an agent that only has a name', () => {
    const plan = planOf({ name: 'ada', mode: 'plan' }, on)
    expect(plan).toMatchObject({ name: 'ada', mode: { value: 'default' } })
    expect(plan).not.toHaveProperty('team')
    expect(noteCodes(plan)).toEqual(['mode-argument-ignored'])
  })

  it('are flat', () => {
    const setup = { ...on, caller: { teammate: { backend: 'tmux' as const } } }
    expect(outcomeOf({ team_name: 'red', name: 'ada' }, setup)).toBe('team-roster-flat')
    expect(outcomeOf({}, setup)).toBe('spawn')
  })

  it.each<[PermissionMode, Exclude<PermissionMode, 'bubble'>, PermissionMode]>([
    ['default', 'plan', 'plan'],
    ['acceptEdits', 'plan', 'plan'],
    ['default', 'bypassPermissions', 'default'],
    ['plan', 'default', 'plan'],
  ])('of a lead in %s: a member asked to be in %s is in %s', (lead, asked, value) => {
    const plan = planOf({ team_name: 'red', name: 'ada', mode: asked }, { ...on, caller: { mode: lead } })
    expect(plan.mode.value).toBe(value)
    expect(noteCodes(plan)).toEqual(value === asked ? [] : ['mode-argument-ignored'])
  })
})

describe('forks', () => {
  const on = { features: { fork: true, background: true } }

  it('are what a call without a type starts where they are on: the caller as it is', () => {
    const plan = planOf({}, { ...on, caller: { mode: 'acceptEdits', effort: 'high' } })
    expect(plan).toMatchObject({
      agentType: 'fork',
      isFork: true,
      conversation: { value: 'all' },
      model: { value: 'id:parent-model' },
      mode: { value: 'acceptEdits' },
      thinking: { value: 'inherited' },
      effort: { value: 'high' },
      background: { value: true, rule: 'setting features.fork' },
    })
  })

  it('are off by default: there is no such type', () => {
    expect(planOf({}).agentType).toBe('general-purpose')
    expect(outcomeOf({ subagent_type: 'fork' })).toBe('unknown-agent-type')
    expect(planOf({ subagent_type: 'fork' }, on).isFork).toBe(true)
  })

  it.each([{ isFork: true }, { hasForkDirective: true }])('are refused to a caller with %j', (caller) => {
    expect(outcomeOf({}, { ...on, caller })).toBe('fork-in-fork')
    expect(outcomeOf({ subagent_type: 'fork' }, { ...on, caller })).toBe('fork-in-fork')
    expect(outcomeOf({ subagent_type: 'Explore' }, { ...on, caller })).toBe('spawn')
    expect(outcomeOf({}, { caller })).toBe('spawn')
  })

  it('stay on the model of their parent, whatever pins or asks', () => {
    const plan = planOf({ model: 'haiku' }, { ...on, policy: { modelByMode: { default: 'opus' } } })
    expect(plan.model).toEqual({ value: 'id:parent-model', rule: 'parent' })
    expect(noteCodes(plan)).toEqual(['model-argument-ignored'])
  })

  it('need a conversation, which a host does not have', () => {
    expect(planOf({}, { ...on, caller: { depth: -1 } }).agentType).toBe('general-purpose')
  })

  it('leave the word to a definition of that name when it is asked for', () => {
    const setup = { ...on, definitions: [define('fork')] }
    expect(planOf({ subagent_type: 'fork' }, setup)).not.toHaveProperty('isFork')
    expect(planOf({}, setup).isFork).toBe(true)
  })

  it('are denied by a rule like any other type', () => {
    const denyRules = parseRules(['Agent(fork)'], { kind: 'deny', source: 'settings' }).rules
    expect(outcomeOf({}, { ...on, policy: { denyRules, features: on.features } })).toBe('denied-by-rule')
  })

  it("are not what a definition with the parent's conversation is", () => {
    const heir = define('heir', { forksParentContext: 'turn' })
    const setup = { definitions: [heir], caller: { isFork: true } }
    const left = planOf({ subagent_type: 'heir' }, { ...setup, features: { parentContext: false } })
    expect(left).not.toHaveProperty('conversation')
    expect(noteCodes(left)).toEqual(['parent-context-not-available'])
    const plan = planOf({ subagent_type: 'heir' }, setup)
    expect(plan).toMatchObject({ conversation: { value: 'turn', rule: 'definition heir' } })
    expect(plan).not.toHaveProperty('isFork')
  })
})

describe('coordinator mode', () => {
  const on = { features: { coordinator: true, background: true } }

  it('has one type, in the background', () => {
    expect(planOf({}, on)).toMatchObject({
      agentType: 'worker',
      background: { value: true, rule: 'setting features.coordinator' },
    })
    expect(outcomeOf({ subagent_type: 'Explore' }, on)).toBe('unknown-agent-type')
    expect(spawnableDefinitions(situationOf(on)).map(({ agentType }) => agentType)).toEqual(['worker'])
  })

  it('takes the worker of the host', () => {
    const own = define('worker', { maxTurns: 7 })
    expect(planOf({}, { ...on, definitions: [own] }).maxTurns.value).toBe(7)
  })
})

describe('MCP servers that a definition needs', () => {
  const needy = define('needy', { requiredMcpServers: ['git'] })
  const call = { subagent_type: 'needy' }
  const server = { name: 'github', tools: 2 }

  it('are waited for while they start, and missed when they are not there', () => {
    const pending = { mcpServers: [{ ...server, status: 'pending' as const }] }
    expect(planOf(call, { definitions: [needy], more: pending })).toMatchObject({ awaitMcp: ['git'] })
    const ready = { mcpServers: [{ ...server, status: 'connected' as const }] }
    expect(planOf(call, { definitions: [needy], more: ready })).not.toHaveProperty('awaitMcp')
    expect(outcomeOf(call, { definitions: [needy] })).toBe('mcp-servers-missing')
  })

  it('may be its own', () => {
    const config = { type: 'stdio' as const, command: 'git-mcp', args: [], env: {} }
    const own = { ...needy, mcpServers: [{ name: 'GitHub', config }] }
    expect(outcomeOf(call, { definitions: [own] })).toBe('spawn')
    expect(outcomeOf(call, { definitions: [{ ...needy, mcpServers: ['github'] }] })).toBe(
      'mcp-servers-missing',
    )
  })
})

describe('where it works', () => {
  const loner = define('loner', { isolation: 'worktree' })
  const on = { features: { worktree: true }, definitions: [loner] }

  it('is refused when the call asks for what is not there, and left out when the definition does', () => {
    const off = { features: { worktree: false }, definitions: [loner] }
    expect(outcomeOf({ isolation: 'worktree' }, off)).toBe('isolation-unavailable')
    expect(outcomeOf({ isolation: 'remote' }, on)).toBe('isolation-unavailable')
    const plan = planOf({ subagent_type: 'loner' }, off)
    expect(plan.isolation).toEqual({ value: 'none', rule: 'default' })
    expect(noteCodes(plan)).toEqual(['isolation-not-available'])
  })

  it('is what the call says, else the definition', () => {
    const both = { ...on, features: { worktree: true, remote: true } }
    expect(planOf({ subagent_type: 'loner' }, on).isolation).toEqual({
      value: 'worktree',
      rule: 'definition loner',
    })
    expect(planOf({ subagent_type: 'loner', isolation: 'remote' }, both).isolation).toEqual({
      value: 'remote',
      rule: 'argument isolation',
    })
  })

  it('is one directory: cwd and a worktree exclude each other, whoever asks', () => {
    expect(outcomeOf({ cwd: '/x', isolation: 'worktree' }, on)).toBe('cwd-with-isolation')
    expect(outcomeOf({ cwd: '/x', subagent_type: 'loner' }, on)).toBe('cwd-with-isolation')
    expect(planOf({ cwd: '/x' }, on)).toMatchObject({ cwd: '/x', cwdRule: 'argument cwd' })
  })

  it('is where its parent works unless something else is said', () => {
    const caller = { cwd: '/elsewhere' }
    expect(planOf({}, { caller })).toMatchObject({ cwd: '/elsewhere', cwdRule: 'parent' })
    expect(planOf({})).not.toHaveProperty('cwd')
  })
})

describe('foreground or background', () => {
  const on: Partial<Features> = { background: true }

  it.each<[string, Partial<AgentInput>, Partial<Features>, boolean, string]>([
    ['nobody asks', {}, on, false, 'default'],
    ['the call says no, which is no wish', { run_in_background: false }, on, false, 'default'],
    ['the call asks', { run_in_background: true }, on, true, 'argument run_in_background'],
    [
      'the definition does',
      { subagent_type: 'verification', run_in_background: false },
      on,
      true,
      'definition verification',
    ],
    ['the host forces it', {}, { ...on, forceBackground: true }, true, 'setting features.forceBackground'],
    [
      'a typed call in fork mode',
      { subagent_type: 'Explore' },
      { ...on, fork: true },
      true,
      'setting features.fork',
    ],
    [
      'the host forces what is off',
      {},
      { background: false, forceBackground: true },
      false,
      'setting features.background is off; setting features.forceBackground asks for it',
    ],
  ])('%s', (_, input, features, value, rule) => {
    const plan = planOf(input, { features })
    expect(plan.background).toEqual({ value, rule })
    expect(noteCodes(plan)).toEqual([])
  })

  it.each([{ run_in_background: true }, { subagent_type: 'verification' }])(
    'stays in the foreground where the background is off, and says so: %j',
    (input) => {
      const plan = planOf(input, { features: { background: false } })
      expect(plan.background.value).toBe(false)
      expect(noteCodes(plan)).toEqual(['background-not-available'])
    },
  )

  it('is the foreground for a teammate in this process: wishes are refused, habits dropped', () => {
    const setup = { features: on, caller: { teammate: { backend: 'in-process' as const } } }
    expect(outcomeOf({ run_in_background: true }, setup)).toBe('background-in-teammate')
    expect(outcomeOf({ subagent_type: 'verification' }, setup)).toBe('background-in-teammate')
    const forced = { ...setup, features: { ...on, forceBackground: true } }
    expect(planOf({}, forced).background.value).toBe(false)
    const tmux = { ...setup, caller: { teammate: { backend: 'tmux' as const } } }
    expect(planOf({ run_in_background: true }, tmux).background.value).toBe(true)
  })
})

describe('the values of a plan', () => {
  it('leave out a model that may not be chosen, and say so', () => {
    const plan = planOf({ model: 'opus', subagent_type: 'Explore' }, { features: { modelArgument: false } })
    expect(plan.model).toEqual({ value: 'id:haiku', rule: 'definition haiku' })
    expect(noteCodes(plan)).toEqual(['model-argument-ignored'])
  })

  it('use a model that nobody knows, and say so with the nearest name', () => {
    const policy = { knownModels: ['id:parent-model'] }
    expect(noteCodes(planOf({}, { policy }))).toEqual([])
    const definitions = [define('odd', { model: ' parent-modle ' })]
    const plan = planOf({ subagent_type: 'odd' }, { policy, definitions })
    expect(plan.model.value).toBe('id:parent-modle')
    expect(plan.notes).toMatchObject([
      { code: 'model-unknown', message: expect.stringContaining('Did you mean "id:parent-model"?') },
    ])
  })

  it('take bounds from the host, then the definition, then the setting', () => {
    const definitions = [define('short', { maxTurns: 3, tokens: 50, effort: 'low' })]
    const call = { subagent_type: 'short' }
    expect(planOf(call, { definitions })).toMatchObject({
      maxTurns: { value: 3, rule: 'definition short' },
      tokens: { value: 50, rule: 'definition short' },
      effort: { value: 'low', rule: 'definition short' },
    })
    const more = { hostChoices: { maxTurns: 9, tokens: 8 } }
    expect(planOf(call, { definitions, more })).toMatchObject({
      maxTurns: { value: 9, rule: 'argument maxTurns' },
      tokens: { value: 8, rule: 'argument tokens' },
    })
    expect(planOf({})).not.toHaveProperty('tokens')
  })

  it('let a definition be stricter than a permissive parent only where a policy says so', () => {
    const definitions = [define('careful', { permissionMode: 'default' })]
    const setup = { definitions, caller: { mode: 'bypassPermissions' as const } }
    const call = { subagent_type: 'careful' }
    expect(planOf(call, setup).mode.value).toBe('bypassPermissions')
    expect(planOf(call, { ...setup, policy: { definitionsMayBeStricter: true } }).mode).toEqual({
      value: 'default',
      rule: 'definition careful',
    })
  })
})

// ── any call in any situation ────────────────────────────────────────────────────────────────────────────

const optional = <T>(...values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
const modes = fc.constantFrom(...PermissionMode.options)
const defined = <T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } =>
  JSON.parse(JSON.stringify(value))

const anyInput: fc.Arbitrary<AgentInput> = fc
  .record({
    subagent_type: optional('general-purpose', 'Explore', 'any', 'fork', 'nope', ''),
    model: optional('opus' as const),
    run_in_background: fc.option(fc.boolean(), { nil: undefined }),
    name: optional('ada'),
    team_name: optional('red'),
    mode: optional('plan' as const, 'bypassPermissions' as const),
    isolation: optional('worktree' as const, 'remote' as const),
    cwd: optional('/x'),
  })
  .map((fields) => ({ ...task, ...defined(fields) }))

const anyFeatures: fc.Arbitrary<Features> = fc
  .subarray([...featureNames()])
  .map((names) => ({ ...DEFAULT_FEATURES, ...Object.fromEntries(names.map((name) => [name, true])) }))

const anySituation: fc.Arbitrary<SpawnSituation> = fc
  .record({
    features: anyFeatures,
    mode: modes,
    own: fc.option(modes, { nil: undefined }),
    isStricter: fc.boolean(),
    depth: fc.constantFrom(-1, 0, 1),
    isFork: fc.boolean(),
    isTeammate: fc.boolean(),
    required: fc.boolean(),
    isolation: optional('worktree' as const),
    background: fc.boolean(),
    live: fc.constantFrom(1, 64),
  })
  .map((each) =>
    situationOf({
      features: each.features,
      caller: {
        depth: each.depth,
        mode: each.mode,
        isFork: each.isFork,
        ...(each.isTeammate && { teammate: { backend: 'in-process' } }),
      },
      policy: { live: each.live, definitionsMayBeStricter: each.isStricter, features: each.features },
      definitions: [
        define('any', {
          background: each.background,
          ...(each.own !== undefined && { permissionMode: each.own }),
          ...(each.isolation !== undefined && { isolation: each.isolation }),
          ...(each.required && { requiredMcpServers: ['db'] }),
        }),
      ],
    }),
  )

describe('any call in any situation', () => {
  it('comes to the same thing twice, changes nothing, and is recorded as it is', () => {
    expectTypeOf<SpawnPlan>().toExtend<RecordedPlan>()
    fc.assert(
      fc.property(anyInput, anySituation, (input, situation) => {
        const before = JSON.stringify([input, situation])
        const routed = routeSpawn(input, situation)
        expect(routeSpawn(input, situation)).toEqual(routed)
        expect(JSON.stringify([input, situation])).toBe(before)
        if (routed.kind === 'refused') return
        // What JSON keeps is all there is, and the log's schema takes it whole.
        expect(JSON.parse(JSON.stringify(routed.plan))).toEqual(routed.plan)
        expect(RecordedPlan.parse(routed.plan)).toEqual(routed.plan)
      }),
    )
  })

  it('gives no plan that is wider than its caller, whatever definition or call say', () => {
    fc.assert(
      fc.property(anyInput, anySituation, (input, situation) => {
        const routed = routeSpawn(input, situation)
        if (routed.kind === 'spawn')
          expect(isNarrower(situation.caller.mode, routed.plan.mode.value)).toBe(false)
      }),
    )
  })

  it('plans nothing that is switched off', () => {
    fc.assert(
      fc.property(anyInput, anySituation, (input, situation) => {
        const routed = routeSpawn(input, situation)
        if (routed.kind === 'refused') return
        const { plan } = routed
        const features = { ...DEFAULT_FEATURES, ...situation.policy.features }
        if (plan.background.value) expect(features.background).toBe(true)
        if (plan.isolation.value === 'worktree') expect(features.worktree).toBe(true)
        if (plan.isolation.value === 'remote') expect(features.remote).toBe(true)
        if (plan.isFork) expect([features.fork, situation.caller.isFork]).toEqual([true, false])
        if (plan.team !== undefined) expect(features.teams).toBe(true)
        if (plan.name !== undefined)
          expect(features.teams || (features.names && features.background)).toBe(true)
        expect(plan.cwd === undefined || plan.isolation.value === 'none').toBe(true)
      }),
    )
  })

  it('is refused in words that say what to do', () => {
    fc.assert(
      fc.property(anyInput, anySituation, (input, situation) => {
        const routed = routeSpawn(input, situation)
        if (routed.kind === 'refused')
          expect(routed.message).toMatch(
            /Call Agent again|yourself|Choose another type|Available are|Leave out|ask the lead|Wait for one/u,
          )
      }),
    )
  })
})

describe('the order of refusals', () => {
  it('is that of the steps: each cure shows the next', () => {
    const hopeless = define('hopeless', { requiredMcpServers: ['db'], background: true })
    const denyRules = parseRules(['Agent(hopeless)'], { kind: 'deny', source: 'settings' }).rules
    const fork = { caller: { isFork: true, depth: 9 }, features: { fork: true } }
    const wish = { subagent_type: 'hopeless', isolation: 'worktree' as const, cwd: '/x' }
    const teammate = { teammate: { backend: 'in-process' as const }, depth: 9, allowedAgentTypes: [] }
    const base: Setup = {
      definitions: [hopeless],
      caller: teammate,
      features: { background: true, teams: true },
    }
    const deny = (setup: Setup): Setup => ({
      ...setup,
      policy: { denyRules, live: 99, features: setup.features },
    })
    const servers = { mcpServers: [{ name: 'db', status: 'connected' as const, tools: 1 }] }
    const { allowedAgentTypes: _, ...allowed } = teammate
    const features = { background: true, worktree: true, teams: true }
    expect([
      outcomeOf({ ...wish, name: 'ada' }, { definitions: [hopeless], caller: teammate }),
      outcomeOf({ ...wish, name: 'ada' }, deny(base)),
      outcomeOf({ isolation: 'worktree' }, fork),
      outcomeOf({ ...wish, subagent_type: 'nope' }, deny(base)),
      outcomeOf(wish, deny(base)),
      outcomeOf(wish, base),
      outcomeOf(wish, { ...base, caller: allowed }),
      outcomeOf(wish, {
        ...base,
        caller: allowed,
        more: servers,
        features: { ...base.features, worktree: false },
      }),
      outcomeOf(wish, { ...base, caller: allowed, more: servers, features }),
      outcomeOf(
        { subagent_type: 'hopeless', cwd: '/x' },
        {
          ...base,
          caller: allowed,
          more: servers,
          features,
        },
      ),
      outcomeOf(
        { subagent_type: 'hopeless', cwd: '/x' },
        {
          ...base,
          caller: { depth: 9 },
          more: servers,
          features,
        },
      ),
      outcomeOf(
        { subagent_type: 'hopeless' },
        { ...base, caller: {}, more: servers, policy: { live: 99, features } },
      ),
    ]).toEqual([
      'teams-off',
      'team-roster-flat',
      'fork-in-fork',
      'unknown-agent-type',
      'denied-by-rule',
      'agent-type-not-allowed',
      'mcp-servers-missing',
      'isolation-unavailable',
      'cwd-with-isolation',
      'background-in-teammate',
      'depth-limit',
      'live-agents-limit',
    ])
  })
})

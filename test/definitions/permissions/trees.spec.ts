/** Law 6 over whole trees: whatever definitions ask for, and however a mode changes on the way, nobody gains by delegating. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PermissionMode } from '../../../src/definitions/permission-mode.ts'
import {
  type Ceiling,
  ceilingOf,
  decide,
  type PermissionPolicy,
  type PermissionRequest,
} from '../../../src/definitions/permissions/decide.ts'
import { resolveChildMode } from '../../../src/definitions/permissions/modes.ts'
import { request, rules } from './rules-for-tests.ts'

const width = { deny: 0, ask: 1, classify: 2, allow: 3 } as const
const widthOf = (call: PermissionRequest, policy: PermissionPolicy): number =>
  width[decide(call, policy).decision]

const mode = fc.constantFrom(...PermissionMode.options)
const texts = fc.array(
  fc.constantFrom('Bash', 'Bash(npm:*)', 'Bash(rm:*)', 'Read(src/**)', 'Edit(./**)', 'mcp__a__*', 'Write'),
  { maxLength: 3 },
)
const call = fc.constantFrom(
  request('Bash', 'npm test'),
  request('Bash', 'npm test; rm x'),
  request('Read', 'src/a', { isReadOnly: true }),
  request('Read', '/etc/x', { isReadOnly: true, isInsideCwd: false }),
  request('Edit', 'a', { writesPath: 'a' }),
  request('Write', '/x', { writesPath: '/x', isInsideCwd: false }),
  request('mcp__a__b'),
)

/** What one generation brings: its definition's mode and limits, and the mode it is changed to while it runs. */
const generation = fc.record({
  permissionMode: fc.option(mode, { nil: undefined }),
  only: fc.option(texts, { nil: undefined }),
  deny: texts,
  changedTo: fc.option(mode, { nil: undefined }),
})
type Generation = typeof generation extends fc.Arbitrary<infer G> ? G : never

/** The policies from the root to the last descendant, each spawned by the one before, with the modes of the end. */
function policiesOf(
  root: PermissionMode,
  allow: readonly string[],
  generations: readonly Generation[],
): readonly PermissionPolicy[] {
  const granted = rules('allow', ...allow)
  const atSpawn: PermissionMode[] = []
  generations.forEach(({ permissionMode }, i) => {
    const parent = i === 0 ? root : (atSpawn[i - 1] ?? root)
    const definition = { agentType: `t${i}`, ...(permissionMode !== undefined && { permissionMode }) }
    atSpawn.push(resolveChildMode(parent, definition).value)
  })
  const policies: PermissionPolicy[] = [{ mode: root, allow: granted, deny: [], ceilings: [] }]
  generations.forEach(({ only, deny, changedTo }, i) => {
    const above = policies[i] ?? { mode: root, allow: granted, deny: [], ceilings: [] }
    const ceilings: Ceiling[] = [ceilingOf(`a${i}`, above), ...above.ceilings]
    policies.push({
      mode: changedTo ?? atSpawn[i] ?? root,
      allow: granted,
      deny: rules('deny', ...deny),
      ...(only !== undefined && { only: rules('allow', ...only) }),
      ceilings,
    })
  })
  return policies
}

const tree = fc.tuple(mode, texts, fc.array(generation, { minLength: 1, maxLength: 4 }))

describe('in any tree', () => {
  it('no descendant may do what the mode or a deny rule of any ancestor does not let pass', () => {
    fc.assert(
      fc.property(call, tree, (asked, [root, allow, generations]) => {
        const policies = policiesOf(root, allow, generations)
        policies.forEach((policy, i) => {
          for (const above of policies.slice(0, i)) {
            // An ancestor's own tools (`only`) are its own; its rules and its mode go down.
            const { only: _, ...ceiling } = above
            expect(widthOf(asked, policy)).toBeLessThanOrEqual(widthOf(asked, ceiling))
          }
        })
      }),
      { numRuns: 300 },
    )
  })

  it('a mode that narrows anywhere above narrows everything below at once', () => {
    fc.assert(
      fc.property(call, tree, fc.nat(3), (asked, [root, allow, generations], at) => {
        const narrowed = generations.map((each, i) =>
          i === at ? { ...each, changedTo: 'plan' as const } : each,
        )
        const [before, after] = [generations, narrowed].map((each) => policiesOf(root, allow, each))
        after?.forEach((policy, i) => {
          const was = before?.[i]
          // Of what only reads `plan` lets pass what `dontAsk` refuses to ask about: the two are no order there.
          if (was === undefined || asked.isReadOnly) return
          expect(widthOf(asked, policy)).toBeLessThanOrEqual(widthOf(asked, was))
          if (i > at) expect(decide(asked, policy).decision).toBe('deny')
        })
      }),
      { numRuns: 300 },
    )
  })

  it('one more deny rule of anybody allows nobody more', () => {
    fc.assert(
      fc.property(call, tree, fc.nat(3), texts, (asked, [root, allow, generations], at, more) => {
        const stricter = generations.map((each, i) =>
          i === at ? { ...each, deny: [...each.deny, ...more] } : each,
        )
        const before = policiesOf(root, allow, generations)
        policiesOf(root, allow, stricter).forEach((policy, i) => {
          const was = before[i]
          if (was !== undefined) expect(widthOf(asked, policy)).toBeLessThanOrEqual(widthOf(asked, was))
        })
      }),
      { numRuns: 300 },
    )
  })

  it('no definition gives its agent more than its parent had, rules of its own apart', () => {
    fc.assert(
      fc.property(call, mode, texts, generation, (asked, root, allow, { changedTo: _, ...own }) => {
        const [parent, child] = policiesOf(root, allow, [{ ...own, changedTo: undefined }])
        if (parent === undefined || child === undefined) throw new Error('a tree of two has two policies')
        expect(widthOf(asked, child)).toBeLessThanOrEqual(widthOf(asked, parent))
      }),
      { numRuns: 300 },
    )
  })
})

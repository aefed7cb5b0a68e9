import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coversMcpTool } from '../../../src/definitions/tool-names.ts'
import { normalServerName, toolNames } from '../../../src/effects/mcp/names.ts'

const anyName = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.stringMatching(/^[a-zA-Z_.-]{1,70}$/),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

describe('the name of a server', () => {
  it.each([
    ['github', 'github'],
    ['my-server_2', 'my-server_2'],
    ['my server.io', 'my_server_io'],
    ['a__b', 'a_b'],
    ['_private_', 'private'],
  ])('%s is %s in tools', (written, name) => {
    expect(normalServerName(written)).toBe(name)
  })

  it('is always one that tools can carry, and stays as it is when it is one (N1)', () => {
    fc.assert(
      fc.property(anyName, (written) => {
        const name = normalServerName(written)
        expect(name).toMatch(/^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$/)
        expect(name.length).toBeLessThanOrEqual(40)
        expect(normalServerName(name)).toBe(name)
      }),
    )
  })
})

describe('the names of tools', () => {
  it('are the plain ones where they can be', () => {
    expect([...toolNames('git', ['log', 'show_file']).values()]).toEqual([
      'mcp__git__log',
      'mcp__git__show_file',
    ])
  })

  it('are distinct in any case, fit for models, and do not depend on the order (N2)', () => {
    fc.assert(
      fc.property(anyName, fc.uniqueArray(anyName, { maxLength: 8 }), (server, tools) => {
        const names = toolNames(server, tools)
        const values = [...names.values()]
        expect(new Set(values.map((name) => name.toLowerCase())).size).toBe(tools.length)
        for (const name of values) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
        const turned = toolNames(server, tools.toReversed())
        expect(tools.map((tool) => turned.get(tool))).toEqual(tools.map((tool) => names.get(tool)))
      }),
    )
  })

  it('are covered by a rule for their server, and by none for another (N1)', () => {
    fc.assert(
      fc.property(anyName, anyName, anyName, (server, other, tool) => {
        const [name = ''] = toolNames(server, [tool]).values()
        expect(coversMcpTool(`mcp__${normalServerName(server)}`, name)).toBe(true)
        const isSame = normalServerName(server).toLowerCase() === normalServerName(other).toLowerCase()
        expect(coversMcpTool(`mcp__${normalServerName(other)}`, name)).toBe(isSame)
      }),
    )
  })
})

/** What settings files say of the sandbox: a project narrows, and nothing more. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SandboxPlan } from '../../../src/definitions/sandbox/options.ts'
import type { SettingsLayer, SettingsSource } from '../../../src/effects/settings/read-settings.ts'
import { sandboxSettingsOf } from '../../../src/effects/settings/sandbox-settings.ts'
import { settingsIn } from '../../../src/effects/settings/settings.ts'

const HOME = '/home/me'

/** A layer with this `sandbox`, and what was told in reading it. */
function layer(source: SettingsSource, sandbox: unknown) {
  const told: string[] = []
  const settings = settingsIn(JSON.stringify({ sandbox }), (severity, code, message) =>
    told.push(`${severity} ${code}: ${message}`),
  )
  if (settings === undefined) throw new Error('it can be read')
  const made: SettingsLayer = {
    ...{ source, file: `/${source}/settings.json`, folder: `/${source}`, isBroken: false },
    settings,
  }
  return { told, made }
}

const of = (...layers: readonly (readonly [SettingsSource, unknown])[]) =>
  sandboxSettingsOf(
    layers.map(([source, sandbox]) => layer(source, sandbox).made),
    { home: HOME },
  )

describe('the sandbox of settings', () => {
  it('is off where nobody switches it on', () => {
    expect(of()).toEqual({ sandbox: undefined, diagnostics: [] })
    expect(of(['user', { network: { allowedDomains: ['a.org'] } }]).sandbox).toBeUndefined()
  })

  it('is as the strongest file of the person or a policy says', () => {
    expect(of(['flags', { enabled: false }], ['user', { enabled: true }]).sandbox).toBeUndefined()
    expect(of(['policy', { enabled: true }], ['flags', { enabled: false }]).sandbox?.wantedBy).toEqual([
      '/policy/settings.json',
    ])
  })

  it('takes paths from the folder of the file that names them, and `~` for the home', () => {
    const filesystem = { allowWrite: ['cache', '~/x', '/y'], denyWrite: ['a'], denyRead: ['~/keys/*.pem'] }
    expect(of(['user', { enabled: true, filesystem }]).sandbox).toMatchObject({
      allowWrite: ['/user/cache', '/home/me/x', '/y'],
      denyWrite: ['/user/a'],
      denyRead: ['/home/me/keys/*.pem'],
    })
  })

  it('says what of a project is not heard', () => {
    const { diagnostics } = of(
      ['project', { enabled: false, filesystem: { allowWrite: ['/'] } }],
      ['user', { enabled: true }],
    )
    expect(diagnostics).toMatchObject([
      { code: 'settings-not-honoured', file: '/project/settings.json', line: 1 },
    ])
    expect(diagnostics[0]?.message).toContain('`enabled: false`, `filesystem.allowWrite`')
  })

  it.each([
    ['no object', true],
    ['a pattern where there is no use for one', { filesystem: { denyWrite: ['**/*.ts'] } }],
    ['everybody as a domain', { network: { allowedDomains: ['*'] } }],
    ['a whole country as a domain', { network: { allowedDomains: ['*.org'] } }],
    ['an address as a domain', { network: { allowedDomains: ['https://a.org/'] } }],
    ['a word for a switch', { enabled: 'no' }],
  ])('is wanted and cannot be had where it is %s, since it may have forbidden anything', (_, sandbox) => {
    expect(layer('user', sandbox).told).toEqual([expect.stringMatching(/^error settings-field-unreadable/u)])
    expect(of(['user', sandbox]).sandbox?.problem).toContain('cannot be read')
    expect(of(['policy', { enabled: true }], ['user', sandbox]).sandbox?.problem).toContain('cannot be read')
  })

  it('honours what it knows beside what it does not, and tells that', () => {
    const sandbox = { enabled: true, excludedCommands: ['git'], network: { httpProxyPort: 1 } }
    const { told, made } = layer('user', sandbox)
    expect(told).toEqual([
      expect.stringContaining('"sandbox.excludedCommands" means nothing here'),
      expect.stringContaining('"sandbox.network.httpProxyPort" means nothing here'),
    ])
    expect(sandboxSettingsOf([made]).sandbox?.wantedBy).toEqual(['/user/settings.json'])
  })
})

const domains = fc.subarray(['a.org', '*.b.org', 'c.org:443'])
const paths = fc.subarray(['/a', '~/b', 'c'])
const options = fc.record(
  {
    enabled: fc.boolean(),
    network: fc.record({ allowedDomains: domains, deniedDomains: domains }, { requiredKeys: [] }),
    filesystem: fc.record({ allowWrite: paths, denyWrite: paths, denyRead: paths }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
)
const said = fc.oneof({ weight: 9, arbitrary: options }, { weight: 1, arbitrary: fc.constant('broken') })
const layers = (...sources: readonly SettingsSource[]) =>
  fc.array(fc.tuple(fc.constantFrom(...sources), said), { maxLength: 4 })

/** No plan forbids less, allows more, or is none. */
function expectNoWider(wider: SandboxPlan | undefined, narrower: SandboxPlan | undefined): void {
  if (wider === undefined) return
  expect(narrower).toBeDefined()
  expect(narrower?.allowedDomains).toEqual(wider.allowedDomains)
  expect(narrower?.allowWrite).toEqual(wider.allowWrite)
  expect(narrower?.deniedDomains).toEqual(expect.arrayContaining([...wider.deniedDomains]))
  expect(narrower?.denyWrite).toEqual(expect.arrayContaining([...wider.denyWrite]))
  expect(narrower?.denyRead).toEqual(expect.arrayContaining([...wider.denyRead]))
  if (wider.problem !== undefined) expect(narrower?.problem).toBeDefined()
}

describe('the settings of a project', () => {
  it('never widen the sandbox, and never switch it off', () => {
    fc.assert(
      fc.property(layers('policy', 'flags'), layers('local', 'project'), layers('user'), (a, b, c) => {
        expectNoWider(of(...a, ...c).sandbox, of(...a, ...b, ...c).sandbox)
      }),
      { numRuns: 100 },
    )
  })

  it('allow nothing by themselves', () => {
    fc.assert(
      fc.property(layers('local', 'project'), (project) => {
        const { sandbox } = of(...project)
        expect([...(sandbox?.allowWrite ?? []), ...(sandbox?.allowedDomains ?? [])]).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

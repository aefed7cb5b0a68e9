/** Settings files, read from real folders, and what they say about permissions together. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decide } from '../../../src/definitions/permissions/decide.ts'
import { environmentOf } from '../../../src/effects/settings/environment.ts'
import { permissionRulesOf } from '../../../src/effects/settings/permission-rules.ts'
import { readSettings, type SettingsPlaces } from '../../../src/effects/settings/read-settings.ts'

let base: string
let places: SettingsPlaces

beforeEach(() => {
  base = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-settings-')))
  for (const folder of ['project/sub/.claude', 'project/.claude', 'home/.claude', 'policy'])
    mkdirSync(path.join(base, folder), { recursive: true })
  places = {
    cwd: path.join(base, 'project/sub'),
    root: path.join(base, 'project'),
    configDir: path.join(base, 'home/.claude'),
    policyDir: path.join(base, 'policy'),
  }
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (name: string): string => path.join(base, name)
const write = (name: string, value: unknown): void =>
  writeFileSync(at(name), typeof value === 'string' ? value : JSON.stringify(value, null, 2))

const FILES = {
  policy: 'policy/managed-settings.json',
  local: 'project/.claude/settings.local.json',
  project: 'project/.claude/settings.json',
  user: 'home/.claude/settings.json',
}

describe('reading settings', () => {
  it('finds nothing where there is nothing', async () => {
    expect(await readSettings(places)).toEqual({ layers: [], diagnostics: [] })
  })

  it('gives the strongest first: policy, flags, local, project, user, of a project the nearest', async () => {
    for (const file of [...Object.values(FILES), 'project/sub/.claude/settings.json']) write(file, {})
    const { layers, diagnostics } = await readSettings({ ...places, flags: '{}' })
    expect(layers.map(({ source, file }) => [source, file])).toEqual([
      ['policy', at(FILES.policy)],
      ['flags', '--settings'],
      ['local', at(FILES.local)],
      ['project', at('project/sub/.claude/settings.json')],
      ['project', at(FILES.project)],
      ['user', at(FILES.user)],
    ])
    expect(layers.map(({ folder }) => folder)).toEqual([
      ...[at('policy'), places.cwd, at('project'), at('project/sub'), at('project'), at('home/.claude')],
    ])
    expect(diagnostics).toEqual([])
  })

  it("takes the person's own folder for the person's, also inside of the project", async () => {
    write(FILES.project, { permissions: { allow: ['Bash'] } })
    const { layers } = await readSettings({ ...places, configDir: at('project/.claude') })
    expect(layers.map(({ source }) => source)).toEqual(['user'])
  })

  it('looks no further than the root of the repository', async () => {
    write(FILES.project, {})
    expect((await readSettings({ ...places, root: places.cwd })).layers).toEqual([])
    mkdirSync(at('project/sub/.git'))
    const { root: _, ...found } = places
    expect((await readSettings(found)).layers).toEqual([])
  })

  it('keeps what it does not know, and tells it once a file', async () => {
    write(FILES.user, {
      model: 'x',
      theme: 'dark',
      permissions: { allow: [], alow: ['Bash'] },
      hooks: { Stop: [] },
    })
    const { layers, diagnostics } = await readSettings(places)
    expect(layers[0]?.settings.raw).toMatchObject({ theme: 'dark' })
    expect(layers[0]?.settings.hooks).toEqual({ Stop: [] })
    expect(diagnostics).toEqual([
      {
        severity: 'warning',
        code: 'settings-key-unknown',
        message: '"model", "theme" mean nothing here and are not honoured.',
        file: at(FILES.user),
        line: 2,
        column: 12,
      },
      expect.objectContaining({
        message: '"permissions.alow" means nothing here and is not honoured.',
        line: 6,
      }),
    ])
  })

  it('reads every field that it knows', async () => {
    write(FILES.user, {
      permissions: {
        ...{ allow: ['Bash(ls:*)'], deny: 'Read(.env)', ask: ['Edit'] },
        ...{ defaultMode: 'plan', additionalDirectories: ['~/x'], disableBypassPermissionsMode: 'disable' },
      },
      env: { A: 'x', B: 1, C: true },
      statusLine: { type: 'command', command: 'date', padding: 0, more: 1 },
      mcpServers: { a: { command: 'b' } },
    })
    const { layers, diagnostics } = await readSettings(places)
    expect(diagnostics).toEqual([])
    expect(layers[0]?.settings).toMatchObject({
      permissions: {
        allow: [{ text: 'Bash(ls:*)', line: 4 }],
        deny: [{ text: 'Read(.env)', line: 6 }],
        ask: [{ text: 'Edit', line: 8 }],
        defaultMode: 'plan',
        additionalDirectories: ['~/x'],
        isBypassDisabled: true,
      },
      env: { A: 'x', B: '1', C: 'true' },
      statusLine: { type: 'command', command: 'date', padding: 0, more: 1 },
      mcpServers: { a: { command: 'b' } },
    })
  })

  it.each([
    ['{\n  "permissions": {\n    "deny": ["Bash",]\n  }\n}', 3, 'there is a comma before ]'],
    ['{\n  // mine\n}', 2, 'it has a comment'],
    ['[]', 1, 'it must be a JSON object'],
    ['{"a": 1', 1, 'it ends where'],
  ])('tells file and line of a broken file, and throws nothing: %j', async (text, line, problem) => {
    write(FILES.user, text)
    const { layers, diagnostics } = await readSettings(places)
    expect(diagnostics).toEqual([
      expect.objectContaining({ severity: 'error', code: 'settings-unreadable', file: at(FILES.user), line }),
    ])
    expect(diagnostics[0]?.message).toContain(problem)
    expect(permissionRulesOf(layers, { isTrusted: true }).deny).toEqual([])
  })

  it.each([
    [{ permissions: [] }, '"permissions" is not in force', 2],
    [
      { permissions: { deny: { a: 1 } } },
      '"permissions.deny" is not in force: it must be a list of texts',
      3,
    ],
    [{ permissions: { allow: ['Bash', 7] } }, 'Entry 2 of "permissions.allow" is not in force', 5],
    [{ permissions: { defaultMode: 'bubble' } }, '"permissions.defaultMode" is not in force', 3],
    [{ env: 'A=b' }, '"env" is not in force', 2],
    [{ env: { 'A B': 'x' } }, 'The variable "A B" of "env" is not set: its name', 3],
    [{ env: { A: null } }, 'The variable "A" of "env" is not set: its value', 3],
    [{ statusLine: { type: 'command' } }, '"statusLine" is not in force', 2],
    [{ mcpServers: [] }, '"mcpServers" is not in force', 2],
  ])(
    'tells the line of a field that cannot be read, and the others hold: %j',
    async (value, message, line) => {
      write(FILES.user, { ...value, ...('permissions' in value ? {} : { permissions: { ask: ['Bash'] } }) })
      const { layers, diagnostics } = await readSettings(places)
      expect(diagnostics).toEqual([expect.objectContaining({ code: 'settings-field-unreadable', line })])
      expect(diagnostics[0]?.message).toContain(message)
      if (!('permissions' in value)) expect(layers[0]?.settings.permissions.ask).toHaveLength(1)
    },
  )

  it('tells a key that stands twice', async () => {
    write(FILES.user, '{"permissions": {"deny": ["Bash"]},\n"permissions": {}}')
    const { diagnostics } = await readSettings(places)
    expect(diagnostics).toEqual([expect.objectContaining({ code: 'settings-key-repeated', line: 2 })])
  })

  it('follows no link of a project out of it', async () => {
    write('home/secret.json', { permissions: { allow: ['Bash'] } })
    symlinkSync(at('home/secret.json'), at(FILES.project))
    const { layers, diagnostics } = await readSettings(places)
    expect(diagnostics).toEqual([
      expect.objectContaining({ code: 'settings-outside', file: at(FILES.project) }),
    ])
    expect(permissionRulesOf(layers, { isTrusted: true }).allow).toEqual([])
  })

  it('takes a file or a text from flags, and tells that there is no such file', async () => {
    write('project/sub/mine.json', { permissions: { ask: ['Bash'] } })
    const { layers } = await readSettings({ ...places, flags: 'mine.json' })
    expect(layers).toEqual([expect.objectContaining({ source: 'flags', file: at('project/sub/mine.json') })])
    const { diagnostics } = await readSettings({ ...places, flags: 'other.json' })
    expect(diagnostics).toEqual([expect.objectContaining({ severity: 'error', code: 'settings-unreadable' })])
  })
})

describe('what settings say about permissions', () => {
  const read = async (isTrusted: boolean) =>
    permissionRulesOf((await readSettings(places)).layers, { isTrusted, home: at('home') })

  it('names the file of each rule, also in a decision', async () => {
    write(FILES.project, { permissions: { deny: ['Edit(/secret/**)'] } })
    const { deny } = await read(false)
    expect(deny).toEqual([expect.objectContaining({ source: at(FILES.project), root: at('project') })])
    const call = {
      toolName: 'Write',
      subject: at('project/secret/x'),
      cwd: places.cwd,
      isReadOnly: false,
      isInsideCwd: true,
    }
    const decision = decide(call, { mode: 'bypassPermissions', allow: [], deny, ceilings: [] })
    expect(decision.reason).toBe(`the deny rule Edit(/secret/**) (${at(FILES.project)}) forbids it`)
  })

  it('hears of a project that nobody trusts what narrows, and nothing that widens', async () => {
    const permissions = {
      allow: ['Bash', 'Read'],
      deny: ['Edit'],
      ask: ['Write'],
      defaultMode: 'bypassPermissions',
    }
    write(FILES.project, {
      permissions: { ...permissions, additionalDirectories: ['/'] },
      env: { PATH: '/x' },
    })
    write(FILES.local, { permissions: { allow: ['Bash'] } })
    write(FILES.user, { permissions: { allow: ['Grep'] }, env: { A: '1' } })
    const distrusted = await read(false)
    expect(distrusted.allow.map(({ text }) => text)).toEqual(['Grep'])
    expect(distrusted.deny.map(({ text }) => text)).toEqual(['Edit'])
    expect(distrusted.ask.map(({ text }) => text)).toEqual(['Write'])
    expect(distrusted.defaultMode).toBeUndefined()
    expect(distrusted.additionalDirectories).toEqual([])
    expect(distrusted.diagnostics.map(({ code, file, line }) => [code, file, line])).toEqual([
      ['project-not-trusted', at(FILES.local), 4],
      ['project-not-trusted', at(FILES.project), 4],
    ])
    expect(distrusted.diagnostics[1]?.message).toMatch(
      /^Its 2 allow rules, its further folders, its environment variables, its mode "bypassPermissions" have no force: the project is not trusted\./,
    )
    expect(distrusted.diagnostics[0]?.message).toMatch(/^Its allow rule has no force/)
    const trusted = await read(true)
    expect(trusted.allow.map(({ text }) => text)).toEqual(['Bash', 'Bash', 'Read', 'Grep'])
    expect(trusted).toMatchObject({
      defaultMode: 'bypassPermissions',
      additionalDirectories: ['/'],
      diagnostics: [],
    })
    const { layers } = await readSettings(places)
    expect(environmentOf(layers, { isTrusted: false })).toEqual({ A: '1' })
    expect(environmentOf(layers, { isTrusted: true })).toEqual({ A: '1', PATH: '/x' })
  })

  it.each([
    // local, user, trusted, the mode
    ['plan', 'acceptEdits', false, 'plan'],
    ['plan', undefined, false, 'plan'],
    ['acceptEdits', 'plan', false, 'plan'],
    ['acceptEdits', undefined, false, undefined],
    ['acceptEdits', 'default', true, 'acceptEdits'],
    [undefined, 'auto', false, 'auto'],
  ])(
    'of a project in %s and a person in %s, trusted %s, is in mode %s',
    async (local, user, isTrusted, mode) => {
      write(FILES.local, { permissions: { defaultMode: local } })
      write(FILES.user, { permissions: { defaultMode: user } })
      expect((await read(isTrusted)).defaultMode).toBe(mode)
    },
  )

  it('lets policy name the mode before all others, and disable bypassing for all', async () => {
    write(FILES.user, { permissions: { defaultMode: 'bypassPermissions' } })
    write('policy/settings.json', { permissions: { disableBypassPermissionsMode: 'disable' } })
    const disabled = await read(true)
    expect(disabled).toMatchObject({ defaultMode: 'default', isBypassDisabled: true })
    expect(disabled.diagnostics).toEqual([
      expect.objectContaining({ code: 'settings-not-honoured', file: at(FILES.user) }),
    ])
    write(FILES.policy, { permissions: { defaultMode: 'dontAsk' } })
    expect(await read(true)).toMatchObject({ defaultMode: 'dontAsk', diagnostics: [] })
  })

  it('lets nobody bypass permissions under a policy that cannot be read', async () => {
    write(FILES.policy, '{')
    expect((await read(true)).isBypassDisabled).toBe(true)
    write(FILES.policy, { permissions: { disableBypassPermissionsMode: 7 } })
    expect((await read(true)).isBypassDisabled).toBe(true)
    write(FILES.policy, {})
    expect((await read(true)).isBypassDisabled).toBe(false)
  })

  it('tells the line of a rule that cannot be honoured', async () => {
    write(FILES.user, { permissions: { deny: ['Read', 'Bash(rm'], allow: ['Bash(a && b)'] } })
    const { deny, diagnostics } = await read(true)
    expect(deny.map(({ text }) => text)).toEqual(['Read', 'Bash'])
    expect(diagnostics.map(({ code, line, severity }) => [code, line, severity])).toEqual([
      ['rule-not-as-written', 8, 'warning'],
      ['rule-unreadable', 5, 'error'],
    ])
  })

  it("reads further folders from the file's own, and ~ as home", async () => {
    write(FILES.user, { permissions: { additionalDirectories: ['~/x', '/y', 'z', '~/x'] } })
    expect((await read(false)).additionalDirectories).toEqual([at('home/x'), '/y', at('home/.claude/z')])
  })
})

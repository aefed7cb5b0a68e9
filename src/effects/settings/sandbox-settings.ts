/**
 * What settings say about the sandbox, put together.
 *
 *   B1  The strongest file of the person or a policy that says so switches it on or off.
 *   B2  A project, trusted or not, may only narrow: it can switch the sandbox on and forbid more. What it allows, and
 *       `enabled: false`, have no force, and that is told. Its folder holds both of its files, so both are the project's.
 *   B3  What forbids is added up over all files. So is what allows, over those of the person and a policy.
 *   B4  A file that cannot be read here may have forbidden anything: the sandbox is wanted, and cannot be had.
 */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { SandboxOptions, SandboxPlan } from '../../definitions/sandbox/options.ts'
import type { SettingsDiagnostic } from './diagnostic.ts'
import { withHome } from './permission-rules.ts'
import { isOfProject, type SettingsLayer } from './read-settings.ts'

/** Puts the layers together, the strongest first as `readSettings` gives them. Pure but for `home`'s default. */
export function sandboxSettingsOf(
  layers: readonly SettingsLayer[],
  { home = homedir() }: { readonly home?: string } = {},
): { readonly sandbox: SandboxPlan | undefined; readonly diagnostics: readonly SettingsDiagnostic[] } {
  const said = layers.flatMap((layer): readonly Said[] => {
    const { sandbox } = layer.settings
    return sandbox === undefined ? [] : [{ layer, isProjects: isOfProject(layer.source), sandbox }]
  })
  const own = said.filter(({ isProjects }) => !isProjects)
  const decides = own.find(({ sandbox }) => 'problem' in sandbox || sandbox.enabled !== undefined)
  const wanting = said.filter(({ sandbox }) => 'problem' in sandbox || sandbox.enabled === true)
  const by = wanting.filter((each) => each.isProjects || each === decides)
  const diagnostics = said.flatMap(withoutForce)
  if (by.length === 0) return { sandbox: undefined, diagnostics }

  const gather = (from: readonly Said[], of: (options: SandboxOptions) => readonly string[] | undefined) => [
    ...new Set(from.flatMap(({ sandbox }) => ('problem' in sandbox ? [] : (of(sandbox) ?? [])))),
  ]
  const gatherPaths = (from: readonly Said[], of: Parameters<typeof gather>[1]) => [
    ...new Set(
      from.flatMap((each) =>
        gather([each], of).map((path) => resolve(each.layer.folder, withHome(path, home))),
      ),
    ),
  ]
  const [problem] = said.flatMap(({ sandbox }) => ('problem' in sandbox ? [sandbox.problem] : []))
  return {
    sandbox: {
      wantedBy: by.map(({ layer }) => layer.file),
      allowedDomains: gather(own, ({ network }) => network?.allowedDomains),
      deniedDomains: gather(said, ({ network }) => network?.deniedDomains),
      allowWrite: gatherPaths(own, ({ filesystem }) => filesystem?.allowWrite),
      denyWrite: gatherPaths(said, ({ filesystem }) => filesystem?.denyWrite),
      denyRead: gatherPaths(said, ({ filesystem }) => filesystem?.denyRead),
      ...(problem !== undefined && { problem }),
    },
    diagnostics,
  }
}

interface Said {
  readonly layer: SettingsLayer
  readonly isProjects: boolean
  readonly sandbox: NonNullable<SettingsLayer['settings']['sandbox']>
}

/** What of a project's word is not heard (B2). */
function withoutForce({ layer, isProjects, sandbox }: Said): readonly SettingsDiagnostic[] {
  if (!isProjects || 'problem' in sandbox) return []
  const { enabled, network, filesystem } = sandbox
  const lost = [
    ...(enabled === false ? ['`enabled: false`'] : []),
    ...(network?.allowedDomains === undefined ? [] : ['`network.allowedDomains`']),
    ...(filesystem?.allowWrite === undefined ? [] : ['`filesystem.allowWrite`']),
  ]
  if (lost.length === 0) return []
  const line = layer.settings.lineOf('sandbox')
  return [
    {
      severity: 'warning',
      code: 'settings-not-honoured',
      message: `What it says of the sandbox with ${lost.join(', ')} has no force here: a project may only narrow it. Put it into your own settings.`,
      file: layer.file,
      ...(line !== undefined && { line }),
    },
  ]
}

/**
 * What settings say about worktrees, put together: the strongest file has the last word on each key.
 *
 *   A project that nobody trusts may have less checked out (`sparsePaths`) and more kept (`keepIgnored`), or have nothing
 *   made (`uncommitted: "refuse"`). It may not open a person's own folders to an agent that is to work apart
 *   (`symlinkDirectories`), nor take back what the person has set.
 */
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import type { SettingsDiagnostic } from './diagnostic.ts'
import { isOfProject, type SettingsLayer } from './read-settings.ts'

/** Puts the layers together, the strongest first as `readSettings` gives them. Pure. */
export function worktreeSettingsOf(
  layers: readonly SettingsLayer[],
  { isTrusted }: { readonly isTrusted: boolean },
): { readonly options: WorktreeOptions; readonly diagnostics: readonly SettingsDiagnostic[] } {
  const diagnostics: SettingsDiagnostic[] = []
  const heard = layers.map((layer): WorktreeOptions => {
    const { worktree = {} } = layer.settings
    if (isTrusted || !isOfProject(layer.source)) return worktree
    const { symlinkDirectories, keepIgnored, uncommitted, ...harmless } = worktree
    const lost = [
      ...(symlinkDirectories === undefined ? [] : ['`symlinkDirectories`']),
      ...(keepIgnored === false ? ['`keepIgnored: false`'] : []),
      ...(uncommitted === undefined || uncommitted === 'refuse' ? [] : [`\`uncommitted: "${uncommitted}"\``]),
    ]
    if (lost.length > 0)
      diagnostics.push({
        severity: 'warning',
        code: 'project-not-trusted',
        message: `What it says of worktrees with ${lost.join(', ')} has no force: the project is not trusted. Look at what it would share; then trust the project (--trust-project), or put it into your own settings.`,
        file: layer.file,
      })
    return {
      ...harmless,
      ...(keepIgnored === true && { keepIgnored }),
      ...(uncommitted === 'refuse' && { uncommitted }),
    }
  })
  return { options: Object.assign({}, ...heard.toReversed()), diagnostics }
}

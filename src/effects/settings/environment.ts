/** The variables that settings give to commands. */
import { isOfProject, type SettingsLayer } from './read-settings.ts'

/**
 * The variables of all files, those of stronger ones winning. A project that nobody trusts sets none: a variable
 * such as `PATH` or `GIT_SSH_COMMAND` decides what runs.
 */
export function environmentOf(
  layers: readonly SettingsLayer[],
  { isTrusted }: { readonly isTrusted: boolean },
): Readonly<Record<string, string>> {
  const heard = layers.filter(({ source }) => isTrusted || !isOfProject(source))
  return Object.assign({}, ...heard.toReversed().map(({ settings }) => settings.env))
}

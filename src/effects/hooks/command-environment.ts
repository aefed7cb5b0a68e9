/** The environment of command hooks. */
import type { HookSource } from '../../definitions/hooks/scoped-hook.ts'

/** What command hooks get to see of where they are. */
export interface HookEnvironment {
  /** What they inherit. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Names that they do not inherit: secrets. */
  readonly withheldEnv: readonly string[]
  /** Folder of the project, absolute: `TROUPE_PROJECT_DIR`, and `CLAUDE_PROJECT_DIR` as hooks for Claude Code have it. */
  readonly projectDir: string
}

/** The variables of a command hook. A plugin's hook is also told where the plugin is. */
export function commandEnvironment(
  { env, withheldEnv, projectDir }: HookEnvironment,
  source: HookSource,
): Readonly<Record<string, string>> {
  const inherited = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || withheldEnv.includes(name) ? [] : [[name, value] as const],
  )
  return {
    ...Object.fromEntries(inherited),
    CLAUDE_PROJECT_DIR: projectDir,
    TROUPE_PROJECT_DIR: projectDir,
    ...(source.kind === 'plugin' && { CLAUDE_PLUGIN_ROOT: source.root, TROUPE_PLUGIN_ROOT: source.root }),
  }
}

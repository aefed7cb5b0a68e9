/** Puts environment variables into the description of a server: `${NAME}`, `${NAME:-default}`. */
import { McpServerConfig } from '../../definitions/mcp-server-config.ts'

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What came of it. Messages hold names of variables and keys, never their values: those may be secrets. */
export type ExpandedConfig =
  | {
      readonly kind: 'expanded'
      readonly config: McpServerConfig
      /** Variables without a value and without a default. They stay in the text as they were written. */
      readonly missing: readonly string[]
    }
  | { readonly kind: 'broken'; readonly problem: string; readonly missing: readonly string[] }

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g
/** What a header's value may be made of: anything else makes every request fail. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Expands `command`, `args`, `env`, `cwd`, `url` and `headers`. An unset or empty variable takes its default. */
export function expandMcpServerConfig(config: McpServerConfig, environment: Environment): ExpandedConfig {
  const missing = new Set<string>()
  const text = (written: string): string =>
    written.replace(VARIABLE, (whole, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined
      if (value !== undefined && (value !== '' || fallback === undefined)) return value
      if (fallback === undefined) missing.add(name)
      return fallback ?? whole
    })
  const texts = (written: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(written).map(([key, value]) => [key, text(value)]))

  const expanded: McpServerConfig =
    config.type === 'stdio'
      ? {
          ...config,
          command: text(config.command),
          args: config.args.map(text),
          env: texts(config.env),
          ...(config.cwd !== undefined && { cwd: text(config.cwd) }),
        }
      : { ...config, url: text(config.url), headers: texts(config.headers) }
  const problem = problemOf(expanded)
  return problem === undefined
    ? { kind: 'expanded', config: expanded, missing: [...missing] }
    : { kind: 'broken', problem, missing: [...missing] }
}

function problemOf(config: McpServerConfig): string | undefined {
  if (config.type === 'stdio') return config.command.trim() === '' ? '`command` is empty' : undefined
  if (config.url.includes('${') || !McpServerConfig.safeParse(config).success) {
    return '`url` is no http or https address once its variables are put in'
  }
  const bad = Object.entries(config.headers).find(
    ([name, value]) => !HEADER_NAME.test(name) || !HEADER_VALUE.test(value.trim()),
  )
  return (
    bad &&
    `the header ${JSON.stringify(bad[0])} cannot be sent: its name or value has characters that HTTP forbids`
  )
}

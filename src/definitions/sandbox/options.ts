/** What a host or a person sets about the sandbox of the operating system, in which agents' commands run. */
import * as z from 'zod'

const LABEL = '[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?'
const PORT = '(?::\\d{1,5})?'
/** A wildcard needs two names behind it: `*.com` would be everybody. */
const ALLOWED = new RegExp(`^(?:\\*\\.${LABEL}\\.)?${LABEL}(?:\\.${LABEL})*${PORT}$`, 'iu')
const DENIED = new RegExp(`^(?:\\*${PORT}|(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*${PORT})$`, 'iu')

const domain = (pattern: RegExp) =>
  z
    .string()
    .max(253)
    .regex(pattern, 'it must be a domain, such as example.org, *.example.org or example.org:443')

const Path = z
  .string()
  .min(1)
  .refine((path) => !path.includes('\0'), 'it must be a path')

/** Of what is written nothing is searched for: it must be the path itself. */
const PlainPath = Path.refine(
  (path) => !/[*?[\]{}]/u.test(path),
  'it must be the path of a file or folder; patterns (* ? [ ] { }) are not understood here',
)

/**
 * The `sandbox` object of the engine's options. Of settings, too, with unknown keys told and left out. Paths are absolute,
 * begin with `~/`, or are relative: to the working directory in options, to the file's folder in settings.
 */
export const SandboxOptions = z.object({
  /** In settings it is off unless this is true. */
  enabled: z.boolean().optional(),
  network: z
    .object({
      /** Where commands may connect to, through a proxy. Default: nowhere. */
      allowedDomains: z.array(domain(ALLOWED)).optional(),
      /** Stronger than what is allowed. */
      deniedDomains: z.array(domain(DENIED)).optional(),
    })
    .optional(),
  filesystem: z
    .object({
      /** Where commands may write besides their agent's working directories. */
      allowWrite: z.array(PlainPath).optional(),
      /** Stronger than what is allowed. */
      denyWrite: z.array(PlainPath).optional(),
      /** What commands cannot read. May be a pattern, such as `~/secrets/*.pem`. Default: they read everything. */
      denyRead: z.array(Path).optional(),
    })
    .optional(),
})
export type SandboxOptions = z.infer<typeof SandboxOptions>

/** Paths of keys that mean nothing here, of a value that is otherwise a {@link SandboxOptions}. */
export function unknownSandboxKeys(value: object): readonly (readonly string[])[] {
  const { shape } = SandboxOptions
  const parts = { network: shape.network.unwrap().shape, filesystem: shape.filesystem.unwrap().shape }
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    if (key === 'network' || key === 'filesystem')
      return Object.keys(Object(inner))
        .filter((name) => !Object.hasOwn(parts[key], name))
        .map((name) => [key, name])
    return Object.hasOwn(shape, key) ? [] : [[key]]
  })
}

/** A sandbox that is in force: all that was set, put together. Paths are absolute. */
export interface SandboxPlan {
  /** Who wants it: files, or the host. For errors. */
  readonly wantedBy: readonly string[]
  readonly allowedDomains: readonly string[]
  readonly deniedDomains: readonly string[]
  readonly allowWrite: readonly string[]
  readonly denyWrite: readonly string[]
  readonly denyRead: readonly string[]
  /** What somebody wants and cannot be read: it may have forbidden anything, so no command can be run. */
  readonly problem?: string
}

/** Both together: whoever wants one gets it, and everybody's word holds. */
export function bothSandboxes(
  a: SandboxPlan | undefined,
  b: SandboxPlan | undefined,
): SandboxPlan | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const problem = a.problem ?? b.problem
  return {
    wantedBy: [...a.wantedBy, ...b.wantedBy],
    allowedDomains: union(a.allowedDomains, b.allowedDomains),
    deniedDomains: union(a.deniedDomains, b.deniedDomains),
    allowWrite: union(a.allowWrite, b.allowWrite),
    denyWrite: union(a.denyWrite, b.denyWrite),
    denyRead: union(a.denyRead, b.denyRead),
    ...(problem !== undefined && { problem }),
  }
}

const union = (a: readonly string[], b: readonly string[]): readonly string[] => [...new Set([...a, ...b])]

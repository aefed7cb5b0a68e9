/** What one run of the benchmarks was asked for. */
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'

export interface Settings {
  /** Small numbers, to see that everything still works; the figures mean nothing. */
  readonly quick: boolean
  /** Folder for logs; with `fsync` its file system is what is measured. */
  readonly folder: string
  /** Scenarios to run; undefined: all. */
  readonly only: readonly string[] | undefined
  /** File for the figures. */
  readonly json: string | undefined
  /** Folder for CPU profiles of the measured processes. */
  readonly profiles: string | undefined
  /** Size of the longest log that is streamed, in megabytes. */
  readonly logMb: number
  /** Decides when the crash test kills. */
  readonly seed: number
}

export const USAGE = `npm run bench -- [options]

  --quick          a few seconds, to see that it works; the figures mean nothing
  --only a,b       some scenarios: calls, turns, events, replay, open, stream,
                   agents, decisions, memory, worktrees, children, crash
  --json FILE      writes all figures
  --folder DIR     where logs are written (default: the folder for temporary files)
  --seed N         when the crash test kills (default: by chance; printed)
  --log-mb N       size of the log that is streamed, in MB (default: 1,000)
  --profile DIR    writes a CPU profile of every measured process`

/** Reads the command line. Throws a `TypeError` for what it does not know. */
export function readSettings(args: readonly string[]): Settings | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      folder: { type: 'string', default: tmpdir() },
      seed: { type: 'string' },
      'log-mb': { type: 'string', default: '1000' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  return {
    quick: values.quick,
    folder: values.folder,
    only: values.only?.split(','),
    json: values.json,
    profiles: values.profile,
    logMb: sizeOf(values['log-mb']),
    seed: seedOf(values.seed),
  }
}

function sizeOf(text: string): number {
  const megabytes = Number(text)
  if (!(megabytes > 0)) throw new TypeError(`--log-mb must be a number above 0, not "${text}"`)
  return megabytes
}

function seedOf(text: string | undefined): number {
  if (text === undefined) return Math.floor(Math.random() * 2 ** 32)
  const seed = Number(text)
  if (!Number.isInteger(seed) || seed < 0) throw new TypeError(`--seed must be a whole number, not "${text}"`)
  return seed
}

/** `troupe replay FILE|ID`: the state that a log leads to, and whether the log can be true. */
import type { LogCheck, Violation } from '../journal/check/check-log.ts'
import type { CheckedLog } from '../journal/check/check-tree.ts'
import { checkTree } from '../journal/check/check-tree.ts'
import { EXIT, UsageError } from './errors.ts'
import { counted, formatCount, forTerminal, oneLine, toJson, tokensOf } from './format.ts'
import { type Host, homeOf } from './host.ts'
import type { Remark, SessionReader } from './session-reader.ts'
import { logsOfTarget } from './targets.ts'

export interface ReplayArguments {
  /** A log file, or the start of a session id. */
  readonly target: string
  /** Position in the log of the last line that counts. */
  readonly at: number | undefined
  readonly json: boolean
  /** Play it through the engine again. */
  readonly rerun: boolean
  readonly liveTools: boolean
}

/**
 * Writes the state of each log. Resolves with 1 when one is damaged or has an event that cannot follow; what a
 * kill leaves (a torn last line, half a reply) is neither.
 */
export async function replayCommand(args: ReplayArguments, host: Host): Promise<number> {
  const { target, at, json } = args
  const reader = await host.sessions(homeOf(host))
  const logs = await logsOfTarget(target, reader, host)
  // A position is one log's own: of a session it means the root's.
  const chosen = at === undefined ? logs : logs.slice(0, 1)
  if (chosen.length === 0) throw new UsageError(`${target} has no log; see troupe sessions`)
  if (args.rerun) return rerunLog(chosen[0] ?? target, args, host)
  let code: number = EXIT.success
  const named = chosen.map((path) => ({ path, entries: reader.read(path) }))
  for (const check of await checkTree(named, { until: at })) {
    if (!isSound(check)) code = EXIT.failure
    const { path, ...located } = await locate(check, reader)
    if (json) host.stdout.write(`${toJson({ log: path, sound: isSound(check), ...located })}\n`)
    else for (const line of report(path, located)) host.stdout.write(`${forTerminal(line)}\n`)
  }
  return code
}

/** Loaded when it is wanted: a plain replay needs no engine. */
async function rerunLog(log: string, { json, liveTools }: ReplayArguments, host: Host): Promise<number> {
  const { rerun } = await import('../engine/rerun/rerun.ts')
  const { createFileStorage } = await import('../journal/file-storage.ts')
  const { describeDiff } = await import('./diff-command.ts')
  const storage = createFileStorage({ durability: 'write' })
  const { diff, complaints } = await rerun(storage, log, { liveTools, cwd: host.cwd })
  if (json) host.stdout.write(`${toJson({ log, complaints, ...diff })}\n`)
  else {
    const lines = describeDiff(diff, host.stdout.columns ?? 160, { a: 'log', b: 'rerun' })
    for (const line of [...lines, ...complaints.map((complaint) => `  ${complaint}`)]) {
      host.stdout.write(`${forTerminal(line)}\n`)
    }
  }
  return diff.first === undefined ? EXIT.success : EXIT.failure
}

const isSound = ({ remarks, violation }: LogCheck): boolean =>
  violation === undefined && remarks.every(({ kind }) => kind !== 'damage')

/** A check whose places also have the numbers of their lines. */
type Located = Omit<CheckedLog, 'remarks' | 'violation'> & {
  readonly remarks: readonly (Remark & { readonly line: number })[]
  readonly violation: (Violation & { readonly line: number }) | undefined
}

async function locate(check: CheckedLog, reader: SessionReader): Promise<Located> {
  const withLine = async <T extends { readonly offset: number }>(
    place: T,
  ): Promise<T & { line: number }> => ({
    ...place,
    line: await reader.lineAt(check.path, place.offset),
  })
  const remarks: Located['remarks'][number][] = []
  for (const remark of check.remarks) remarks.push(await withLine(remark))
  return { ...check, remarks, violation: check.violation && (await withLine(check.violation)) }
}

function report(
  path: string,
  { events, position, agent, remarks, foreign, violation }: Omit<Located, 'path'>,
): string[] {
  const usage = agent.totalUsage === undefined ? 0 : tokensOf(agent.totalUsage)
  const open = agent.openCalls.map(({ callId, name, phase }) => `${name} ${callId} (${phase})`).join(', ')
  const outcome =
    agent.outcome === undefined || agent.outcome.kind === agent.phase ? '' : `, outcome ${agent.outcome.kind}`
  return [
    path,
    `  agent     ${agent.agentId ?? 'none'}${agent.agentType === undefined ? '' : ` (${oneLine(agent.agentType, 60)})`}`,
    `  events    ${events}, the last at position ${position}`,
    `  phase     ${agent.phase}${agent.isSuspended ? ', suspended' : ''}${outcome}`,
    `  run ${agent.run}     ${counted(agent.turns, 'turn')}, ${counted(agent.toolUses, 'tool call')}, ${formatCount(usage)} tokens`,
    `  open      ${open === '' ? 'no calls' : oneLine(open, 400)}`,
    ...(foreign === 0
      ? []
      : [`  foreign   ${counted(foreign, 'line')} of another program or version, skipped`]),
    ...remarks.map(
      ({ kind, line, offset, detail }) =>
        `  ${(kind === 'damage' ? 'DAMAGE' : kind).padEnd(9)} line ${line} (byte ${offset}): ${oneLine(detail, 200)}`,
    ),
    ...(violation === undefined
      ? []
      : [
          `  VIOLATION line ${violation.line} (position ${violation.seq}): ${oneLine(violation.reason, 300)}`,
        ]),
  ]
}

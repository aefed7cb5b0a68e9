/** `troupe diff A B`: two logs side by side, from where their stories part. */
import { createFileStorage } from '../journal/file-storage.ts'
import type { AgentDiff, Difference, LogDiff } from '../journal/replay/diff.ts'
import { diffLogs } from '../journal/replay/diff.ts'
import type { StoryStep } from '../journal/replay/steps.ts'
import { EXIT, UsageError } from './errors.ts'
import { displayWidth, forTerminal, oneLine, toJson } from './format.ts'
import { type Host, homeOf } from './host.ts'
import { logsOfTarget } from './targets.ts'

export interface DiffArguments {
  /** Log files, or starts of session ids. */
  readonly a: string
  readonly b: string
  readonly json: boolean
}

/** Columns of a comparison that goes to a file or a pipe. */
const PIPE_WIDTH = 160
/** Equal steps that are shown before the first difference. */
const LEAD = 3

/** Writes where two logs differ. Resolves with 1 when they do, as `diff` does. */
export async function diffCommand({ a, b, json }: DiffArguments, host: Host): Promise<number> {
  const reader = await host.sessions(homeOf(host))
  const [left] = await logsOfTarget(a, reader, host)
  const [right] = await logsOfTarget(b, reader, host)
  if (left === undefined || right === undefined) {
    throw new UsageError(`${left === undefined ? a : b} has no log; see troupe sessions`)
  }
  const storage = createFileStorage({ durability: 'write' })
  const diff = await diffLogs({ storage, path: left }, { storage, path: right })
  if (json) host.stdout.write(`${toJson(diff)}\n`)
  else
    for (const line of describeDiff(diff, host.stdout.columns ?? PIPE_WIDTH))
      host.stdout.write(`${forTerminal(line)}\n`)
  return diff.first === undefined ? EXIT.success : EXIT.failure
}

/** A comparison as lines for people. */
export function describeDiff(
  diff: LogDiff,
  width: number,
  names: { readonly a: string; readonly b: string } = { a: 'a', b: 'b' },
): string[] {
  const { first } = diff
  if (first === undefined) return [`no difference in ${countSteps(diff)} steps`]
  const agent = agentOf(diff, first) ?? diff
  const at = agent.rows.findIndex(({ same }) => !same)
  const rows = agent.rows.slice(Math.max(0, at - LEAD))
  const column = Math.max(20, Math.floor((width - 5) / 2))
  return [
    `${names.a}  ${first.a.path}`,
    `${names.b}  ${first.b.path}`,
    `first difference: ${place(names.a, first.a.step)}, ${place(names.b, first.b.step)}`,
    ...(at > LEAD ? [`  … ${at - LEAD} equal steps`] : []),
    ...rows.map(({ a, b, same }) => `${same ? ' ' : '≠'} ${cell(a, column)} │ ${cell(b, column).trimEnd()}`),
  ]
}

const place = (name: string, step: StoryStep | undefined): string =>
  step === undefined ? `${name} has ended` : `${name} ${step.kind} at position ${step.seq}`

function cell(step: StoryStep | undefined, width: number): string {
  const text = step === undefined ? '' : oneLine(`${step.seq} ${step.kind} ${step.text}`, width)
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** The two agents that differ, wherever they are in the tree. */
function agentOf(diff: AgentDiff, { a, b }: Difference): AgentDiff | undefined {
  if (diff.a === a.path && diff.b === b.path) return diff
  return diff.children.map((child) => agentOf(child, { a, b })).find((found) => found !== undefined)
}

const countSteps = ({ rows, children }: AgentDiff): number =>
  children.reduce((sum, child) => sum + countSteps(child), rows.length)

/**
 * What must be true of a session at its end, wherever its processes died: law 3, call by call, and what the other laws
 * say of logs. Every problem is told in words; none is thrown, so that one cell tells all that is wrong with it.
 */
import type { Final, SeenCall, SeenLog } from './final.ts'
import { cutAt } from './final.ts'
import { hasLostHooks, hookProblems } from './hooks.ts'
import { summaryOf } from './model.ts'
import type { BodyEntry } from './record.ts'
import type { Scenario } from './scenario.ts'
import { bodiesIn } from './tools.ts'

/** A kill, and what was on the disk then. */
export interface Crash {
  /** The process that died. */
  readonly life: number
  /** Bytes of each file. */
  readonly durable: ReadonlyMap<string, number>
}

/** What a crash left, as far as the end depends on it. */
interface Aftermath {
  readonly life: number
  /** Calls that have a start and no result, and whose rule is `interrupt`. */
  readonly inFlight: ReadonlySet<string>
  /** Requests whose replies are in a log, as `<prompt> <turn>`. */
  readonly answered: ReadonlySet<string>
}

/** The same session without a crash: its agents by the prompt that they were started with. */
export type Baseline = ReadonlyMap<string, SeenLog>

/** Tools that say nothing of a resume, so that nobody repeats them. */
const INTERRUPTED_TOOLS: ReadonlySet<string> = new Set(['Act', 'Bash'])

/** No line of a log is ever changed, so that its end shows what there was of it at any moment before. */
function aftermathOf({ life, durable }: Crash, final: readonly SeenLog[]): Aftermath {
  const logs = final.map((log) => cutAt(log, durable.get(log.path) ?? 0))
  const open = callsOf(logs).filter(
    ({ tool, hasStarted, outcomes }) => hasStarted && outcomes.length === 0 && INTERRUPTED_TOOLS.has(tool),
  )
  return { life, inFlight: new Set(open.map(({ key }) => key)), answered: new Set(logs.flatMap(repliesIn)) }
}

export const baselineOf = ({ logs }: Final): Baseline => new Map(logs.map((log) => [nameOf(log), log]))

/** Everything that is wrong. Without a baseline the session is held to its scenario alone: it is one itself. */
export function problemsOf(
  scenario: Scenario,
  final: Final,
  crashes: readonly Crash[] = [],
  baseline?: Baseline,
): readonly string[] {
  const aftermaths = crashes.map((crash) => aftermathOf(crash, final.logs))
  return [
    ...final.logs.flatMap(logProblems),
    ...runProblems(scenario, final.logs),
    ...callProblems(scenario, final.logs, aftermaths),
    ...childProblems(final.logs),
    ...deliveryProblems(final.logs),
    ...bodyProblems(final),
    ...hookProblems(final),
    ...requestProblems(final, aftermaths),
    ...(baseline === undefined ? [] : baselineProblems(scenario, final.logs, baseline)),
    ...(scenario.check?.(final) ?? []),
  ]
}

const callsOf = (logs: readonly SeenLog[]): readonly SeenCall[] => logs.flatMap(({ calls }) => calls)

/** The prompt that an agent was started with. */
const nameOf = ({ runs, agentId }: SeenLog): string => runs[0]?.prompt ?? agentId

function logProblems({ path, check, recorded, runs }: SeenLog): readonly string[] {
  const { violation, remarks } = check
  const switches = recorded.flatMap(({ event: { type } }) =>
    type === 'run.suspended' || type === 'run.resumed' ? [type] : [],
  )
  return [
    ...(violation === undefined
      ? []
      : [`${path}, line ${violation.seq + 1}, ${violation.type}: ${violation.law}: ${violation.reason}`]),
    ...remarks
      .filter(({ kind }) => kind === 'damage' || kind === 'foreign')
      .map(({ detail, offset }) => `${path}, byte ${offset}: ${detail}`),
    ...(switches.every((type, i) => type === (i % 2 === 0 ? 'run.suspended' : 'run.resumed')) &&
    switches.length % 2 === 0
      ? []
      : [`${path}: what was switched off must go on: ${switches.join()}`]),
    ...(runs.length === 0 ? [`${path}: its agent was never asked anything`] : []),
  ]
}

/** Every run has one end, the right one; every prompt is asked once, and none that nobody meant. */
function runProblems(
  { ends, mayBeAsked = [], sentToSeveral = [] }: Scenario,
  logs: readonly SeenLog[],
): readonly string[] {
  const runs = logs.flatMap((log) => log.runs)
  const problems = runs.flatMap(({ run, prompt, ends: found }) => {
    const allowed = listOf(ends[prompt] ?? [])
    const [end] = found
    const isRight = found.length === 1 && allowed.some((kind) => kind === end)
    return isRight
      ? []
      : [`run ${run}, "${prompt}", ends as [${found.join()}], not as ${allowed.join(' or ')}`]
  })
  // Of one that several may be asked, each of them once.
  const asked = logs
    .flatMap((log) => log.runs.map(({ prompt }) => prompt))
    .filter((prompt, i, all) => !sentToSeveral.includes(prompt) || all.indexOf(prompt) === i)
    .toSorted()
  const meant = Object.keys(ends)
    .filter((prompt) => !mayBeAsked.includes(prompt) || asked.includes(prompt))
    .toSorted()
  return asked.join('|') === meant.join('|')
    ? problems
    : [...problems, `asked were [${asked.join()}], meant were [${meant.join()}]`]
}

/** Every call has one result: the one that its rule and the scenario say. */
function callProblems(
  { outcomes = {} }: Scenario,
  logs: readonly SeenLog[],
  crashes: readonly Aftermath[],
): readonly string[] {
  return callsOf(logs).flatMap(({ key, label, outcomes: found }) => {
    const wasInFlight = crashes.some(({ inFlight }) => inFlight.has(key))
    const allowed = wasInFlight ? ['interrupted'] : listOf(outcomes[label] ?? 'ok')
    const isRight = found.length === 1 && allowed.some((outcome) => outcome === found[0])
    const why = wasInFlight ? ', as it was in flight at a crash' : ''
    return isRight ? [] : [`${label} (${key}) is told [${found.join()}], not ${allowed.join(' or ')}${why}`]
  })
}

/** Every child was named by a call before it was born, and the result of that call says how it ended. */
function childProblems(logs: readonly SeenLog[]): readonly string[] {
  const calls = callsOf(logs)
  const problems: string[] = []
  for (const { isRoot, agentId, runs, states } of logs) {
    if (isRoot) continue
    const parents = calls.filter(({ child }) => child === agentId)
    if (parents.length !== 1 || parents[0]?.callId !== states[0]?.birth?.parent?.callId)
      problems.push(`child ${agentId} is named by ${parents.length} calls, or by another than its own`)
    for (const { run, ends } of runs) {
      const delivery = calls.find(
        ({ child, delivered }) => child === agentId && delivered.includes(`${agentId} ${run}`),
      )
      const isGood = ends[0] !== 'failed' && ends[0] !== 'killed'
      if (
        delivery !== undefined &&
        delivery.outcomes[0] !== (isGood ? 'ok' : ends[0] === 'killed' ? 'interrupted' : 'error')
      )
        problems.push(`child ${agentId} is ${ends[0]}, and its parent is told ${delivery.outcomes[0]}`)
    }
  }
  return problems
}

/**
 * Every end is told once, in whatever log and way; and nothing else is. One that an agent in the background of a killed
 * run came to is still owed to the killed one: nobody above asked for it.
 */
export function deliveryProblems(logs: readonly SeenLog[]): readonly string[] {
  const told = logs.flatMap(({ calls, notices }) => [
    ...notices,
    ...calls.flatMap(({ delivered }) => delivered),
  ])
  const owed = logs.flatMap(({ owed: keys, runs, isRoot, path }) =>
    keys.map((key) => ({ key, isOfKilled: runs.at(-1)?.ends[0] === 'killed', isRoot, path })),
  )
  const runs = logs.flatMap(({ isRoot, agentId, runs: own }) =>
    isRoot ? [] : own.map(({ run }) => `${agentId} ${run}`),
  )
  return [
    ...runs.flatMap((key) => {
      const times = told.filter((each) => each === key).length
      const isOwed = owed.some((each) => each.key === key && each.isOfKilled)
      return times === 1 || (times === 0 && isOwed) ? [] : [`the end of ${key} is told ${times} times`]
    }),
    ...told
      .filter((key) => !runs.includes(key))
      .map((key) => `the end of ${key} is told, which there is not`),
    ...owed
      .filter(({ isOfKilled }) => !isOfKilled)
      .map(({ key, path }) => `${path}: its agent is owed the end of ${key} and never told`),
  ]
}

/** No body that must not be repeated was; nothing was done twice; what is told as done was done. */
function bodyProblems({ logs, entries }: Final): readonly string[] {
  const begun = byLabel(bodiesIn({ entries }, 'begun'))
  const done = byLabel(bodiesIn({ entries }, 'done'))
  const calls = new Map(callsOf(logs).map((call) => [call.label, call]))
  const problems: string[] = []
  for (const [label, bodies] of begun) {
    const call = calls.get(label)
    const times = done.get(label)?.length ?? 0
    if (call === undefined) problems.push(`${label} ran, and no log asks for it`)
    if (INTERRUPTED_TOOLS.has(call?.tool ?? '') && bodies.length > 1)
      problems.push(`${label} ran ${bodies.length} times`)
    if (call?.tool !== 'Look' && times > 1) problems.push(`${label} was done ${times} times`)
    if (new Set(bodies.map(({ key }) => key)).size > 1) problems.push(`${label} ran under several keys`)
    if (new Set(bodies.map(({ life }) => life)).size < bodies.length)
      problems.push(`${label} ran twice in one process`)
    if (call?.tool === 'Put' && bodies.slice(1).some(({ isRepeat }) => !isRepeat))
      problems.push(`${label} was repeated and not told so`)
    if (call?.outcomes[0] === 'denied') problems.push(`${label} was denied, and ran`)
  }
  for (const { label, tool, outcomes } of calls.values()) {
    const isOurs = ['Look', 'Put', 'Act'].includes(tool)
    if (isOurs && outcomes[0] === 'ok' && !done.has(label))
      problems.push(`${label} is told as ok, and was not done`)
  }
  return problems
}

function byLabel(bodies: readonly BodyEntry[]): ReadonlyMap<string, readonly BodyEntry[]> {
  const groups = new Map<string, BodyEntry[]>()
  for (const body of bodies) {
    const label = `${body.tool} ${body.id}`
    groups.set(label, [...(groups.get(label) ?? []), body])
  }
  return groups
}

/** Every request is valid, and none is made again whose reply a log has. */
function requestProblems({ entries }: Final, crashes: readonly Aftermath[]): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'request') return []
    const { who, turn, life, violations } = entry
    const request = `${who} ${turn}`
    const known = crashes.some((crash) => crash.life < life && crash.answered.has(request))
    return [
      ...violations.map((violation) => `the request ${request} is not valid: ${violation}`),
      ...(known ? [`process ${life} asks ${request} again, whose reply is in the log`] : []),
    ]
  })
}

/**
 * Each agent has made the same calls; and whoever was told the same as without a crash has had the same conversation.
 * What a killed one came to is a matter of the moment.
 */
function baselineProblems(
  { isInBackground }: Scenario,
  logs: readonly SeenLog[],
  baseline: Baseline,
): readonly string[] {
  // What a hook would have said, and what a child is refused, is told to parents, too.
  const hasLost = logs.some(hasLostHooks)
  return logs.flatMap((log) => {
    const name = nameOf(log)
    const before = baseline.get(name)
    if (before === undefined) return [`nobody was asked "${name}" without a crash`]
    if ([log, before].some(({ runs }) => runs.some(({ ends }) => ends.includes('killed')))) return []
    const labels = log.calls.map(({ label }) => label).join()
    const meant = before.calls.map(({ label }) => label).join()
    if (labels !== meant) return [`"${name}" made [${labels}], without a crash [${meant}]`]
    if (isInBackground === true) return []
    const isTouched =
      hasLost ||
      log.calls.some(
        ({ outcomes }, i) =>
          outcomes.includes('interrupted') || outcomes.join() !== before.calls[i]?.outcomes.join(),
      )
    return isTouched || log.conversation === before.conversation
      ? []
      : [`"${name}" had another conversation: ${whereTheyPart(log.conversation, before.conversation)}`]
  })
}

/** A little of both texts from shortly before the first character in which they differ. */
function whereTheyPart(found: string, expected: string): string {
  const at = [...found].findIndex((character, i) => character !== expected[i])
  const from = Math.max(0, (at < 0 ? found.length : at) - 60)
  return `…${found.slice(from, from + 120)}… and not …${expected.slice(from, from + 120)}…`
}

/** The replies and summaries of a log, as `<prompt> <turn>`. */
function repliesIn({ recorded }: SeenLog): readonly string[] {
  let prompt = ''
  let turn = 0
  /** Where the last reply leaves the conversation: a prompt behind it is not summed up. */
  let spoken = { prompt, turn }
  return recorded.flatMap(({ event }) => {
    if (event.type === 'run.started') {
      prompt = String(event.content)
      turn = 0
    }
    if (event.type === 'conversation.compacted') return [`${summaryOf(spoken.prompt)} ${spoken.turn}`]
    if (event.type !== 'reply.received') return []
    const reply = `${prompt} ${turn++}`
    spoken = { prompt, turn }
    return [reply]
  })
}

const listOf = <T extends string>(value: T | readonly T[]): readonly T[] =>
  typeof value === 'string' ? [value] : value

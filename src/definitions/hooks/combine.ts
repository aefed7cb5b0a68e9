/**
 * Makes one decision of what several hooks of one event said.
 *
 * C1 The order in which hooks finished does not matter: texts stand in the order of the hooks' places.
 * C2 Deny is stronger than ask, ask than allow. Nothing that another hook says takes a deny or a block back.
 * C3 On a tool call a hook that is lost or was aborted counts as `ask`: it may have wanted to say no. One that
 *    failed changes nothing.
 * C4 A changed input is in force only if all hooks that change it change it alike. If they do not, none is applied
 *    and the verdict is at least `ask`: neither the last nor any other of them is what all of them wanted.
 * C5 `allow` speaks of the input that its hook saw or made. If another hook's change is in force, it does not count.
 * C6 Where the call is denied there is no changed input.
 */
import type { HookEvent } from '../hook-declaration.ts'
import { decidesPermission } from './event-traits.ts'
import type { HookAnswer, HookFault, HookOutcome, HookProblem, HookVerdict } from './hook-outcome.ts'

/** One hook's part. */
export interface HookContribution {
  /** Its place among the hooks of the event: unique. */
  readonly place: number
  /** Who speaks, see `hookLabel`. */
  readonly label: string
  readonly outcome: HookOutcome
}

/** A text and the hook that it is from. It is no envelope yet: whoever shows it to a model puts it into one. */
export interface HookText {
  readonly hook: string
  readonly text: string
}

/** What the hooks of one event come to. */
export interface HookDecision {
  /** `none`: the event takes its usual course. `block` where nothing is permitted or denied. */
  readonly verdict: 'none' | HookVerdict['kind']
  /** Why, from each hook of that verdict that gave a reason. */
  readonly reasons: readonly HookText[]
  /** The run is to end here, whatever the verdict. */
  readonly stop?: { readonly reasons: readonly HookText[] }
  /** The call's input from here on; permissions are decided on this one. */
  readonly updatedInput?: Readonly<Record<string, unknown>>
  readonly worktreePath?: string
  /** For the agent. */
  readonly contexts: readonly HookText[]
  /** For the person. */
  readonly notices: readonly HookText[]
  /** What is not honoured, by hook. */
  readonly problems: readonly (HookProblem & { readonly hook: string })[]
  /** Hooks that went wrong. They have no say. */
  readonly faults: readonly (HookFault & { readonly hook: string })[]
}

interface Speaker {
  readonly label: string
  readonly answer: HookAnswer
  readonly problems: readonly HookProblem[]
}

const STRENGTH: Readonly<Record<HookDecision['verdict'], number>> = {
  none: 0,
  allow: 1,
  ask: 2,
  deny: 3,
  block: 3,
}

/** The decision of all hooks of an event. Depends on nothing but the set of contributions. */
export function combine(event: HookEvent, contributions: readonly HookContribution[]): HookDecision {
  const inPlace = contributions.toSorted((left, right) => left.place - right.place)
  const speakers = inPlace.map(({ label, outcome }) => ({ label, ...answerOf(outcome, event) }))
  const inputs = agreed(speakers, 'updatedInput')
  const paths = agreed(speakers, 'worktreePath')
  const verdicts = speakers.flatMap((speaker) => verdictOf(speaker, inputs))
  const disagreements = [
    ...(inputs.kind === 'differ' ? [disagreement(inputs.hooks, 'the input of the call')] : []),
    ...(paths.kind === 'differ' ? [disagreement(paths.hooks, 'the path of the new folder')] : []),
  ]
  if (inputs.kind === 'differ')
    verdicts.push({ kind: 'ask', hook: inputs.hooks.join(', '), reason: disagreements[0]?.message })
  const verdict = verdicts.reduce<HookDecision['verdict']>(
    (most, { kind }) => (STRENGTH[kind] > STRENGTH[most] ? kind : most),
    'none',
  )
  const stops = speakers.filter(({ answer }) => answer.stop !== undefined)
  const keepsInput = inputs.kind === 'same' && verdict !== 'deny'
  return {
    verdict,
    reasons: verdicts.flatMap(({ kind, hook, reason }) =>
      kind === verdict && reason !== undefined ? [{ hook, text: reason }] : [],
    ),
    ...(stops.length > 0 && { stop: { reasons: texts(stops, ({ stop }) => stop?.reason) } }),
    ...(keepsInput && { updatedInput: inputs.value }),
    ...(paths.kind === 'same' && { worktreePath: paths.value }),
    contexts: texts(speakers, ({ context }) => context),
    notices: texts(speakers, ({ notice }) => notice),
    problems: [
      ...speakers.flatMap(({ label, problems }) => problems.map((problem) => ({ ...problem, hook: label }))),
      ...disagreements,
    ],
    faults: inPlace.flatMap(({ label, outcome }) =>
      outcome.kind === 'failed' ? [{ ...outcome.fault, hook: label }] : [],
    ),
  }
}

/** C3. */
function answerOf(outcome: HookOutcome, event: HookEvent): Omit<Speaker, 'label'> {
  switch (outcome.kind) {
    case 'answered':
      return outcome
    case 'failed':
      return { answer: {}, problems: [] }
    case 'aborted':
      return silent(event, 'It was interrupted before it could answer.')
    case 'lost':
      return silent(event, outcome.why)
  }
}

function silent(event: HookEvent, reason: string): Omit<Speaker, 'label'> {
  return { answer: decidesPermission(event) ? { verdict: { kind: 'ask', reason } } : {}, problems: [] }
}

interface HeardVerdict {
  readonly kind: HookVerdict['kind']
  readonly hook: string
  readonly reason?: string | undefined
}

/** C5. */
function verdictOf({ label, answer }: Speaker, inputs: Agreement<'updatedInput'>): readonly HeardVerdict[] {
  const { verdict } = answer
  if (verdict === undefined) return []
  const isOfAnotherInput = inputs.kind !== 'none' && answer.updatedInput === undefined
  return verdict.kind === 'allow' && isOfAnotherInput ? [] : [{ ...verdict, hook: label }]
}

type Agreement<K extends keyof HookAnswer> =
  | { readonly kind: 'none' }
  | { readonly kind: 'same'; readonly value: NonNullable<HookAnswer[K]> }
  | { readonly kind: 'differ'; readonly hooks: readonly string[] }

/** C4. */
function agreed<K extends 'updatedInput' | 'worktreePath'>(
  speakers: readonly Speaker[],
  key: K,
): Agreement<K> {
  const given = speakers.flatMap(({ label, answer: { [key]: value } }) =>
    value === undefined ? [] : [{ label, value }],
  )
  const [first] = given
  if (first === undefined) return { kind: 'none' }
  if (given.every(({ value }) => isSameData(value, first.value))) return { kind: 'same', value: first.value }
  return { kind: 'differ', hooks: [...new Set(given.map(({ label }) => label))] }
}

function disagreement(hooks: readonly string[], what: string): HookProblem & { readonly hook: string } {
  const hook = hooks.join(', ')
  return {
    code: 'hooks-disagree',
    message: `Hooks want ${what} to be different things, so it is none of them. Let one hook decide it.`,
    hook,
  }
}

function texts(
  speakers: readonly Speaker[],
  textOf: (answer: HookAnswer) => string | undefined,
): readonly HookText[] {
  return speakers.flatMap(({ label, answer }) => {
    const text = textOf(answer)
    return text === undefined ? [] : [{ hook: label, text }]
  })
}

/** Is it the same JSON? The order of keys does not matter. */
function isSameData(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return Object.is(left, right)
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const [a, b] = [Object.entries(left), new Map(Object.entries(right))]
  return a.length === b.size && a.every(([key, value]) => b.has(key) && isSameData(value, b.get(key)))
}

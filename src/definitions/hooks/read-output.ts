/**
 * Reads what a hook answers as data: the JSON that a command prints, or what a function of the host returns.
 *
 * O1 What can be honoured is honoured, and each part that cannot is told (law 11).
 * O2 On a tool call a verdict that is there and cannot be read counts as `ask`: a guard spoke, and what it said may
 *    have been no. For the same reason `allow` becomes `ask` when the input that it was meant for cannot be read.
 * O3 The strongest verdict counts where several are given: deny, ask, allow.
 */
import * as z from 'zod'
import { isRecord, toPlainData } from '../files/plain-data.ts'
import type { HookEvent } from '../hook-declaration.ts'
import { decidesPermission, HOOK_EVENT_TRAITS } from './event-traits.ts'
import { type HookAnswer, type HookProblem, type HookVerdict, hookText, shortText } from './hook-outcome.ts'

/** What a hook may answer. All fields are optional, and those that mean nothing at its event are told. */
export interface HookOutput {
  /** `false`: the run ends here. */
  readonly continue?: boolean
  readonly stopReason?: string
  readonly suppressOutput?: boolean
  /** For the person. */
  readonly systemMessage?: string
  /** `block` does what exit code 2 does. `approve` is the old word for `permissionDecision: "allow"`. */
  readonly decision?: 'approve' | 'block'
  readonly reason?: string
  readonly hookSpecificOutput?: {
    readonly hookEventName?: HookEvent
    readonly permissionDecision?: 'allow' | 'deny' | 'ask'
    readonly permissionDecisionReason?: string
    readonly updatedInput?: Readonly<Record<string, unknown>>
    /** For the agent. */
    readonly additionalContext?: string
    /** The same as the permission fields above, as `PermissionRequest` hooks have it. */
    readonly decision?: {
      readonly behavior: 'allow' | 'deny'
      readonly updatedInput?: Readonly<Record<string, unknown>>
      readonly message?: string
      /** With `deny`: the run ends here. */
      readonly interrupt?: boolean
    }
    readonly worktreePath?: string
  }
}

/** An answer and what of it is not honoured. */
export interface ReadHookOutput {
  readonly answer: HookAnswer
  readonly problems: readonly HookProblem[]
}

const TOP_KEYS = [
  ...['continue', 'stopReason', 'suppressOutput', 'systemMessage'],
  ...['decision', 'reason', 'hookSpecificOutput'],
]
const SPECIFIC_KEYS = [
  ...['hookEventName', 'permissionDecision', 'permissionDecisionReason', 'updatedInput'],
  ...['additionalContext', 'decision', 'worktreePath'],
]
const DECISION_KEYS = ['behavior', 'updatedInput', 'message', 'interrupt']

const UNREADABLE: HookVerdict = { kind: 'ask', reason: 'The hook answered, and its answer cannot be read.' }

type Fields = Readonly<Record<string, unknown>>
/** Says that a part of the output is not honoured. */
type Tell = (code: HookProblem['code'], message: string) => void

const Text = z.string()
const Flag = z.boolean()
const Input = z.record(z.string(), z.unknown())

/** Reads a value of any kind. Never throws. */
export function readHookOutput(value: unknown, event: HookEvent): ReadHookOutput {
  const problems: HookProblem[] = []
  const tell: Tell = (code, message) => void problems.push({ code, message: shortText(message, 500) })
  const plain = toPlainData(value)
  if (plain.kind === 'refused' || !isRecord(plain.value)) {
    const why = plain.kind === 'refused' ? plain.reason : 'it must be an object'
    tell('hook-output-unreadable', `What the hook answered is not used: ${why}.`)
    // O2: nobody knows what this object would have said.
    const answer: HookAnswer = decidesPermission(event) ? { verdict: UNREADABLE } : {}
    return { answer, problems }
  }
  return { answer: readAnswer(plain.value, event, tell), problems }
}

function readAnswer(output: Fields, event: HookEvent, tell: Tell): HookAnswer {
  const traits = HOOK_EVENT_TRAITS[event]
  const specific = specificTo(event, output, tell)
  const decision = recordAt(specific.fields, 'decision', tell)
  reportUnknown(output, TOP_KEYS, '', tell)
  reportUnknown(specific.fields, SPECIFIC_KEYS, 'hookSpecificOutput.', tell)
  reportUnknown(decision.fields, DECISION_KEYS, 'hookSpecificOutput.decision.', tell)

  const reason = textAt(output, 'reason', tell)
  const spoken = [
    verdictAt(specific.fields, 'permissionDecision', event, tell),
    verdictAt(decision.fields, 'behavior', event, tell),
    verdictAt(output, 'decision', event, tell),
    specific.isLost || decision.isLost ? lostVerdict(event) : undefined,
  ]
  const reasons = [
    textAt(specific.fields, 'permissionDecisionReason', tell),
    textAt(decision.fields, 'message', tell),
    reason,
  ]
  const input = updatedInput([specific.fields, decision.fields], event, tell)
  const context = textAt(specific.fields, 'additionalContext', tell)
  const verdict = strongest(spoken, reasons, input.isUnreadable)
  const stopReason = textAt(output, 'stopReason', tell)
  const goesOn = at(output, 'continue', Flag, '`true` or `false`', tell) ?? true
  const interrupts = at(decision.fields, 'interrupt', Flag, '`true` or `false`', tell) === true
  const stops = !goesOn || (interrupts && verdict?.kind === 'deny')
  const why = stopReason ?? verdict?.reason ?? reason
  if (context !== undefined && !traits.takesContext)
    tell('hook-output-without-effect', `\`additionalContext\` reaches no agent at ${event}.`)
  const isQuiet = at(output, 'suppressOutput', Flag, '`true` or `false`', tell) === true
  const worktreePath =
    traits.plainText === 'path' ? pathIn(textAt(specific.fields, 'worktreePath', tell), tell) : undefined

  const answer: HookAnswer = {
    ...(stops && { stop: why === undefined ? {} : { reason: why } }),
    ...(input.value !== undefined && { updatedInput: input.value }),
    ...(isQuiet && { isQuiet }),
    ...(worktreePath !== undefined && { worktreePath }),
    ...withVerdict(verdict, event, tell, {
      context: traits.takesContext ? context : undefined,
      notice: textAt(output, 'systemMessage', tell),
    }),
  }
  return answer
}

/**
 * A verdict in the terms of its event: where nothing is left to block, the reason of a block becomes a text for
 * whoever should read it.
 */
export function withVerdict(
  verdict: HookVerdict | undefined,
  event: HookEvent,
  tell: Tell,
  texts: { readonly context?: string | undefined; readonly notice?: string | undefined },
): Pick<HookAnswer, 'verdict' | 'context' | 'notice'> {
  const { block } = HOOK_EVENT_TRAITS[event]
  const blocks = verdict?.kind === 'block'
  const advice = blocks && block === 'advises' ? verdict.reason : undefined
  const remark = blocks && block === 'nothing' ? verdict.reason : undefined
  if (blocks && block === 'nothing') tell('hook-output-without-effect', `Nothing can be blocked at ${event}.`)
  const context = joined(advice, texts.context)
  const notice = joined(remark, texts.notice)
  return {
    ...(verdict !== undefined && !isIdle(verdict, block) && { verdict }),
    ...(context !== undefined && { context }),
    ...(notice !== undefined && { notice }),
  }
}

const isIdle = ({ kind }: HookVerdict, block: string): boolean =>
  kind === 'block' && (block === 'advises' || block === 'nothing')

const joined = (...texts: readonly (string | undefined)[]): string | undefined =>
  hookText(texts.filter((text) => text !== undefined).join('\n\n'))

/** The part of the output that is for this event. `isLost`: it may hold a verdict, and cannot be used. */
function specificTo(
  event: HookEvent,
  output: Fields,
  tell: Tell,
): { readonly fields: Fields; readonly isLost: boolean } {
  const specific = recordAt(output, 'hookSpecificOutput', tell)
  const named = specific.fields['hookEventName']
  if (named === undefined || named === null || named === event) return specific
  tell(
    'hook-output-unreadable',
    `\`hookSpecificOutput\` is for ${JSON.stringify(named)}, and this is ${event}: it is left out.`,
  )
  return { fields: {}, isLost: 'permissionDecision' in specific.fields || 'decision' in specific.fields }
}

/** O2. */
const lostVerdict = (event: HookEvent): HookVerdict['kind'] | undefined =>
  decidesPermission(event) ? 'ask' : undefined

/** A verdict in any of the words for it, as this event has it. */
function verdictAt(
  fields: Fields,
  key: string,
  event: HookEvent,
  tell: Tell,
): HookVerdict['kind'] | undefined {
  const word = fields[key]
  if (word === undefined || word === null) return undefined
  const isPermission = decidesPermission(event)
  if (word === 'block' || word === 'deny') return isPermission ? 'deny' : 'block'
  if (word === 'approve' || word === 'allow') return isPermission ? 'allow' : undefined
  if (word === 'ask' && isPermission) return 'ask'
  const words = isPermission ? '"allow", "deny" or "ask"; a person is asked' : '"block"; it is left out'
  tell('hook-output-unreadable', `\`${key}\` is ${shown(word)} and must be ${words}.`)
  return lostVerdict(event)
}

const STRENGTH: Readonly<Record<HookVerdict['kind'], number>> = { allow: 1, ask: 2, deny: 3, block: 3 }

/** O3. `reasons` belong to the verdicts at the same places; another one will do where it has none. */
function strongest(
  spoken: readonly (HookVerdict['kind'] | undefined)[],
  reasons: readonly (string | undefined)[],
  isForAnUnreadableInput: boolean,
): HookVerdict | undefined {
  const given = spoken.filter((kind) => kind !== undefined)
  const most = given.toSorted((left, right) => STRENGTH[right] - STRENGTH[left])[0]
  if (most === undefined) return undefined
  const reason = reasons[spoken.indexOf(most)] ?? reasons.find((text) => text !== undefined)
  const kind = most === 'allow' && isForAnUnreadableInput ? 'ask' : most
  return { kind, ...(reason !== undefined && { reason }) }
}

function updatedInput(
  places: readonly Fields[],
  event: HookEvent,
  tell: Tell,
): { readonly value: Fields | undefined; readonly isUnreadable: boolean } {
  const given = places.map((fields) => fields['updatedInput']).filter((value) => (value ?? null) !== null)
  const [first] = given
  if (first === undefined) return { value: undefined, isUnreadable: false }
  if (!decidesPermission(event)) {
    tell('hook-output-without-effect', `\`updatedInput\` changes nothing at ${event}.`)
    return { value: undefined, isUnreadable: false }
  }
  const read = Input.safeParse(first)
  if (read.success) return { value: read.data, isUnreadable: false }
  tell('hook-output-unreadable', `\`updatedInput\` is ${shown(first)} and must be an object.`)
  return { value: undefined, isUnreadable: true }
}

/** The path of a folder that a hook says it made. */
export function pathIn(written: string | undefined, tell: Tell): string | undefined {
  if (written === undefined) return undefined
  if (written.startsWith('/') && !/\p{Cc}/u.test(written)) return written
  tell(
    'hook-output-unreadable',
    `The path of the new folder must be absolute and all that is printed, and is ${shown(written)}.`,
  )
  return undefined
}

function textAt(fields: Fields, key: string, tell: Tell): string | undefined {
  const text = at(fields, key, Text, 'a text', tell)
  return text === undefined ? undefined : hookText(text)
}

function recordAt(
  fields: Fields,
  key: string,
  tell: Tell,
): { readonly fields: Fields; readonly isLost: boolean } {
  const value = at(fields, key, Input, 'an object', tell)
  return { fields: value ?? {}, isLost: value === undefined && (fields[key] ?? null) !== null }
}

/** The value of a field; undefined when it is absent, null, or of another kind, which is told. */
function at<T>(fields: Fields, key: string, type: z.ZodType<T>, what: string, tell: Tell): T | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  const read = type.safeParse(value)
  if (read.success) return read.data
  tell('hook-output-unreadable', `\`${key}\` is ${shown(value)} and must be ${what}.`)
  return undefined
}

function reportUnknown(fields: Fields, known: readonly string[], prefix: string, tell: Tell): void {
  const unknown = Object.keys(fields).filter((key) => !known.includes(key))
  if (unknown.length === 0) return
  const names = unknown.slice(0, 5).map((key) => `${prefix}${key.slice(0, 40)}`)
  tell('hook-output-unreadable', `Not understood and left out: ${names.join(', ')}.`)
}

/** A value as a message shows it. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? typeof value
}

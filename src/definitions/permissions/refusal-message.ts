/** What a model, and the person who reads its log, is told when a call was not allowed. */
import type { PermissionDecision, PermissionRequest } from './decide.ts'
import { rulesThatAllow } from './match.ts'
import { resolvePath } from './path-pattern.ts'
import { parseRules, specifierKind } from './rule.ts'
import { readPlainShell } from './shell/read-shell.ts'
import type { ShellCommand } from './shell/reading.ts'

/**
 * The text of a refused call's result: what was refused, why, what would allow it, what to do now.
 * `decision` is `deny`, or an `ask` that nobody was there to answer.
 */
export function refusalMessage(request: PermissionRequest, decision: PermissionDecision): string {
  const call = describe(request)
  const next =
    'Do not try to reach the same end by another way: go on with what is allowed, or say in your report what you could not do.'
  if (decision.decision === 'deny' && decision.by !== 'dontAsk') {
    return `${call} was refused: ${decision.reason}. ${next}`
  }
  const refused =
    decision.decision === 'deny'
      ? `${call} was refused: ${decision.reason}.`
      : `${call} was refused: it needs approval (${decision.reason}), and nobody can be asked here.`
  return `${refused} ${wayToAllow(request)} ${next}`
}

/** More rules than that for one command line, or longer ones, help nobody. */
const MAX_SUGGESTED = 6
const MAX_LENGTH = 200

/**
 * The narrowest rules that together would allow the call: one, but for a command line of several commands. None
 * when only the whole tool would do, as for a command that writes to a file.
 */
export function suggestRules(request: PermissionRequest): readonly string[] {
  const candidates =
    specifierKind(request.toolName) === 'command' && request.subject !== undefined
      ? [rulesForCommands(request)]
      : candidatesFor(request).map((text) => [text])
  const isShort = (texts: readonly string[]): boolean =>
    texts.length <= MAX_SUGGESTED && texts.every(({ length }) => length <= MAX_LENGTH)
  return candidates.find((texts) => isShort(texts) && wouldAllow(texts, request)) ?? []
}

function wouldAllow(texts: readonly string[], request: PermissionRequest): boolean {
  const { rules } = parseRules(texts, { kind: 'allow', source: 'suggestion' })
  return rulesThatAllow(rules, request) !== undefined
}

function wayToAllow(request: PermissionRequest): string {
  const rules = suggestRules(request)
  const isEdit = request.writesPath !== undefined && request.isInsideCwd
  const mode = isEdit ? ', or permission mode "acceptEdits" (`--permission-mode acceptEdits`)' : ''
  if (rules.length === 0)
    return `No rule covers it${becauseOf(request)}. Commands without that, and plain calls one by one, can be allowed; as it stands only a rule for all of \`${request.toolName}\` (\`--allowedTools\`) would do.`
  const named = rules.map((rule) => `\`${rule}\``).join(', ')
  return `The user can allow it with the ${rules.length === 1 ? 'rule' : 'rules'} ${named} (\`--allowedTools\`)${mode}.`
}

/** What stands in the way of rules, for commands. */
function becauseOf(request: PermissionRequest): string {
  if (specifierKind(request.toolName) !== 'command') return ''
  const reading = readingOf(request)
  const reasons = reading.kind === 'unclear' ? [reading.reason] : reading.obstacles
  return reasons.length === 0 ? '' : `: ${reasons.slice(0, 3).join('; ')}`
}

function readingOf({ shell, subject }: PermissionRequest): ReturnType<typeof readPlainShell> {
  return shell ?? readPlainShell(subject ?? '')
}

/** Lines with more commands than that are not looked at for rules. */
const MAX_COMMANDS = 40

/** A rule for each command of a command line. */
function rulesForCommands(request: PermissionRequest): readonly string[] {
  const reading = readingOf(request)
  if (reading.kind === 'unclear' || reading.commands.length > MAX_COMMANDS) return []
  return [...new Set(reading.commands.flatMap((command) => rulesFor(command, request)))]
}

function rulesFor(command: ShellCommand, request: PermissionRequest): readonly string[] {
  const { words, assignments, runs, isInert } = command
  if (isInert) return []
  const inner = runs?.kind === 'known' ? runs.commands.flatMap((each) => rulesFor(each, request)) : []
  if (runs?.kind === 'known' && runs.isThin) return inner
  const [name, subcommand] = words.map(({ text }) => text)
  const isSubcommand = subcommand !== undefined && /^[a-z][a-z-]*$/u.test(subcommand)
  const written = [...assignments, ...words].map(({ text }) => text).join(' ')
  const open = words.findIndex(({ value }) => value === undefined)
  const candidates = [
    ...(isSubcommand ? [`Bash(${name} ${subcommand}:*)`] : []),
    // The name alone would be more than was asked for.
    open >= 2
      ? `Bash(${words
          .slice(0, open)
          .map(({ text }) => text)
          .join(' ')}:*)`
      : `Bash(${written})`,
  ]
  // Alone, or with rules for what it runs.
  const choices = candidates.flatMap((text) => [[text], ...(inner.length === 0 ? [] : [[text, ...inner]])])
  const alone = {
    ...request,
    shell: { kind: 'understood', commands: [command], obstacles: [], guesses: [], isOpen: false },
  } as const
  return choices.find((texts) => wouldAllow(texts, alone)) ?? [`Bash(${written})`]
}

function candidatesFor(request: PermissionRequest): readonly string[] {
  const { toolName, subject } = request
  switch (specifierKind(toolName)) {
    case 'path': {
      const path = request.writesPath ?? subject
      const inside = path === undefined ? undefined : relativePath(request.cwd, path)
      if (path === undefined || inside === '.') return [toolName]
      const pattern = inside === undefined ? `/${resolvePath(request.cwd, path)}` : `./${inside}`
      return [`${toolName}(${pattern})`, toolName]
    }
    case 'agent':
    case 'skill':
      return [...(subject === undefined ? [] : [`${toolName}(${subject})`]), toolName]
    case 'domain': {
      const host = subject !== undefined && URL.canParse(subject) ? new URL(subject).hostname : ''
      return [...(host === '' ? [] : [`${toolName}(domain:${host})`]), toolName]
    }
    case 'command':
    case 'unknown':
      return [toolName]
  }
}

/** The path below `cwd`, `.` for `cwd` itself; undefined for one outside. */
function relativePath(cwd: string, path: string): string | undefined {
  const [base, full] = [resolvePath(cwd, '.'), resolvePath(cwd, path)]
  if (full === base) return '.'
  const prefix = base === '/' ? '/' : `${base}/`
  return full.startsWith(prefix) ? full.slice(prefix.length) : undefined
}

/** The call in a few words. A long command is shown by its start. */
function describe(request: PermissionRequest): string {
  const { toolName } = request
  const subject = (request.subject ?? request.writesPath)?.replaceAll(/\s+/gu, ' ').trim()
  if (subject === undefined || subject === '') return toolName
  const characters = [...subject]
  return `${toolName}(${characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : subject})`
}

/** What a model, and the person who reads its log, is told when a call was not allowed. */
import type { PermissionDecision, PermissionRequest } from './decide.ts'
import { matchesRule } from './match.ts'
import { resolvePath } from './path-pattern.ts'
import { parseRules, specifierKind } from './rule.ts'
import { simpleCommandTokens } from './simple-command.ts'

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

/**
 * The narrowest rule that would allow the call, undefined when only the whole tool would: as for shell commands
 * that are more than one plain command.
 */
export function suggestRule(request: PermissionRequest): string | undefined {
  return candidatesFor(request).find((text) => {
    const { rules } = parseRules([text], { kind: 'allow', source: 'suggestion' })
    return rules.some((rule) => matchesRule(rule, request, 'allow'))
  })
}

function wayToAllow(request: PermissionRequest): string {
  const rule = suggestRule(request)
  const isEdit = request.writesPath !== undefined && request.isInsideCwd
  const mode = isEdit ? ', or permission mode "acceptEdits" (`--permission-mode acceptEdits`)' : ''
  if (rule === undefined)
    return 'Rules match only plain shell commands: without operators, pipes, redirects, variables, substitutions or wildcards. Separate plain calls can be allowed one by one; as it stands only a rule for all of `Bash` (`--allowedTools`) would do.'
  return `The user can allow it with the rule \`${rule}\` (\`--allowedTools\`)${mode}.`
}

function candidatesFor(request: PermissionRequest): readonly string[] {
  const { toolName, subject } = request
  switch (specifierKind(toolName)) {
    case 'command': {
      if (subject === undefined) return [toolName]
      const [name, subcommand] = simpleCommandTokens(subject) ?? []
      const isSubcommand = subcommand !== undefined && /^[a-z][a-z-]*$/u.test(subcommand)
      return [...(isSubcommand ? [`Bash(${name} ${subcommand}:*)`] : []), `Bash(${subject.trim()})`]
    }
    case 'path': {
      const path = request.writesPath ?? subject
      const inside = path === undefined ? undefined : relativePath(request.cwd, path)
      if (path === undefined || inside === '.') return [toolName]
      const pattern = inside === undefined ? `/${resolvePath(request.cwd, path)}` : `./${inside}`
      return [`${toolName}(${pattern})`, toolName]
    }
    case 'agent':
      return [...(subject === undefined ? [] : [`${toolName}(${subject})`]), toolName]
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

/** Commands of the shell itself: which do nothing outside of it, and which change what the commands beside them mean. */
import type { ShellWord } from './reading.ts'
import { isHarmlessInShell, isHarmlessToPrograms } from './variables.ts'

/**
 * What a builtin means for the others of its line: `inert`: nothing; an obstacle: no rule covers the line, and why.
 * Undefined for a command like any other.
 */
export type BuiltinEffect = { readonly kind: 'inert' } | { readonly kind: 'obstacle'; readonly what: string }

const INERT: BuiltinEffect = { kind: 'inert' }

/** The effect of a command, by its words. */
export function builtinEffect(words: readonly ShellWord[]): BuiltinEffect | undefined {
  const name = words[0]?.value
  if (name === undefined) return undefined
  const rest = words.slice(1)
  switch (name) {
    case 'true':
    case 'false':
    case ':':
    case 'break':
    case 'continue':
    case 'return':
    case 'exit':
    case 'shift':
      return INERT
    case '[':
      return rest.at(-1)?.value === ']' ? testEffect(rest.slice(0, -1)) : undefined
    case 'test':
      return testEffect(rest)
    case 'exec':
    case 'eval':
      return rest.length === 0 ? INERT : undefined
    case 'command':
      return /^-[vV]$/u.test(rest[0]?.value ?? '') ? INERT : undefined
    case 'set':
      return isHarmlessSet(rest) ? INERT : obstacle('it changes how the shell works (set)')
    case 'export':
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
      return isHarmlessDeclaration(name, rest) ? INERT : obstacle(`it sets variables (${name})`)
    case 'read':
      return isHarmlessRead(rest) ? INERT : obstacle('it sets variables (read)')
    case 'wait':
      return rest.every(({ value }) => value !== undefined && !value.startsWith('-'))
        ? INERT
        : obstacle('it may set a variable (wait)')
    case 'printf':
      return setsByPrinting(rest[0]) ? obstacle('it may set a variable (printf)') : undefined
    default:
      return CHANGES_THE_SHELL.has(name) ? obstacle(`it changes how the shell works (${name})`) : undefined
  }
}

const CHANGES_THE_SHELL: ReadonlySet<string> = new Set(
  'alias bind compgen complete compopt enable fc getopts hash history jobs let mapfile readarray shopt unalias unset'.split(
    ' ',
  ),
)

function obstacle(what: string): BuiltinEffect {
  return { kind: 'obstacle', what }
}

/** Exits at errors, prints what it does, and the like. `-a` and `-k` would put variables into the environment. */
function isHarmlessSet(words: readonly ShellWord[]): boolean {
  let isName = false
  for (const { value } of words) {
    if (value === '--' || value === '-') return true
    if (value === undefined) return false
    if (isName) {
      if (!/^(?:errexit|nounset|pipefail|noglob|noclobber|noexec|verbose|errtrace)$/u.test(value))
        return false
      isName = false
    } else if (!/^[-+][euxfnvCE]*o?$/u.test(value)) return !/^[-+]/u.test(value)
    else isName = value.endsWith('o')
  }
  return true
}

/** What is exported is for programs. */
function isHarmlessDeclaration(builtin: string, words: readonly ShellWord[]): boolean {
  const isFlag = ({ value }: ShellWord): boolean => value !== undefined && /^-[grx]+$/u.test(value)
  const isExport = builtin === 'export' || words.some((word) => isFlag(word) && word.pattern.includes('x'))
  return words.every((word) => {
    if (isFlag(word)) return true
    // The name must be there to be seen, not made of something.
    const name = /^(?<name>\w+)(?:=|$)/u.exec(word.pattern)?.groups?.['name']
    if (name === undefined || !word.text.startsWith(name)) return false
    return isExport ? isHarmlessToPrograms(name) : isHarmlessInShell(name)
  })
}

function isHarmlessRead(words: readonly ShellWord[]): boolean {
  let isValue = false
  return words.every(({ value }) => {
    if (value === undefined) return false
    if (isValue) {
      isValue = false
      return true
    }
    if (value.startsWith('-')) {
      isValue = /^-[rs]*[dnNpt]$/u.test(value)
      return isValue || /^-[rs]+$/u.test(value)
    }
    return isHarmlessInShell(value)
  })
}

/** `-v` names a variable whose index is worked out, with all that it runs; `%n` names one to count in. */
function setsByPrinting(format: ShellWord | undefined): boolean {
  if (format === undefined) return false
  return (
    format.value === undefined ||
    format.value.startsWith('-v') ||
    /%[-+ #\d.*'$hlLjztq]*n/u.test(format.value)
  )
}

const TESTS_OF_ONE = /^-[abcdefghknoprstuwxzGLNOS]$/u
const TESTS_OF_TWO = /^(?:={1,2}|!=|[<>]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/u

/**
 * A test does nothing, except that `-v` and `-R` work out the index of a variable, with all that it runs. What
 * cannot be told to be another test could be one of these.
 */
function testEffect(words: readonly ShellWord[]): BuiltinEffect {
  return isHarmlessTest(words) ? INERT : obstacle('it tests something that is not written out')
}

function isHarmlessTest(words: readonly ShellWord[]): boolean {
  const [first, second, third] = words
  // Outside of quotes a variable may be several words.
  if (words.some((word) => !word.keepsItsStart && !/^\$[?#$!]$/u.test(word.text))) return false
  if (words.length > 1 && first?.value === '!') return isHarmlessTest(words.slice(1))
  switch (words.length) {
    case 0:
    case 1:
      return true
    case 2:
      return TESTS_OF_ONE.test(first?.value ?? '')
    case 3:
      return TESTS_OF_TWO.test(second?.value ?? '') && third !== undefined
    default:
      return words.every(({ value }) => value !== undefined && value !== '-v' && value !== '-R')
  }
}

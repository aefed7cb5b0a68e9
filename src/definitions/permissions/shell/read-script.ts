/**
 * From the parser's tree of a command line to what rules have to know.
 *
 * Owns: which commands there are, what no rule covers, what may be run besides. Does not own: parsing, matching.
 *
 *   S1  Every node is visited. A kind of node that is not known here, or an error in any part, makes all unclear.
 *   S2  What could run something in a way that is not looked into is an obstacle: indices and sums with names in
 *       them, `${!x}`, `${x@P}`.
 *   S3  Where words run into one another, the parser and bash are known to differ: that is unclear.
 *   S4  Nothing is judged by what a variable holds: it is unknown.
 */
import type { Command, Redirection, SyntaxNode, Word } from 'unbash'
import { builtinEffect } from './builtins.ts'
import { guessesIn } from './guesses.ts'
import { isAssignment } from './plain-words.ts'
import { type ShellCommand, type ShellReading, type ShellRun, type ShellWord, UNKNOWN } from './reading.ts'
import { innerOf } from './runners.ts'
import { isHarmlessInShell } from './variables.ts'
import { assignmentWord, shellWord } from './word.ts'

/** The parser, as far as it is used. */
export interface ShellParser {
  parse(source: string): SyntaxNode & { readonly type: 'Script' }
  forEachChild(node: SyntaxNode, callback: (child: SyntaxNode) => void): void
}

/** Longer ones are not looked at. Linux starts no shell with more than 128 KiB in one argument (UTF-16 code units). */
const MAX_LENGTH = 100_000
/** Where so much is nested, the parser takes its time. */
const MAX_OPENINGS = 300
/** Code in code in code, runners of runners. */
const MAX_DEPTH = 8

/** Reads a command line. Total: what cannot be read is unclear. */
export function readScript(source: string, parser: ShellParser, depth = 0): ShellReading {
  if (source.length > MAX_LENGTH) return unclear('it is too long to be looked at')
  if (depth > MAX_DEPTH) return unclear('there are too many commands within commands')
  // Only shells that count blanks and line ends in their own way see anything in these.
  if (/[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/u.test(source)) return unclear('there are invisible characters in it')
  if ((source.match(/[$<>(]\(|\$\{|`/gu)?.length ?? 0) > MAX_OPENINGS)
    return unclear('there are too many substitutions in it')
  const reader = new ScriptReader(parser, depth)
  try {
    reader.visit(parser.parse(source), source)
  } catch {
    // The parser, or the walk, ran out of stack: so deep is nothing that anybody means.
    return unclear('it is nested too deeply')
  }
  return reader.reading()
}

function unclear(reason: string): ShellReading {
  return { kind: 'unclear', reason }
}

class ScriptReader {
  readonly #parser: ShellParser
  readonly #depth: number
  readonly #commands: ShellCommand[] = []
  readonly #obstacles = new Set<string>()
  /** Texts that somebody in the line may run. */
  readonly #texts: string[] = []
  readonly #guesses: (readonly string[])[] = []
  /** Defined so far, at the top, whatever happens before. */
  readonly #functions = new Set<string>()
  #isOpen = false
  #problem: string | undefined

  constructor(parser: ShellParser, depth: number) {
    this.#parser = parser
    this.#depth = depth
  }

  reading(): ShellReading {
    if (this.#problem !== undefined) return unclear(this.#problem)
    return {
      kind: 'understood',
      commands: this.#commands,
      obstacles: [...this.#obstacles],
      guesses: [
        ...this.#guesses,
        ...guessesIn(this.#commands, this.#texts, (text) => readScript(text, this.#parser, this.#depth + 1)),
      ],
      isOpen: this.#isOpen,
    }
  }

  /** `text` is what the node's positions count in. */
  visit(node: SyntaxNode, text: string, isTop = true): void {
    this.#look(node)
    // To bash `x<(y)#z` is one word, without a comment.
    if (node.type === 'Word' && /^(?:#|[<>]\()/u.test(text.slice(node.end, node.end + 2)))
      this.#problem ??= 'two of its words run into one another'
    const own = node.type === 'Script' ? (node.source ?? text) : text
    this.#parser.forEachChild(node, (child) => this.visit(child, own, isTop && node.type === 'Script'))
    // From here on the name is the function. Bash takes no name that is quoted, and goes on without it.
    if (!isTop || node.type !== 'Statement' || node.command.type !== 'Function' || node.background === true)
      return
    const { text: name } = node.command.name
    if (/^[A-Za-z_][\w-]*$/u.test(name)) this.#functions.add(name)
  }

  /** What one node means by itself. */
  #look(node: SyntaxNode): void {
    switch (node.type) {
      case 'Script': {
        const error = node.errors?.[0]
        if (error !== undefined) this.#problem ??= `it is no complete shell command (${error.message})`
        return
      }
      case 'Command':
        this.#lookAtCommand(node)
        return
      case 'Redirect':
      case 'HereString':
      case 'HereDoc':
        this.#lookAtRedirection(node)
        return
      case 'For':
        this.#setsVariable(node.name.text)
        return
      case 'Select':
      case 'Coproc':
        this.#refuse('it runs something beside itself (coproc, select)')
        return
      case 'ArithmeticWord':
        // What a name stands for is worked out in turn, with the substitutions in it (S2).
        if (!/^(?:\d[\dxXa-fA-F#]*|\$[?#$!]|\$\{#\w+\})?$/u.test(node.value))
          this.#refuse('it calculates with variables')
        return
      case 'ArithmeticExpansion':
      case 'ArithmeticCommand':
        if (node.expression === undefined) this.#refuse('it calculates something')
        return
      case 'ArithmeticCommandExpansion':
        this.#refuse('it calculates with what a command prints')
        return
      case 'CommandExpansion':
      case 'ProcessSubstitution':
        if (node.script === undefined) this.#problem ??= 'a substitution in it cannot be read'
        return
      case 'ParameterExpansion':
        if (node.prefix === '!' && node.operation?.type !== 'Names')
          this.#refuse('it looks up a name in a variable')
        if (node.index !== undefined && !isPlainIndex(node.index)) this.#refuse('it works out an index')
        if (node.operation?.type === 'Default' && node.operation.operator.endsWith('='))
          this.#setsVariable(node.parameter)
        return
      case 'Slice':
        if (![node.offset, node.length].every((word) => word === undefined || isPlainIndex(word)))
          this.#refuse('it works out an index')
        return
      case 'Transform':
        if (!/^[UuLQEAaKk]$/u.test(node.operand.text)) this.#refuse('it expands what a variable holds')
        return
      case 'Unknown':
        this.#problem ??= 'an expansion in it cannot be read'
        return
      case 'TestUnary':
        if (/^-[vR]$/u.test(node.operator) && !/^\w+$/u.test(node.operand.text))
          this.#refuse('it works out an index')
        return
      case 'TestBinary':
        if (/^-(?:eq|ne|lt|le|gt|ge)$/u.test(node.operator) && ![node.left, node.right].every(isPlainNumber))
          this.#refuse('it calculates with variables')
        return
      case 'Statement':
      case 'CompoundList':
      case 'CaseItem':
      case 'Elif':
      case 'Redirected':
      case 'If':
      case 'ArithmeticFor':
      case 'While':
      case 'Subshell':
      case 'BraceGroup':
      case 'Case':
      case 'TestCommand':
      case 'Function':
      case 'Pipeline':
      case 'Time':
      case 'Negation':
      case 'AndOr':
      case 'Word':
      case 'Literal':
      case 'Glob':
      case 'SingleQuoted':
      case 'DoubleQuoted':
      case 'AnsiCQuoted':
      case 'LocaleString':
      case 'SimpleExpansion':
      case 'ExtendedGlob':
      case 'BraceExpansion':
      case 'Assignment':
      case 'ArrayValue':
      case 'FileDescriptor':
      case 'FileDescriptorVariable':
      case 'HereDocDelimiter':
      case 'HereDocBody':
      case 'ArithmeticBinary':
      case 'ArithmeticUnary':
      case 'ArithmeticTernary':
      case 'ArithmeticGroup':
      case 'TestLogical':
      case 'TestNot':
      case 'TestGroup':
      case 'Default':
      case 'Remove':
      case 'Replace':
      case 'CaseModification':
      case 'Names':
        return
      default:
        this.#isNew(node)
    }
  }

  /** A later parser may know more of the language than this file (S1). */
  #isNew(_node: never): void {
    this.#problem ??= 'there is something new in it'
  }

  #refuse(what: string): void {
    this.#obstacles.add(what)
  }

  #setsVariable(name: string): void {
    if (!isHarmlessInShell(name)) this.#refuse(`it sets the variable ${name}`)
  }

  #lookAtCommand(node: Command): void {
    const assignments: ShellWord[] = []
    for (const part of node.prefix) {
      if (part.type !== 'Assignment') continue
      if (part.index !== undefined && !isPlainIndex(part.index)) this.#refuse('it works out an index')
      if (part.value.type === 'ArrayValue' && part.value.elements.some(({ text }) => text.startsWith('[')))
        this.#refuse('it works out an index')
      const word = assignmentWord(part)
      this.#texts.push(word.pattern.slice(part.name.length + 1))
      if (node.name === undefined) this.#setsVariable(part.name)
      else assignments.push(word)
    }
    if (node.name === undefined) return
    const words = [
      shellWord(node.name),
      ...node.args.map((arg) => (arg.type === 'Word' ? shellWord(arg) : assignmentWord(arg))),
    ]
    for (const arg of node.args)
      if (arg.type === 'Assignment' && arg.value.type === 'ArrayValue') this.#refuse('it declares an array')
    this.#commands.push(this.#commandOf(words, assignments, this.#depth, true))
  }

  /** A command with what it runs in turn. `inShell`: the shell runs it, so it may be a function. */
  #commandOf(
    words: readonly ShellWord[],
    assignments: readonly ShellWord[],
    depth: number,
    inShell: boolean,
  ): ShellCommand {
    const name = words[0]?.value ?? ''
    if (inShell && this.#functions.has(name)) return { words, assignments, runs: undefined, isInert: true }
    const effect = builtinEffect(words)
    if (effect?.kind === 'obstacle') this.#refuse(effect.what)
    return { words, assignments, runs: this.#runsOf(words, depth), isInert: effect?.kind === 'inert' }
  }

  #runsOf(words: readonly ShellWord[], depth: number): ShellRun | undefined {
    const inner = innerOf(words)
    if (inner === undefined) return undefined
    switch (inner.kind) {
      case 'opaque':
      case 'unknown':
        return { kind: inner.kind }
      case 'input':
        this.#isOpen = true
        this.#refuse('a shell in it takes its commands from its input')
        return { kind: 'unknown' }
      case 'commands': {
        const { from, isThin } = inner
        if (depth >= MAX_DEPTH) return { kind: 'unknown' }
        const commands = inner.commands.map((each) => {
          // `env A=1 B=2 x`, `sudo A=1 x`.
          const start = each.findIndex((word) => !isAssignment(word))
          return this.#commandOf(
            start <= 0 ? each : each.slice(start),
            start <= 0 ? [] : each.slice(0, start),
            depth + 1,
            false,
          )
        })
        return { kind: 'known', from, commands, isThin, isCode: false }
      }
      case 'code': {
        const { from, isThin, code } = inner
        if (code.value === undefined) this.#isOpen = true
        const reading = readScript(code.value ?? '', this.#parser, depth + 1)
        if (code.value === undefined || reading.kind === 'unclear') {
          this.#problem ??= reading.kind === 'unclear' ? reading.reason : undefined
          return { kind: 'unknown' }
        }
        for (const obstacle of reading.obstacles) this.#refuse(obstacle)
        this.#isOpen ||= reading.isOpen
        this.#guesses.push(...reading.guesses)
        return { kind: 'known', from, commands: reading.commands, isThin, isCode: true }
      }
    }
  }

  #lookAtRedirection(node: Redirection): void {
    if (node.descriptor?.type === 'FileDescriptorVariable') this.#refuse('it opens a file for a variable')
    if (node.type === 'HereDoc') {
      const { parts, text } = node.body
      this.#texts.push(
        parts?.map((part) => (part.type === 'Literal' ? part.value : UNKNOWN)).join('') ?? text,
      )
      return
    }
    if (node.target === undefined) {
      this.#problem ??= 'a redirect in it leads nowhere'
      return
    }
    const target = shellWord(node.target)
    if (node.type === 'HereString') {
      this.#texts.push(target.pattern)
      return
    }
    const { value } = target
    // `2>&1` and `>&-` name no file.
    if (/^[<>]&$/u.test(node.operator) && value !== undefined && /^(?:\d+-?|-)$/u.test(value)) return
    if (value !== undefined && HARMLESS_FILES.has(value)) return
    const reads = node.operator === '<' || node.operator === '<&'
    this.#refuse(`it ${reads ? 'reads' : 'writes to'} the file ${target.text.slice(0, 100)}`)
  }
}

const HARMLESS_FILES: ReadonlySet<string> = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin'])

/** An index that is worked out without looking anything up. */
function isPlainIndex(word: Word): boolean {
  return /^(?:\s*-?\d+|[@*])$/u.test(word.text)
}

function isPlainNumber(word: Word): boolean {
  return /^(?:-?\d+|"?\$[?#$!]"?)$/u.test(word.text)
}

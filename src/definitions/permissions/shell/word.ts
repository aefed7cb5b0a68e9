/** A word of the parser's tree as rules see it: what of it is known, what only a shell knows. */
import type { Assignment, Word, WordPart } from 'unbash'
import { type ShellWord, UNKNOWN } from './reading.ts'

/** Reads a word. */
export function shellWord(word: Word): ShellWord {
  return joined(word.text, word.parts?.map(partOf) ?? [bare(word.text, word.value, true)])
}

/** Reads `NAME=value` as the word that a command such as `export` gets. */
export function assignmentWord(assignment: Assignment): ShellWord {
  const { name, text, value, index, append } = assignment
  const isPlain = value.type === 'Word' && index === undefined && append !== true
  return joined(text, [known(`${name}=`), ...(isPlain ? [pieceOf(shellWord(value))] : [unknown(false)])])
}

/** A stretch of a word. `mayStartAnother`: some word that comes of it need not start as the whole does. */
interface Piece {
  readonly pattern: string
  readonly mayStartAnother: boolean
}

const known = (pattern: string): Piece => ({ pattern, mayStartAnother: false })
const unknown = (mayStartAnother: boolean): Piece => ({ pattern: UNKNOWN, mayStartAnother })

function pieceOf({ pattern, keepsItsStart }: ShellWord): Piece {
  return { pattern, mayStartAnother: !keepsItsStart }
}

function joined(text: string, pieces: readonly Piece[]): ShellWord {
  const pattern = pieces.map((piece) => piece.pattern).join('')
  return {
    text,
    value: pattern.includes(UNKNOWN) ? undefined : pattern,
    pattern,
    keepsItsStart: !pieces.some((piece) => piece.mayStartAnother),
  }
}

function partOf(part: WordPart, index: number): Piece {
  switch (part.type) {
    case 'Literal':
      return bare(part.text, part.value, index === 0)
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return known(part.value)
    case 'DoubleQuoted':
      return {
        pattern: part.parts.map((each) => (each.type === 'Literal' ? each.value : UNKNOWN)).join(''),
        // `"$@"` and `"${a[@]}"` are several words even in quotes.
        mayStartAnother: part.parts.some((each) => each.type !== 'Literal' && each.text.includes('@')),
      }
    // A translation may say anything.
    case 'LocaleString':
      return unknown(false)
    // Names of files, or choices: each keeps what stands before.
    case 'Glob':
    case 'ExtendedGlob':
    case 'BraceExpansion':
    case 'ArithmeticExpansion':
      return unknown(false)
    case 'ProcessSubstitution':
      return known(`/dev/fd/${UNKNOWN}`)
    // Outside of quotes these may come to several words.
    case 'SimpleExpansion':
    case 'ParameterExpansion':
    case 'CommandExpansion':
      return unknown(true)
  }
}

/** Text outside of quotes. Asks once more what the parser has asked: whether a shell would expand anything in it. */
function bare(text: string, value: string, isFirst: boolean): Piece {
  const unescaped = text.replaceAll(/\\./gsu, '')
  const isExpanded =
    /[$`<>|&;()*?\s]|[=:]~/u.test(unescaped) ||
    (unescaped.includes('{') && /,|\.\./u.test(unescaped)) ||
    (unescaped.includes('[') && unescaped.indexOf('[') < unescaped.lastIndexOf(']')) ||
    (isFirst && text.startsWith('~'))
  return isExpanded ? unknown(true) : known(value)
}

/** What a line of source is, as far as its look tells, in the languages that people write most. */

/** A name that a line brings into being. */
export interface Declared {
  readonly name: string
  /**
   * - `top`: a function, class, type or constant that others can name
   * - `method`: a method or a signature of one
   * - `member`: a property or an entry
   * - `local`: a variable inside a function
   * - `heading`, `test`: a heading of a document, the title of a test
   */
  readonly kind: 'top' | 'method' | 'member' | 'local' | 'heading' | 'test'
}

const MODIFIERS =
  '(?:(?:export|default|declare|abstract|async|public|private|protected|internal|static|readonly|override|final|' +
  'unsafe|const(?=\\s+fn)|extern|inline|virtual|sealed|open|suspend|pub(?:\\([^)]*\\))?)\\s+)*'
const VARIABLE = /^(?:const|let|var|val)$/
const INTRODUCED = new RegExp(
  `^(\\s*)${MODIFIERS}(function\\*?|class|interface|type|enum|const|let|var|val|def|defn|fn|func|fun|struct|trait|impl|` +
    'module|mod|namespace|protocol|record|union|sub|package|typedef|macro_rules!|#define)\\s+(?:\\([^)]*\\)\\s*)?([\\p{L}_$][\\p{L}\\p{N}_$]*)',
  'u',
)
const METHOD = new RegExp(
  `^\\s+${MODIFIERS}(?:get\\s+|set\\s+)?([\\p{L}_$#][\\p{L}\\p{N}_$]*)\\??(?:<[^(]*>)?\\(.*(?:\\{\\s*$|\\)\\s*(?::|->).*\\S)`,
  'u',
)
const SIGNATURE_START = new RegExp(
  `^\\s+${MODIFIERS}(?:async\\s+)?([\\p{L}_$#][\\p{L}\\p{N}_$]*)(?:<[^(]*>)?\\($`,
  'u',
)
const MEMBER = new RegExp(`^\\s+${MODIFIERS}['"]?([\\p{L}_$#][\\p{L}\\p{N}_$.-]*)['"]?\\??:(?!:)`, 'u')
const TOP_ASSIGNMENT = /^([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::[^=]+)?=(?![=>])/u
const HEADING = /^#{1,6}\s+(.+)$/
const TEST = /^\s*(?:it|test|describe|context|specify)(?:\.\w+)*\(\s*['"`](.+?)['"`]/
const NO_NAME =
  /^(?:if|for|while|switch|return|catch|await|new|case|default|else|throw|typeof|function|do|with|yield|import)$/

/** The name that a line declares; undefined where it declares none. `prose`: whether it stands in a document. */
export function declaredIn(text: string, prose = false): Declared | undefined {
  if (isComment(text) && !prose) return undefined
  const heading = prose ? HEADING.exec(text)?.[1] : undefined
  if (prose && heading === undefined) return undefined
  if (heading !== undefined) return { name: heading, kind: 'heading' }
  const test = TEST.exec(text)?.[1]
  if (test !== undefined) return { name: test, kind: 'test' }
  const introduced = INTRODUCED.exec(text)
  if (introduced !== null) {
    const [, indent = '', word = '', name = ''] = introduced
    return { name, kind: indent !== '' && VARIABLE.test(word) ? 'local' : 'top' }
  }
  const assigned = TOP_ASSIGNMENT.exec(text)?.[1]
  if (assigned !== undefined) return { name: assigned, kind: 'top' }
  const method = METHOD.exec(text)?.[1] ?? SIGNATURE_START.exec(text)?.[1]
  if (method !== undefined && !NO_NAME.test(method)) return { name: method, kind: 'method' }
  const member = MEMBER.exec(text)?.[1]
  return member === undefined || NO_NAME.test(member) ? undefined : { name: member, kind: 'member' }
}

/** Whether what a line declares does something, as far as the line shows it: a function, not a type or a value. */
export const isFunction = (text: string, declared: Declared): boolean =>
  declared.kind === 'method' ||
  /\b(?:function|def|fn|func|fun|defn|sub|macro_rules!)\b|=>|=\s*(?:async\s*)?\([^)]*$/.test(text)

/** Whether a line is nothing but comment. In a document it means nothing. */
export const isComment = (text: string): boolean =>
  /^\s*(?:\/\/|\/?\*|#(?![\w![])|--\s|;;|"""|<!--)/.test(text)

/** Whether a line only brings names in from elsewhere, or hands them on. */
export const isImport = (text: string): boolean =>
  /^\s*(?:import\b|from\s+\S+\s+import|use\s+[\w:]+|#include|require\b|(?:const|let|var)\s.*=\s*require\()|^\s*export\s+(?:\*|(?:type\s+)?\{)|\bfrom\s+['"][^'"]+['"];?\s*$/.test(
    text,
  )

/** The words of a comment line without its marks. */
export const commentText = (text: string): string =>
  text
    .replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/[/!]?|#+|--|;;|"""|<!--)\s?/, '')
    .replace(/\s*(?:\*\/|-->|""")\s*$/, '')
    .trim()

/**
 * Files of agents for measurements: sizes, fields and mistakes in the proportions that are found in collections of
 * them, always the same for the same number.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of ten files six are YAML with plain values, three have a description that is no YAML, one a slip. */
const FRONTMATTER: readonly ((name: string) => readonly string[])[] = [
  (name) => [
    `name: ${name}`,
    'description: Reviews changes of one module. Choose it after its files were edited.',
    'tools: Read, Grep, Glob, Bash(git diff:*)',
    'model: sonnet',
  ],
  (name) => [
    `name: ${name}`,
    'description: >',
    '  Finds out why a request is slow: looks at the plan of each query,',
    '  at indexes and at the size of the tables.',
    'tools:',
    '  - Read',
    '  - Bash',
    'model: inherit',
    'color: blue',
  ],
  (name) => [
    `name: ${name}`,
    'description: Use it for texts. Examples: user: "shorten this" assistant: "I will use it" — note: not for code',
    'tools: Read, Write, Edit',
  ],
  (name) => [
    `name: ${name}`,
    'description: Tests one module to its edges and says what it did not test.',
    'tools: ReadFile, shell, Grep',
    'modle: haiku',
  ],
]
const ORDER = [0, 1, 0, 2, 1, 0, 2, 3, 1, 2]

/** Paragraphs of the prompt, by the file's number: most files have 2 to 6 KB, some are much longer. */
const PARAGRAPHS = [10, 14, 20, 12, 30, 16, 24, 11, 18, 90]
const PARAGRAPH =
  'Look at the code before you speak of it: read the function, who calls it, and its tests. Say where you saw what you say, as path and line, and mark what you only suppose. A finding that nobody can act on is none.'

/** Writes `count` files below `folder`, a hundred in each folder. Returns how many bytes they have. */
export function writeAgentFiles(folder: string, count: number): number {
  let bytes = 0
  for (let i = 0; i < count; i += 1) {
    const parent = join(folder, `group-${Math.floor(i / 100)}`)
    if (i % 100 === 0) mkdirSync(parent, { recursive: true })
    const name = `agent-${i}`
    const lines = FRONTMATTER[ORDER[i % ORDER.length] ?? 0]?.(name) ?? []
    const paragraphs = Array.from(
      { length: PARAGRAPHS[i % PARAGRAPHS.length] ?? 10 },
      (_, at) => `${at + 1}. ${PARAGRAPH}`,
    )
    const text = `---\n${lines.join('\n')}\n---\n\nYou are ${name}.\n\n${paragraphs.join('\n\n')}\n`
    writeFileSync(join(parent, `${name}.md`), text)
    bytes += Buffer.byteLength(text)
  }
  return bytes
}

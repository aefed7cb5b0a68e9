/**
 * Code examples in documentation. A `ts` block after the comment `<!-- runs -->` is run and type-checked; a `text`
 * block right after it is what it must print. One after `<!-- sketch -->` is left alone. Nothing else is allowed: an
 * example that nobody runs is wrong sooner or later.
 */

export interface Example {
  /** The document, relative to the repository. */
  readonly document: string
  /** Line of the opening fence, from 1. */
  readonly line: number
  readonly kind: 'run' | 'sketch' | 'unmarked'
  readonly code: string
  /** What it must print; undefined when the document does not say. */
  readonly output: string | undefined
}

interface Block {
  readonly line: number
  readonly language: string
  readonly text: string
  /** The last line before it that is not blank; empty when that ends another block. */
  readonly before: string
  /** Whether only blank lines are between it and the block before it. */
  readonly isRightAfter: boolean
}

/** The TypeScript blocks of a document. */
export function examplesIn(document: string, markdown: string): readonly Example[] {
  const blocks = blocksIn(markdown)
  return blocks.flatMap(({ line, language, text, before }, i): Example[] => {
    if (language !== 'ts' && language !== 'typescript') return []
    const next = blocks[i + 1]
    const output = next?.isRightAfter === true && next.language === 'text' ? next.text : undefined
    const kind = before === '<!-- runs -->' ? 'run' : before === '<!-- sketch -->' ? 'sketch' : 'unmarked'
    return [{ document, line, kind, code: text, output }]
  })
}

function blocksIn(markdown: string): readonly Block[] {
  const blocks: Block[] = []
  let open: Omit<Block, 'text'> | undefined
  let inside: string[] = []
  let before = ''
  let isRightAfter = false
  for (const [i, line] of markdown.split('\n').entries()) {
    const fence = /^```(\S*)/.exec(line)
    if (fence !== null && open === undefined) {
      open = { line: i + 1, language: fence[1] ?? '', before, isRightAfter }
      inside = []
    } else if (fence !== null && open !== undefined) {
      blocks.push({ ...open, text: inside.map((text) => `${text}\n`).join('') })
      open = undefined
      before = ''
      isRightAfter = true
    } else if (open !== undefined) {
      inside.push(line)
    } else if (line.trim() !== '') {
      before = line.trim()
      isRightAfter = false
    }
  }
  return blocks
}

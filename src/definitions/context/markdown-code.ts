/** Where code stands in a Markdown text: fenced blocks and code spans, as CommonMark sees them, near enough. */

/** Stands in place of each character of code. No text of a file holds it. */
export const CODE_MASK = '\0'

/** The text with all code replaced by {@link CODE_MASK}; line ends stay, so lines keep their numbers. Linear in time. */
export function maskCode(markdown: string): string {
  const masked: string[] = []
  let paragraph: string[] = []
  let fence: Fence | undefined
  const endParagraph = (): void => {
    if (paragraph.length > 0) masked.push(maskSpans(paragraph.join('\n')))
    paragraph = []
  }
  for (const line of markdown.split('\n')) {
    if (fence !== undefined) {
      if (closes(line, fence)) fence = undefined
      masked.push(mask(line))
      continue
    }
    fence = openedBy(line)
    if (fence !== undefined || line.trim() === '') {
      endParagraph()
      masked.push(fence === undefined ? line : mask(line))
      continue
    }
    // A lone backtick in one item must not pair with one in another and hide what stands between them.
    if (STARTS_BLOCK.test(line)) endParagraph()
    paragraph.push(line)
  }
  endParagraph()
  return masked.join('\n')
}

interface Fence {
  readonly character: string
  readonly length: number
}

/** Behind any indentation, quote marks and list marks: fences in lists are common and deeply indented. */
const OPENING = /^(?:[\s>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})(.*)$/
const CLOSING = /^[\s>]*(`{3,}|~{3,})\s*$/
const STARTS_BLOCK = /^[\s>]*(?:[-*+]|\d{1,9}[.)]|#{1,6}|\|)\s?/

function openedBy(line: string): Fence | undefined {
  const [, marks, info = ''] = OPENING.exec(line) ?? []
  if (marks === undefined) return undefined
  const character = marks.charAt(0)
  // Backticks behind backticks are a code span that fills its line.
  return character === '`' && info.includes('`') ? undefined : { character, length: marks.length }
}

function closes(line: string, { character, length }: Fence): boolean {
  const marks = CLOSING.exec(line)?.[1] ?? ''
  return marks.startsWith(character) && marks.length >= length
}

/** A span goes from a run of backticks to the next run of the same length. A backslash takes a backtick out. */
function maskSpans(paragraph: string): string {
  const runs = [...paragraph.matchAll(/\\[\s\S]|`+/g)].filter(([run]) => run.startsWith('`'))
  /** Where runs of a length stand, the first at the end, to be taken from there. */
  const places = new Map<number, number[]>()
  for (const { 0: run, index } of runs.toReversed()) {
    const same = places.get(run.length)
    if (same === undefined) places.set(run.length, [index])
    else same.push(index)
  }
  let masked = ''
  let done = 0
  for (const { 0: run, index } of runs) {
    if (index < done) continue
    const same = places.get(run.length) ?? []
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= index) same.pop()
    const partner = same.at(-1)
    if (partner === undefined) continue
    const end = partner + run.length
    masked += paragraph.slice(done, index) + mask(paragraph.slice(index, end))
    done = end
  }
  return masked + paragraph.slice(done)
}

const mask = (text: string): string => text.replace(/[^\n]/g, CODE_MASK)

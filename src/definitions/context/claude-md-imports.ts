/** `@path` in a CLAUDE.md: which files it wants to have read along with it. */
import { CODE_MASK, maskCode } from './markdown-code.ts'

/** A file that a text mentions. */
export interface ImportMention {
  /** As written: relative, absolute or beginning with `~/`. */
  readonly target: string
  /** From 1. */
  readonly line: number
}

/** No file system takes longer ones. */
const MAX_PATH = 4096

// `\ ` is a blank in a path. An address (`me@example.org`) has no blank before the @ and is no mention.
const MENTION = new RegExp(`(?<=^|\\s)@((?:\\\\ |[^\\s${CODE_MASK}])+)`, 'gmu')

/** The mentions of a text in the order in which they stand, each target once. Code spans and fenced code have none. */
export function importsIn(markdown: string): readonly ImportMention[] {
  if (!markdown.includes('@')) return []
  const mentions = new Map<string, ImportMention>()
  const masked = maskCode(markdown)
  let line = 1
  let counted = 0
  for (const { 1: raw = '', index } of masked.matchAll(MENTION)) {
    for (let at = masked.indexOf('\n', counted); at >= 0 && at < index; at = masked.indexOf('\n', at + 1)) {
      line += 1
      counted = at + 1
    }
    const target = targetOf(raw)
    if (target !== '' && target.length <= MAX_PATH && !mentions.has(target))
      mentions.set(target, { target, line })
  }
  return [...mentions.values()]
}

/**
 * Is it surely meant as a path? Only then is it worth telling that nothing is there: `@someone` and
 * `@scope/package` are names.
 */
export function looksLikePath(target: string): boolean {
  return /^(?:\.{1,2}\/|~\/|\/)/.test(target) || /\.(?:md|mdx|markdown|txt|rst|adoc)$/i.test(target)
}

const PUNCTUATION = new Set('.,;:!?\'")]}>*_…')

/** Without a `#heading` and without the punctuation of the sentence around it. */
function targetOf(raw: string): string {
  const fragment = raw.indexOf('#')
  let end = fragment < 0 ? raw.length : fragment
  while (end > 0 && PUNCTUATION.has(raw.charAt(end - 1))) end -= 1
  return raw.slice(0, end).replaceAll('\\ ', ' ')
}

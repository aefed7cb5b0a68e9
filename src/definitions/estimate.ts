/**
 * How many tokens a text has, roughly and rather too many than too few: no server is asked. Pure.
 *
 * Of plain ASCII three characters are taken for a token (prose has about four, code and numbers about three); every
 * other character counts as one. Images and documents are not text: each counts as much as a large image.
 */

/** A content block, of which only the type is known. */
type Block = { readonly type: string; readonly [field: string]: unknown }

/** The content of a message or a result, as the Messages API has it. */
export type EstimatedContent = string | readonly Block[]

const CHARS_PER_TOKEN = 3
/** What goes around each message or block. */
const PER_BLOCK = 10
const PER_ATTACHMENT = 1_600

/** Tokens of a text. */
export function tokensOfText(text: string): number {
  let wide = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) wide += 1
  return wide + Math.ceil((text.length - wide) / CHARS_PER_TOKEN)
}

/** Tokens of the content of a message or a result. */
export function tokensOfContent(content: EstimatedContent): number {
  if (typeof content === 'string') return PER_BLOCK + tokensOfText(content)
  return content.reduce((sum, block) => sum + tokensOfBlock(block), 0)
}

function tokensOfBlock(block: Block): number {
  const { type, content } = block
  if (type === 'image' || type === 'document') return PER_BLOCK + PER_ATTACHMENT
  if (type === 'text' && typeof block['text'] === 'string') return PER_BLOCK + tokensOfText(block['text'])
  // A result, whose content may hold images.
  if (type === 'tool_result' && Array.isArray(content)) return PER_BLOCK + tokensOfContent(content)
  return PER_BLOCK + tokensOfText(JSON.stringify(block))
}

/**
 * What a server answered to a call, as a model can be given it.
 *
 * An image that the Messages API refuses would make every later request of the agent fail: only what is surely
 * an image of a kind that models see is passed on as one, anything else is described in words.
 */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { ContentBlock } from '../../machines/agent/messages.ts'
import type { ToolOutput } from '../tools/tool.ts'
import { quoted, wellFormed } from './text.ts'

/** The answer to `tools/call`, read generously: a block that is not understood does not lose the others. */
export const CallAnswer = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
})
export type CallAnswer = z.infer<typeof CallAnswer>

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() })
const DataPart = z.looseObject({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: z.string() })
const LinkPart = z.looseObject({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
})
const ResourcePart = z.looseObject({
  type: z.literal('resource'),
  resource: z.looseObject({
    uri: z.string(),
    mimeType: z.string().optional(),
    text: z.string().optional(),
    blob: z.string().optional(),
  }),
})
const Part = z.union([TextPart, DataPart, LinkPart, ResourcePart])

/** The output of the tool. One text is a plain string, so that the engine can cut it to size. */
export function outputOf(answer: CallAnswer): ToolOutput {
  const blocks = [...answer.content.map(blockOf), ...structuredBlocks(answer)]
  const texts = blocks.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : []))
  const content =
    texts.length === blocks.length
      ? texts.filter((text) => text.trim() !== '').join('\n\n') || '(The tool answered nothing.)'
      : blocks.filter((block) => block.type !== 'text' || String(block['text']).trim() !== '')
  return { content, ...(answer.isError === true && { isError: true }) }
}

function blockOf(raw: CallAnswer['content'][number]): ContentBlock {
  const parsed = Part.safeParse(raw)
  if (!parsed.success) return text(`[A block of the kind ${quoted(raw.type, 40)} that cannot be shown.]`)
  const part = parsed.data
  switch (part.type) {
    case 'text':
      return text(part.text)
    case 'image':
    case 'audio':
      return dataBlock(part.data, part.mimeType, part.type)
    case 'resource_link': {
      const about = [part.name, part.mimeType, part.description]
        .filter((each) => each !== undefined)
        .join(', ')
      return text(`[Resource ${part.uri}${about === '' ? '' : `: ${about}`}]`)
    }
    case 'resource': {
      const { uri, mimeType, text: words, blob } = part.resource
      if (words !== undefined) return text(`[Resource ${uri}]\n${words}`)
      return dataBlock(blob ?? '', mimeType ?? 'an unknown type', `resource ${uri}`)
    }
  }
}

/** The structured answer, unless the texts say it already, as the protocol wants of servers. */
function structuredBlocks({ content, structuredContent }: CallAnswer): readonly ContentBlock[] {
  if (structuredContent === undefined) return []
  const isSaid = content.some(
    (part) => typeof part['text'] === 'string' && isDeepStrictEqual(jsonOf(part['text']), structuredContent),
  )
  return isSaid ? [] : [text(JSON.stringify(structuredContent))]
}

function jsonOf(words: string): unknown {
  try {
    return JSON.parse(words)
  } catch {
    return undefined
  }
}

const MAX_IMAGE_CHARS = 5 * 1024 * 1024

/** How images of the kinds that models see begin, in base64. */
const IMAGE_STARTS: readonly (readonly [mediaType: string, start: RegExp])[] = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGOD[dl]/],
  ['image/webp', /^UklGR[A-Za-z0-9+/]{6}XRUJQ/],
]

function dataBlock(data: string, mimeType: string, what: string): ContentBlock {
  const compact = data.replace(/\s+/g, '')
  const kind = IMAGE_STARTS.find(([, start]) => start.test(compact))?.[0]
  const isSound = compact.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(compact)
  if (kind !== undefined && isSound && compact.length <= MAX_IMAGE_CHARS) {
    return { type: 'image', source: { type: 'base64', media_type: kind, data: compact } }
  }
  const bytes = Math.floor((compact.length * 3) / 4)
  return text(`[${what} of ${quoted(mimeType, 80)}, about ${bytes} bytes, that cannot be shown here.]`)
}

const text = (words: string): ContentBlock => ({ type: 'text', text: wellFormed(words) })

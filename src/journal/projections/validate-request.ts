/**
 * What the Messages API would refuse in the messages of a request: an independent reading of its rules.
 *
 * Shares no code with the normaliser on purpose, so that it catches what that gets wrong. Tests run it on every
 * request; the engine may, while it is debugged. O(size of the messages).
 */

/** What is looked at: deliberately wider than the type of a request, as types are among the things checked. */
export interface CheckedMessage {
  readonly role: string
  readonly content: unknown
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Every rule that the messages break, each as one sentence that names the place; empty for a valid request.
 * `paused`: the last reply ended with `pause_turn`, so that the request may end with it.
 */
export function requestViolations(
  messages: readonly CheckedMessage[],
  { paused = false }: { readonly paused?: boolean } = {},
): string[] {
  const found: string[] = []
  if (messages.length === 0) found.push('there are no messages')
  if (messages.length > 0 && messages[0]?.role !== 'user') found.push('messages[0] is not from the user')
  if (messages.at(-1)?.role === 'assistant' && !paused) found.push('the last message is not from the user')
  const toolIds = new Set<string>()
  let unanswered: readonly string[] = []
  messages.forEach((message, i) => {
    const at = `messages[${i}]`
    if (message.role !== 'user' && message.role !== 'assistant')
      found.push(`${at} has the role ${message.role}`)
    if (i > 0 && message.role === messages[i - 1]?.role) found.push(`${at} has the role of the one before it`)
    const blocks = blocksOf(message.content, at, found)
    found.push(...unsendable(message.content, at))
    if (message.role === 'assistant') {
      unanswered = checkAssistant(blocks, at, toolIds, found)
      if (i === messages.length - 1) checkEnd(message.content, blocks, unanswered, at, found)
    } else {
      checkUser(blocks, unanswered, at, found)
      unanswered = []
    }
  })
  return found
}

/** The blocks of a content; a string is one text block. */
function blocksOf(content: unknown, at: string, found: string[]): Fields[] {
  if (typeof content === 'string') return checkTexts([{ type: 'text', text: content }], at, found)
  if (!Array.isArray(content)) {
    found.push(`${at}.content is neither a string nor blocks`)
    return []
  }
  if (content.length === 0) found.push(`${at}.content is empty`)
  const blocks = content.filter(
    (block): block is Fields => isFields(block) && typeof block['type'] === 'string',
  )
  if (blocks.length < content.length) found.push(`${at}.content has something that is no block`)
  return checkTexts(blocks, at, found)
}

function checkTexts(blocks: Fields[], at: string, found: string[]): Fields[] {
  for (const block of blocks) {
    if (block['type'] === 'text' && (typeof block['text'] !== 'string' || block['text'].trim() === '')) {
      found.push(`${at} has a text block without text`)
    }
    if ('cache_control' in block) found.push(`${at} has a cache mark, which only the sender sets`)
  }
  return blocks
}

/** Checks the blocks of an assistant message and returns the ids of its calls. */
function checkAssistant(
  blocks: readonly Fields[],
  at: string,
  toolIds: Set<string>,
  found: string[],
): string[] {
  const calls: string[] = []
  for (const block of blocks) {
    switch (block['type']) {
      case 'tool_use': {
        const { id, name, input } = block
        if (typeof id !== 'string' || !/^[a-zA-Z0-9_-]+$/.test(id))
          found.push(`${at} has a tool_use with a bad id`)
        else if (toolIds.has(id)) found.push(`${at} repeats the tool_use id ${id}`)
        else calls.push(id)
        toolIds.add(String(id))
        if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,128}$/.test(name))
          found.push(`${at} has a bad tool name`)
        if (!isFields(input)) found.push(`${at} has a tool_use whose input is no object`)
        break
      }
      case 'thinking':
        if (typeof block['thinking'] !== 'string' || typeof block['signature'] !== 'string') {
          found.push(`${at} has thinking that is not whole`)
        }
        break
      case 'redacted_thinking':
        if (typeof block['data'] !== 'string') found.push(`${at} has redacted thinking without data`)
        break
      case 'tool_result':
      case 'image':
      case 'document':
        found.push(`${at} is from the assistant and has a ${block['type']}`)
    }
  }
  const last = blocks.at(-1)?.['type']
  if (last === 'thinking' || last === 'redacted_thinking') found.push(`${at} ends with thinking`)
  return calls
}

function checkEnd(
  content: unknown,
  blocks: readonly Fields[],
  unanswered: readonly string[],
  at: string,
  found: string[],
): void {
  const text = typeof content === 'string' ? content : blocks.at(-1)?.['text']
  if (typeof text === 'string' && text !== text.trimEnd())
    found.push(`${at} is last and ends with white space`)
  if (unanswered.length > 0) found.push(`${at} is last and has calls without results`)
}

function checkUser(
  blocks: readonly Fields[],
  unanswered: readonly string[],
  at: string,
  found: string[],
): void {
  const answers = blocks.filter((block) => block['type'] === 'tool_result')
  const ids = answers.map((block) => String(block['tool_use_id']))
  if (ids.join(' ') !== unanswered.join(' ')) {
    found.push(`${at} answers [${ids.join(', ')}] where the calls are [${unanswered.join(', ')}]`)
  }
  if (answers.some((block, i) => block !== blocks[i])) found.push(`${at} has a result behind other content`)
  for (const answer of answers) checkResult(answer, at, found)
  for (const { type } of blocks) {
    if (type === 'thinking' || type === 'redacted_thinking' || /(^|_)tool_use$/.test(String(type))) {
      found.push(`${at} is from the user and has a ${String(type)}`)
    }
  }
}

function checkResult(result: Fields, at: string, found: string[]): void {
  const { content, is_error: isError } = result
  if (isError !== undefined && typeof isError !== 'boolean')
    found.push(`${at} has a result whose is_error is no boolean`)
  if (content === undefined) {
    if (isError === true) found.push(`${at} has an error result that says nothing`)
    return
  }
  const blocks = blocksOf(content, `${at}.tool_result`, found)
  for (const { type } of blocks) {
    if (/tool_use$|^tool_result$|thinking$/.test(String(type)))
      found.push(`${at} has a result with a ${String(type)}`)
    if (isError === true && type !== 'text') found.push(`${at} has an error result with a ${String(type)}`)
  }
}

/** Lone surrogates, and what JSON cannot write. */
function unsendable(content: unknown, at: string): string[] {
  const found: string[] = []
  try {
    JSON.stringify(content, (key, value: unknown) => {
      if (hasLoneSurrogate(key) || (typeof value === 'string' && hasLoneSurrogate(value))) {
        found.push(`${at} has a lone surrogate`)
      }
      return value
    })
  } catch (error) {
    found.push(`${at} cannot be written as JSON: ${String(error)}`)
  }
  return found
}

function hasLoneSurrogate(text: string): boolean {
  for (const character of text) {
    // Iteration joins pairs, so a code point in this range is a half without its other half.
    const point = character.codePointAt(0) ?? 0
    if (point >= 0xd800 && point <= 0xdfff) return true
  }
  return false
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

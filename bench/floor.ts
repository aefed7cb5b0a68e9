/**
 * What nobody can go below: the same work and the same model in a loop written by hand.
 *
 * Without `append` it is the bare loop, which saves nothing. With it each message becomes one line of JSON. There are
 * no permissions, limits, states, retries, views or resume here, and no two agents at once.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { lastValueFrom } from 'rxjs'
import type { Model, RequestMessage } from '../src/effects/model/model.ts'
import type { Durability } from '../src/journal/storage.ts'
import type { Reply } from '../src/machines/agent/messages.ts'
import { isToolUse, textOf } from '../src/machines/agent/messages.ts'
import { PROMPT, RESULT } from './work.ts'

/** Takes one message of one agent. */
export type AppendMessage = (agent: string, message: RequestMessage) => void

/** A conversation as far as the loop has it. */
interface Talk {
  readonly source: string
  readonly messages: RequestMessage[]
  readonly append: AppendMessage
}

const SYSTEM = 'You are an agent.'
const nowhere: AppendMessage = () => {}

/** Asks, does what the reply wants, asks again, until a reply wants nothing. Gives that reply's text. */
export async function runLoop(model: Model, append: AppendMessage = nowhere): Promise<string> {
  return converse(model, { source: 'main', messages: [], append }, PROMPT)
}

async function converse(model: Model, talk: Talk, prompt: string): Promise<string> {
  say(talk, { role: 'user', content: prompt })
  while (true) {
    const { content } = await ask(model, talk)
    say(talk, { role: 'assistant', content })
    const results = []
    for (const block of content) {
      if (!isToolUse(block)) continue
      const text = block.name === 'Agent' ? await askChild(model, talk) : RESULT
      results.push({ type: 'tool_result', tool_use_id: block.id, content: text })
    }
    if (results.length === 0) return textOf(content)
    say(talk, { role: 'user', content: results })
  }
}

function askChild(model: Model, { append }: Talk): Promise<string> {
  return converse(model, { source: 'agent:floor', messages: [], append }, PROMPT)
}

function say(talk: Talk, message: RequestMessage): void {
  talk.messages.push(message)
  talk.append(talk.source, message)
}

async function ask(model: Model, { source, messages }: Talk): Promise<Reply> {
  const request = { model: 'scripted', system: SYSTEM, tools: [], messages, maxTokens: 32_000, source }
  const last = await lastValueFrom(model.stream(request, new AbortController().signal))
  if (last.type !== 'message') throw new Error(`the model ended with ${last.type}, not with a message`)
  return last.reply
}

/** A file that takes one line per message. */
export function openMessageLog(path: string, durability: Durability) {
  const fd = openSync(path, 'a', 0o600)
  const append: AppendMessage = (agent, message) => {
    const line = JSON.stringify({ at: new Date().toISOString(), agent, message })
    writeSync(fd, `${line}\n`)
    if (durability === 'fsync') fdatasyncSync(fd)
  }
  return { append, close: () => closeSync(fd) }
}

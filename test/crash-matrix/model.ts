/** A model that plays a scenario: what it says depends on the conversation, and on which attempt of a process it is. */
import type { Subscriber } from 'rxjs'
import { Observable } from 'rxjs'
import type { Model, ModelDelta, ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import { buildReply, emitReply, say } from '../../src/effects/model/scripted-reply.ts'
import { requestViolations } from '../../src/journal/projections/validate-request.ts'
import type { Record } from './record.ts'
import type { Line, Said, Scenario } from './scenario.ts'
import { placeIn, promptIn, storyOf } from './scenario.ts'
import type { Life } from './tools.ts'

/** The model as one process has it. Each request is noted before it is answered. */
export function matrixModel(
  {
    play,
    summaries = {},
    verdict,
    isInBackground,
  }: Pick<Scenario, 'play' | 'summaries' | 'verdict' | 'isInBackground'>,
  life: Life,
  record: Record,
): Model {
  const attempts = new Map<string, number>()
  return {
    provider: 'matrix',
    stream: (request) =>
      new Observable((subscriber) => {
        const isForced = request.toolChoice !== undefined
        const where = isForced ? { who: 'the classifier', turn: 0 } : whereIn(request, play)
        const isSummary = request.source === 'compact'
        const who = isSummary ? summaryOf(where.who) : where.who
        const { turn } = where
        const key = `${who} ${turn}`
        const attempt = attempts.get(key) ?? 0
        attempts.set(key, attempt + 1)
        record.note({
          kind: 'request',
          life: life.number,
          who,
          turn,
          violations: requestViolations(request.messages),
        })
        const lines = play[who] ?? []
        const said = lines[turn] ?? (isInBackground === true ? lines.at(-1) : undefined)
        const line = isForced
          ? (verdict?.(questionIn(request)) ?? say('?'))
          : isSummary
            ? (summaries[`${where.who} ${turn}`] ?? say(storyOf(where.who, turn)))
            : said
        if (line === undefined)
          subscriber.error(new ModelError('script', `nothing is said at ${key}`, { retryable: false }))
        else answer(attemptOf(line, attempt, request), request, subscriber)
      }),
  }
}

/** Who a request is noted for that asks for a summary. */
export const summaryOf = (who: string): string => `summary of ${who}`

const questionIn = ({ messages }: ModelRequest): string =>
  messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n')

/** The prompt that a request is about, and how many replies it has had since. */
export function whereIn(
  { messages }: Pick<ModelRequest, 'messages'>,
  play: Scenario['play'],
): { readonly who: string; readonly turn: number } {
  let who = 'nobody'
  let turn = 0
  for (const { role, content } of messages) {
    if (role === 'assistant') turn += 1
    const texts = typeof content === 'string' ? [content] : content.map((block) => String(block['text']))
    const place = role === 'user' ? texts.map(placeIn).find((found) => found !== undefined) : undefined
    if (place !== undefined) ({ who, turn } = place)
    const prompt = role === 'user' ? texts.map(promptIn).find((text) => Object.hasOwn(play, text)) : undefined
    if (prompt === undefined) continue
    who = prompt
    turn = 0
  }
  return { who, turn }
}

function attemptOf(line: Line, attempt: number, request: ModelRequest): Said {
  if (typeof line === 'function') return line(request)
  if (!('attempts' in line)) return line
  const said = line.attempts[attempt] ?? line.attempts.at(-1)
  if (said === undefined) throw new Error('a line without an attempt says nothing')
  return said
}

function answer(said: Said, request: ModelRequest, subscriber: Subscriber<ModelDelta>): void {
  if (said instanceof Error) subscriber.error(said)
  else if ('cutAfter' in said) {
    subscriber.next({ type: 'block_started', index: 0, block: { type: 'text', text: '' } })
    subscriber.next({ type: 'text', index: 0, text: said.cutAfter })
    subscriber.error(new ModelError('stream-cut', 'the stream was cut', { retryable: true }))
  } else emitReply(subscriber, buildReply(said, request))
}

/** An overload that goes away, or not. */
export const overloaded = (): ModelError =>
  new ModelError('overloaded', 'the model is overloaded', { retryable: true, status: 529 })

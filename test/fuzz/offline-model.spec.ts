/** The offline model over conversations of any kind. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { createOfflineModel } from '../../src/effects/model/offline/offline-model.ts'
import { collect } from '../../src/effects/model/reply-stream.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import { requestMessages } from '../../src/journal/projections/request-messages.ts'
import type { ContentBlock, RequestMessage } from '../../src/machines/agent/messages.ts'
import { Reply } from '../../src/machines/agent/messages.ts'
import { plausibleHistory } from '../helpers/arbitraries.ts'
import { writeLog } from '../helpers/logs.ts'
import { expectLinear, fuzz, goodInputs, sizeOf } from './support/fuzz.ts'
import { hostileText, mutatedText } from './support/mutations.ts'

const model = createOfflineModel()
const TOOLS = ['Agent', 'Grep', 'Glob', 'Read'].map((name) => ({ name, description: '', input_schema: {} }))

async function ask(messages: readonly RequestMessage[], tools = TOOLS, source = 'main'): Promise<Reply> {
  const request: ModelRequest = { model: 'offline', system: '', tools, messages, maxTokens: 100, source }
  const { signal } = new AbortController()
  return (await collect(model.stream(request, signal), signal)).reply
}

const goodText = fc.constantFrom(
  'where is the retry policy, and who calls it?',
  'Find: `createEngine`, "lock", retry policy',
  '<system-reminder>be brief</system-reminder> how does the lock work?',
  '<task-notification><tool-use-id>toolu_1</tool-use-id><status>done</status><result>x</result></task-notification>',
  'src/a.ts:12:export function retry(policy: Policy): void {',
  '     1\tconst a = 1\n     2\tclass Lock {',
  'Found 2 files\nsrc/a.ts\ntest/a.spec.ts',
)
const anyText = fc.oneof({ weight: 4, arbitrary: mutatedText(goodText) }, goodText, hostileText)

/** A question, then rounds of calls with their results. */
const searches: fc.Arbitrary<RequestMessage[]> = fc
  .tuple(
    anyText,
    fc.array(
      fc.tuple(
        fc.constantFrom('Agent', 'Grep', 'Glob', 'Read', 'Bash', '__proto__'),
        anyText,
        anyText,
        fc.boolean(),
      ),
      {
        maxLength: 4,
      },
    ),
  )
  .map(([question, rounds]) => [
    { role: 'user' as const, content: question },
    ...rounds.flatMap(([name, input, result, failed], i): RequestMessage[] => {
      const id = `toolu_${i}`
      const use: ContentBlock = {
        type: 'tool_use',
        id,
        name,
        input: { pattern: input, file_path: input, prompt: input },
      }
      return [
        { role: 'assistant', content: [use] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: id, content: result, is_error: failed }],
        },
      ]
    }),
  ])

const fromLogs: fc.Arbitrary<RequestMessage[]> = goodInputs(plausibleHistory).map((drafts) => {
  const conversation = createConversation()
  for (const recorded of writeLog(drafts).recorded) conversation.push(recorded)
  return requestMessages(conversation.entries(), 'offline')
})

describe('the offline model', () => {
  const anyRequest = fc.tuple(
    fc.oneof(searches, searches, fromLogs),
    fc.subarray(TOOLS),
    fc.constantFrom('main', 'agent:built-in:Explore', 'summary'),
  )
  fuzz(
    'has a valid reply to anything, and the same one each time',
    250,
    anyRequest,
    async ([messages, tools, source]) => {
      const reply = await ask(messages, tools, source)
      expect(Reply.safeParse(reply).error).toBeUndefined()
      const offered = new Set(tools.map(({ name }) => name))
      for (const block of reply.content) {
        if (block.type === 'tool_use') expect(offered).toContain(block['name'])
      }
      expect(await ask(messages, tools, source)).toEqual(reply)
    },
  )

  const SHAPES = [
    ...[
      'a',
      ' ',
      'word ',
      'Word',
      '`',
      '`a` ',
      '"',
      "'",
      ' it’s',
      '«',
      '.',
      ':',
      '-',
      '_',
      '$',
      '(',
      '[',
      '{',
      '\n',
      '\r\n',
      '0',
      ',',
    ],
    ...[
      '<',
      '<a-b',
      '<a-b>',
      '<a-b ',
      '<a-b></a-b',
      '<task-notification>',
      '<task-notification><status>',
      'é',
      '\ud800',
    ],
    ...[
      'a.b',
      'a/b ',
      'is ',
      'how ',
      'aB',
      '# ',
      'src/a.ts:1:x\n',
      '1\tx\n',
      'function ',
      'class A {\n',
      'x = ',
    ],
  ]
  const tools = TOOLS.slice(1)

  const repeated = (size: number, shape: string): string => shape.repeat(Math.ceil(size / shape.length))

  it('takes time that grows with the length of a question only', async () => {
    await expectLinear(
      sizeOf(8_000, 100_000),
      SHAPES,
      (shape, size) => [{ role: 'user' as const, content: repeated(size, shape) }],
      (messages) => ask(messages),
    )
  })

  it.each(['Grep', 'Read', 'Glob'])(
    'takes time that grows with the length of a result of %s only',
    async (name) => {
      const input = { pattern: 'retry', file_path: 'src/a.ts', '-n': true, output_mode: 'content' }
      await expectLinear(
        sizeOf(10_000, 100_000),
        SHAPES,
        (shape, size): RequestMessage[] => [
          { role: 'user', content: 'where is the retry policy?' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name, input }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 't', content: repeated(size, shape) }],
          },
        ],
        (messages) => ask(messages, tools),
      )
    },
  )
})

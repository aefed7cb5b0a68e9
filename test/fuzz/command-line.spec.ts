/** What is typed and what is piped in. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseArguments } from '../../src/cli/arguments.ts'
import { CliError, UsageError } from '../../src/cli/errors.ts'
import { readPrompt } from '../../src/cli/read-prompt.ts'
import { createVirtualClock } from '../helpers/virtual-clock.ts'
import { expectLinear, fuzz, sizeOf } from './support/fuzz.ts'
import { hostileText, mutated, mutatedText } from './support/mutations.ts'

const FLAGS = [
  ...[
    '-p',
    '--print',
    '--output-format',
    'json',
    'text',
    'stream-json',
    '--include-partial-messages',
    '--verbose',
  ],
  ...[
    '--model',
    'opus',
    '--permission-mode',
    'plan',
    '--allowedTools',
    'Bash(git log:*),Read',
    '--disallowedTools',
  ],
  ...[
    '--max-turns',
    '3',
    '--system-prompt',
    'S',
    '--append-system-prompt',
    '--session-id',
    '-r',
    '-c',
    '--resume',
  ],
  ...[
    '07679179-209e-4c95-b197-520c21888d85',
    '--durability',
    'fsync',
    '--take-over',
    '--accept-damage',
    '--debug',
  ],
  ...[
    'sessions',
    'log',
    'replay',
    '--at',
    '--agent',
    '--json',
    '-h',
    '--help',
    '-v',
    '--',
    '-',
    '=',
    '--input-format',
  ],
]
const anyWord = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...FLAGS) },
  { weight: 2, arbitrary: mutatedText(fc.constantFrom(...FLAGS)) },
  hostileText,
)
const anyLine = fc.array(anyWord, { maxLength: 7 })

describe('any command line', () => {
  fuzz('is one of the commands, or a UsageError says in one line what is wrong', 600, anyLine, (argv) => {
    let parsed: ReturnType<typeof parseArguments>
    try {
      parsed = parseArguments(argv, '1.2.3')
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      expect(error.message).not.toBe('')
      return
    }
    expect(['print', 'run', 'sessions', 'log', 'replay']).toContain(parsed.kind)
    if (parsed.kind === 'run') {
      const { maxTurns, prompt } = parsed.run
      if (maxTurns !== undefined) expect(Number.isSafeInteger(maxTurns) && maxTurns > 0).toBe(true)
      if (prompt !== undefined) expect(prompt.trim()).not.toBe('')
    }
  })

  const names = fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'isPrototypeOf',
  )
  fuzz(
    'that is a word which objects have for a name is a prompt',
    12,
    fc.array(names, { minLength: 1, maxLength: 2 }),
    (words) => {
      expect(parseArguments(words, '1')).toMatchObject({ kind: 'run', run: { prompt: words.join(' ') } })
      expect(parseArguments(['-p', '--', ...words], '1')).toMatchObject({
        kind: 'run',
        run: { prompt: words.join(' ') },
      })
    },
  )

  const plain = fc.array(
    fc.string({ unit: 'binary', maxLength: 20 }).filter((word) => !word.startsWith('-')),
    { minLength: 1, maxLength: 4 },
  )
  fuzz('behind -- reaches the agent as it was typed', 300, plain, (words) => {
    const prompt = words.join(' ')
    expect(parseArguments(['-p', '--', ...words], '1')).toMatchObject({
      kind: 'run',
      run: { prompt: prompt.trim() === '' ? undefined : prompt },
    })
  })

  const SHAPES = ['a', '(', ')', 'Bash(', 'a,', '\\', ' ', '-', '{', 'a ', '. ']
  it.each(['--allowedTools', '--model', '--max-turns', '--session-id', '--', ''])(
    'is read in time that grows with its length: %s',
    async (flag) => {
      await expectLinear(
        sizeOf(20_000, 100_000),
        SHAPES,
        (shape, size) => {
          const word = shape.repeat(Math.ceil(size / shape.length))
          return flag === '--' ? [`--${word}`] : [flag, word].filter((each) => each !== '')
        },
        (argv) => {
          try {
            parseArguments(argv, '1')
          } catch (error) {
            if (!(error instanceof UsageError)) throw error
          }
        },
      )
    },
  )
})

describe('whatever is piped in', () => {
  const chunked = fc.tuple(
    mutated(fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => Buffer.from(text))),
    fc.array(fc.nat(200), { maxLength: 5 }),
    fc.boolean(),
  )
  const stdinOf = (chunks: readonly (string | Uint8Array)[], fails: boolean) => ({
    isTTY: false,
    async *[Symbol.asyncIterator]() {
      yield* chunks
      if (fails) throw new Error('EIO: i/o error')
    },
  })
  const ask = (chunks: readonly (string | Uint8Array)[], fails = false) =>
    readPrompt('words', {
      stdin: stdinOf(chunks, fails),
      stderr: { isTTY: false, columns: undefined, rows: undefined, write: () => {} },
      clock: createVirtualClock(),
    })

  fuzz(
    'is the same however it is cut, or cannot be read and says so',
    300,
    chunked,
    async ([bytes, borders, fails]) => {
      const sorted = [...new Set(borders.filter((border) => border < bytes.length))].sort((a, b) => a - b)
      const chunks = [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i]))
      if (fails) {
        await expect(ask(chunks, true)).rejects.toBeInstanceOf(CliError)
        return
      }
      const whole = new TextDecoder().decode(bytes).trim()
      expect(await ask(chunks)).toBe(whole === '' ? 'words' : `words\n\n${whole}`)
    },
  )
})

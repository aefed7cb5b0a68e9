/** The three formats of the built program, and `stream-json` beside that of the program that users know. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { callMany } from '../../src/effects/model/scripted-reply.ts'
import { startMessagesServer, streamed } from '../helpers/messages-server.ts'
import { script } from './support/conversation.ts'
import { createPlace, type Finished, type Json, jsonLines, REPO } from './support/program.ts'

const CORPUS = process.env['TROUPE_CORPUS'] ?? path.resolve(REPO, '../shared/corpus')
const RECORDED = path.join(CORPUS, 'transcripts/claude-code-2.1.92/foreground/stdout.jsonl')

/** A parent that lets a child list the files. */
async function foreground(args: readonly string[]): Promise<Finished> {
  await using place = createPlace({ 'README.md': '# Demo\n', 'a.txt': 'a\n' })
  await using server = await startMessagesServer(
    script({
      go: [
        streamed(
          callMany(
            [
              {
                name: 'Agent',
                input: {
                  description: 'list files',
                  prompt: 'SUBTASK list files',
                  subagent_type: 'general-purpose',
                },
              },
            ],
            'spawning',
          ),
        ),
        'main done',
      ],
      SUBTASK: [
        streamed(callMany([{ name: 'Bash', input: { command: 'ls', description: 'list' } }])),
        'sub done: found files',
      ],
    }),
  )
  return await place.troupe(['-p', 'go', '--allowedTools', 'Bash(ls)', ...args], { env: server.env })
}

/** `assistant of child`, `system/init`, … */
const kindOf = (line: Json): string =>
  `${[line['type'], line['subtype']].filter(Boolean).join('/')}${line['parent_tool_use_id'] ? ' of child' : ''}`

describe.concurrent('on standard output there is', () => {
  it('the answer alone, as text', async () => {
    const { code, stdout, stderr } = await foreground([])
    expect([code, stdout]).toEqual([0, 'main done\n'])
    expect(stderr).toMatch(/^troupe: 2 agents, .* session [0-9a-f-]{36}: troupe log .*\n$/)
  })

  it('one object, as json', async () => {
    const { code, stdout } = await foreground(['--output-format', 'json'])
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'result',
      subtype: 'success',
      is_error: false,
      num_turns: 2,
      result: 'main done',
      stop_reason: 'end_turn',
      permission_denials: [],
      modelUsage: { 'claude-sonnet-5-5': { contextWindow: expect.any(Number) } },
    })
  })

  it('every step as a line, as stream-json', async () => {
    const { code, stdout } = await foreground(['--output-format', 'stream-json'])
    expect(code).toBe(0)
    const lines = jsonLines(stdout)
    expect(lines.map(kindOf)).toEqual([
      'system/init',
      'assistant',
      'assistant',
      'system/task_started',
      'user of child',
      'system/task_progress',
      'assistant of child',
      'user of child',
      'system/task_notification',
      'user',
      'assistant',
      'result/success',
    ])
    const ids = new Set(lines.map(({ session_id }) => session_id))
    expect(ids.size).toBe(1)
    expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(lines.length)
  })
})

/** Fields that only they have, and why we do not. */
const THEIRS_ONLY: Readonly<Record<string, string>> = {
  'system/init.claude_code_version': 'ours is troupe_version',
  'system/init.output_style': 'we have no output styles',
  'system/init.skills': 'skills come with a later part',
  'system/init.plugins': 'plugins come with a later part',
  'system/init.fast_mode_state': 'a mode of their service',
  'result/success.fast_mode_state': 'a mode of their service',
  'result/success.terminal_reason': 'the subtype says it',
}
/** Fields that only we have. */
const OURS_ONLY: Readonly<Record<string, string>> = {
  'system/init.troupe_version': 'theirs is claude_code_version',
  'user of child.tool_use_result': "theirs has it with the root's results only",
}

describe.skipIf(!existsSync(RECORDED))(`stream-json beside ${RECORDED}`, () => {
  let theirs: readonly Json[] = []
  let ours: readonly Json[] = []
  beforeAll(async () => {
    theirs = jsonLines(readFileSync(RECORDED, 'utf8'))
    ours = jsonLines((await foreground(['--output-format', 'stream-json'])).stdout)
  })

  it('has the same kinds in the same order, with the same fields but for those that are listed', () => {
    expect(ours.map(kindOf)).toEqual(theirs.map(kindOf))

    const only = (some: readonly Json[], others: readonly Json[]): string[] => [
      ...new Set(
        some.flatMap((line, i) =>
          Object.keys(line)
            .filter((field) => !Object.hasOwn(others[i] ?? {}, field))
            .map((field) => `${kindOf(line)}.${field}`),
        ),
      ),
    ]
    expect(only(theirs, ours).sort()).toEqual(Object.keys(THEIRS_ONLY).sort())
    expect(only(ours, theirs)).toEqual(Object.keys(OURS_ONLY))
    // What is inside of the child's result is read by programs, too.
    const resultOf = (lines: readonly Json[]): object =>
      Object(lines.find((line) => kindOf(line) === 'user')?.['tool_use_result'])
    const missing = Object.keys(resultOf(theirs)).filter((field) => !Object.hasOwn(resultOf(ours), field))
    expect(missing).toEqual([])
  })

  it('shows what was said and done word for word as theirs does', () => {
    const words = (lines: readonly Json[]) =>
      lines
        .filter(({ type }) => type === 'assistant' || type === 'system')
        .map((line) => [
          kindOf(line),
          line['summary'] ?? line['prompt'],
          Object(line['message'])['content']?.map((block: Json) => [
            block['type'],
            block['text'],
            block['name'],
            block['input'],
          ]),
          line['last_tool_name'],
          line['status'],
        ])
    expect(words(ours)).toEqual(words(theirs))
  })
})

/** Our logs, read by a usage meter that others wrote: it must count the tokens that we count. */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { callMany, type ScriptedParts } from '../../src/effects/model/scripted-reply.ts'
import type { Usage } from '../../src/machines/agent/messages.ts'
import { apiError, startMessagesServer, streamed } from '../helpers/messages-server.ts'
import { script, type Turns } from './support/conversation.ts'
import { createPlace, type Finished, REPO, until } from './support/program.ts'

const METER = path.join(REPO, 'node_modules/ccusage/src/cli.js')

/** Why the meter cannot run here; empty when it can. It is a program for the processor that it was installed on. */
function whyNoMeter(): string {
  try {
    execFileSync(process.execPath, [METER, '--version'], { stdio: 'ignore', timeout: 20_000 })
    return ''
  } catch (error) {
    return `ccusage does not run here: ${String(error).split('\n')[0]}`
  }
}

const usage = (n: number): Usage => ({
  input_tokens: 10 + n,
  output_tokens: 100 + n,
  cache_creation_input_tokens: 1_000 + n,
  cache_read_input_tokens: 10_000 + n,
})

const says = (n: number, parts: ScriptedParts) => streamed({ ...parts, usage: usage(n) })

const child = (type: string, prompt: string) => ({
  name: 'Agent',
  input: { description: 'part', prompt, subagent_type: type },
})

const TWO: Turns = [
  says(1, callMany([child('Explore', 'LOOK'), child('general-purpose', 'RUN')], 'Two of them.')),
  says(2, { text: 'done' }),
]

const answers = script({
  two: TWO,
  LOOK: [
    says(3, {
      thinking: 'Where?',
      ...callMany([
        { name: 'Grep', input: { pattern: 'b' } },
        { name: 'Read', input: { file_path: 'a.txt' } },
      ]),
    }),
    says(4, { text: 'a.txt:1' }),
  ],
  RUN: [says(5, callMany([{ name: 'Bash', input: { command: 'ls' } }])), says(6, { text: 'one file' })],
  half: [says(7, callMany([child('general-purpose', 'BREAK')])), says(8, { text: 'it failed' })],
  BREAK: [says(9, callMany([{ name: 'Bash', input: { command: 'ls' } }])), apiError(400)],
  killed: [says(10, callMany([child('general-purpose', 'SLEEP')])), says(11, { text: 'resumed' })],
  SLEEP: [
    says(12, callMany([{ name: 'Bash', input: { command: 'touch asleep; sleep 96' } }])),
    says(13, { text: 'woken' }),
  ],
})

/** The counts of one session, per model, under one set of names. */
type Counts = Readonly<Record<string, readonly number[]>>

/** Of one or more runs, from their `json` results. */
function ourCounts(...runs: readonly Finished[]): Counts {
  const sums: Record<string, number[]> = {}
  for (const { stdout } of runs) {
    const models: Record<string, Record<string, number>> = JSON.parse(stdout).modelUsage
    for (const [model, counted] of Object.entries(models)) {
      const fields = ['inputTokens', 'outputTokens', 'cacheCreationInputTokens', 'cacheReadInputTokens']
      sums[model] = fields.map((field, i) => (sums[model]?.[i] ?? 0) + (counted[field] ?? Number.NaN))
    }
  }
  return sums
}

interface MeteredSession {
  readonly sessionId: string
  readonly totalTokens: number
  readonly modelBreakdowns: readonly Readonly<Record<string, unknown>>[]
}

function theirCounts(session: MeteredSession | undefined): Counts {
  const fields = ['inputTokens', 'outputTokens', 'cacheCreationTokens', 'cacheReadTokens']
  return Object.fromEntries(
    (session?.modelBreakdowns ?? []).map((counted) => [
      String(counted['modelName']),
      fields.map((field) => Number(counted[field])),
    ]),
  )
}

const total = (counts: Counts): number =>
  Object.values(counts)
    .flat()
    .reduce((sum, count) => sum + count, 0)

const noMeter = whyNoMeter()

describe.skipIf(noMeter !== '')(`the counts of ccusage${noMeter && `: ${noMeter}`}`, () => {
  it('are ours: for a tree, for a failed child, after a crash, over several runs', async () => {
    await using place = createPlace({ 'a.txt': 'a\nb\n' })
    await using server = await startMessagesServer(answers)
    const { env } = server
    const flags = ['--output-format', 'json', '--allowedTools', 'Bash']
    const idOf = ({ stdout }: Finished): string => JSON.parse(stdout).session_id
    const run = async (args: readonly string[]): Promise<Finished> => {
      const end = await place.troupe([...args, ...flags], { env })
      expect(end.code, end.stderr).toBe(0)
      return end
    }

    const inTwoRuns = async () => {
      const first = await run(['-p', 'two'])
      return [first, await run(['-r', idOf(first), '-p', 'two more'])]
    }
    const withFailedChild = async () => [await run(['-p', 'half'])]
    const killedAndResumed = async () => {
      const id = '33333333-3333-4333-8333-333333333333'
      const started = place.start(['-p', 'killed', '--session-id', id, ...flags], { env })
      const logged = () =>
        [...place.logs().values()].some(
          (text) => text.includes('"process.started"') && text.includes('sleep 96'),
        )
      await until(logged, 'the sleeping command')
      started.kill('SIGKILL')
      await started.finished
      return [await run(['-r', id])]
    }
    const sessions = await Promise.all([inTwoRuns(), withFailedChild(), killedAndResumed()])

    const metered: { readonly sessions: readonly MeteredSession[] } = JSON.parse(
      execFileSync(process.execPath, [METER, 'claude', 'session', '--json', '--offline'], {
        env: { PATH: process.env['PATH'], CLAUDE_CONFIG_DIR: place.troupeHome, HOME: place.home },
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
        timeout: 60_000,
      }),
    )
    expect(metered.sessions).toHaveLength(sessions.length)
    for (const runs of sessions) {
      const [first] = runs
      const theirs = metered.sessions.find(
        ({ sessionId }) => first !== undefined && sessionId === idOf(first),
      )
      const ours = ourCounts(...runs)
      expect(theirCounts(theirs)).toEqual(ours)
      expect(theirs?.totalTokens).toBe(total(ours))
    }
    // Both children of the tree are in it, and the second run, which had none.
    expect(ourCounts(...sessions[0])).toMatchObject({ 'claude-haiku-5-5': [27, 207, 2_007, 20_007] })
  })
})

/** An independent reader of transcripts counts our logs: the writer's rules hold where they matter. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import type { ReplyDraft } from '../../src/machines/agent/events.ts'
import { CHILD, ROOT, SESSION, writeLog } from '../helpers/logs.ts'
import { prepared, started } from '../helpers/run-events.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const meter = path.resolve(import.meta.dirname, '../../node_modules/.bin/ccusage')

const reply = (id: string, input: number, output: number): ReplyDraft => ({
  type: 'reply.received',
  requestId: `req_${id}`,
  concurrencySafe: [],
  reply: {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    container: null,
    content: [
      // The meter drops each line that has a null of this name anywhere; the reply's other lines are still counted.
      { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { id: null } },
      { type: 'text', text: 'last' },
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output, cache_read_input_tokens: 7, service_tier: null },
  },
})

it.skipIf(!existsSync(meter))(
  'counts each reply of parent and child once (needs ccusage, a development dependency)',
  () => {
    const home = temporaryFolder()
    const paths = sessionPaths(home, '/project', SESSION)
    const storage = createFileStorage({ durability: 'write' })
    const root = writeLog([started(), prepared(), reply('1', 100, 10), reply('2', 200, 20)], {
      identity: ROOT,
    })
    const child = writeLog([started(), prepared(), reply('3', 1_000, 1)], { identity: CHILD })
    storage.append([
      { path: paths.rootLog, text: root.text },
      { path: paths.agentLog(CHILD.agentId), text: child.text },
    ])
    storage.release(paths.rootLog)
    storage.release(paths.agentLog(CHILD.agentId))

    const output = execFileSync(meter, ['claude', 'session', '--json', '--offline'], {
      env: { ...process.env, CLAUDE_CONFIG_DIR: home, HOME: path.join(home, 'nobody') },
      encoding: 'utf8',
    })
    const { totals } = JSON.parse(output)
    expect(totals).toMatchObject({ inputTokens: 1_300, outputTokens: 31, cacheReadTokens: 21 })
  },
)

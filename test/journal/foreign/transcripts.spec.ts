/** Transcripts of Claude Code as logs: each file of the corpus, and the shapes that are easy to get wrong. */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFileStorage } from '../../../src/journal/file-storage.ts'
import { createMemoryStorage } from '../../../src/journal/memory-storage.ts'
import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import { replay } from '../../../src/journal/replay/replay.ts'
import { replaySession } from '../../../src/journal/replay/replay-session.ts'

const CORPUS = process.env['TROUPE_CORPUS'] ?? path.resolve(import.meta.dirname, '../../../../shared/corpus')
const FOLDER = path.join(CORPUS, 'transcripts')
const storage = createFileStorage({ durability: 'write' })

const files = existsSync(FOLDER)
  ? readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.(jsonl|json|md)$/.test(file),
    )
  : []

/** By the end of a path: runs, replies, calls, the last text. What is not here has no conversation. */
const EXPECTED: Readonly<
  Record<string, readonly [runs: number, replies: number, calls: number, text: string]>
> = {
  'f45335ee-9ae5-428a-8e3c-b040d9bac55d.jsonl': [3, 5, 2, 'main done after notification'],
  'background-then-message/stdout.jsonl': [3, 5, 2, 'main done after notification'],
  // Its second run repeats the first line, so that its own program goes on from there, without the first answer.
  'agent-a9668845503ba7d78.jsonl': [1, 1, 0, 'followup handled'],
  '07679179-209e-4c95-b197-520c21888d85.jsonl': [1, 2, 1, 'main done'],
  'foreground/stdout.jsonl': [1, 2, 1, 'main done'],
  'agent-a15691254c34be789.jsonl': [1, 2, 1, 'sub done: found files'],
  '71cc63f4-4a30-4c87-944c-6ed8b187440c.jsonl': [1, 2, 4, 'main done'],
  'worktrees/stdout.jsonl': [1, 2, 4, 'main done'],
  'agent-a70dc2526c174495d.jsonl': [1, 2, 1, 'sub done'],
  'agent-a83d6f537df40685d.jsonl': [1, 2, 1, 'sub done'],
  'agent-ad0b089b1b7ad1a49.jsonl': [1, 2, 1, 'sub done'],
  'dag_compact_after_rewind.jsonl': [1, 1, 0, ''],
  'edge_cases.jsonl': [4, 4, 3, ''],
  '55550000-0000-4000-8000-000000000001.jsonl': [1, 5, 5, ''],
  'agent-showcol1.jsonl': [1, 1, 0, ''],
  'agent-showcol2.jsonl': [1, 2, 1, ''],
  'representative_messages.jsonl': [4, 5, 2, ''],
  'session_b.jsonl': [2, 1, 0, ''],
  'todowrite_examples.jsonl': [5, 6, 3, ''],
  'claude_agent.jsonl': [1, 1, 0, ''],
  'cleanup/input.jsonl': [1, 1, 0, ''],
  'subagent/input.jsonl': [1, 1, 0, ''],
  'tool-call/input.jsonl': [1, 2, 1, 'Patched the backoff.'],
  'sample_session.jsonl': [2, 3, 2, 'Done! The hello function is ready.'],
  'valid_session.jsonl': [2, 2, 1, 'Applied the fix.'],
  'e2e-dashboard.jsonl': [2, 1, 0, ''],
}

describe.skipIf(files.length === 0)(`the transcripts of ${FOLDER}`, () => {
  it.each(files)('%s is read as far as it goes', async (file) => {
    const { conversation, violations, messages, damage } = await replay(storage, path.join(FOLDER, file))
    const entries = [...conversation.entries()].map(({ event }) => event)
    const counted = [
      entries.filter(({ type }) => type === 'run.started').length,
      entries.filter(({ type }) => type === 'reply.received').length,
      entries.flatMap((event) => (event.type === 'reply.received' ? event.calls : [])).length,
    ]
    const key = Object.keys(EXPECTED).find((end) => file === end || file.endsWith(`/${end}`))
    const [runs, replies, calls, text] = (key === undefined ? undefined : EXPECTED[key]) ?? [0, 0, 0, '']
    expect(counted).toEqual([runs, replies, calls])
    expect(violations).toEqual([])
    expect(damage.filter(({ kind }) => kind === 'damage')).toEqual([])
    expect(requestViolations(messages)).toEqual([])
    const last = entries.findLast((event) => event.type === 'reply.received')
    if (text !== '' && last?.type === 'reply.received') expect(conversation.textOfReply(last.seq)).toBe(text)
  })

  it('have their sub-agents where their calls name them', async () => {
    const root = files.find((file) => file.endsWith('71cc63f4-4a30-4c87-944c-6ed8b187440c.jsonl')) ?? ''
    const tree = await replaySession(storage, path.join(FOLDER, root))
    expect(tree.children.map(({ state, phase }) => [state.birth?.plan.agentType, phase])).toEqual(
      Array.from({ length: 3 }, () => ['general-purpose', 'completed']),
    )
  })
})

const line = (more: object): string => `${JSON.stringify(more)}\n`
const user = (uuid: string, parentUuid: string | null, content: unknown) =>
  line({
    type: 'user',
    uuid,
    parentUuid,
    isSidechain: false,
    sessionId: 's',
    message: { role: 'user', content },
  })
const assistant = (uuid: string, parentUuid: string, id: string, block: object) =>
  line({
    type: 'assistant',
    uuid,
    parentUuid,
    isSidechain: false,
    message: { id, role: 'assistant', content: [block] },
  })

async function read(text: string) {
  return replay(createMemoryStorage({ files: new Map([['/t.jsonl', text]]) }), '/t.jsonl')
}

describe('a transcript', () => {
  it('goes on from the branch that was written last, not from a rewound one', async () => {
    const { messages } = await read(
      user('1', null, 'start') +
        assistant('2', '1', 'm1', { type: 'text', text: 'ok' }) +
        user('3', '2', 'the dead branch') +
        user('4', '2', 'the live branch'),
    )
    expect(messages.map(({ content }) => content)).toEqual([
      'start',
      [{ type: 'text', text: 'ok' }],
      'the live branch',
    ])
  })

  it('has every result of a turn, whichever of them the chain goes through', async () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'X', input: {} })
    const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: id }]
    const { messages, state } = await read(
      user('1', null, 'start') +
        assistant('2', '1', 'm1', use('t1')) +
        assistant('3', '2', 'm1', use('t2')) +
        user('4', '3', result('t2')) +
        user('5', '2', result('t1')) +
        assistant('6', '5', 'm2', { type: 'text', text: 'done' }),
    )
    expect(messages[2]?.content).toMatchObject([{ content: 't1' }, { content: 't2' }])
    expect(state.run?.value).toBe('completed')
  })

  it('ends where its chain is a circle', async () => {
    const { events } = await read(user('1', '2', 'a') + assistant('2', '1', 'm', { type: 'text', text: 'b' }))
    expect(events).toBeGreaterThanOrEqual(0)
  })
})

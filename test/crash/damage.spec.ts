/** What a resume makes of files that a crash, a disk or a person has damaged. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { UNREADABLE_GRACE_MS } from '../../src/journal/session-lock.ts'
import { eventTypeOf } from './support/kill-point.ts'
import { expectLawful } from './support/laws.ts'
import type { Ending, LiveOptions, SmallWorld } from './support/small-world.ts'
import { createSmallWorld, live } from './support/small-world.ts'
import { callsIn, ofType, readLogs } from './support/stage.ts'

const THE_END = { status: 'completed', text: 'the end' }

/** The last engine: ends the session, after which nothing must be left to do. */
async function finish(world: SmallWorld, options: LiveOptions = {}): Promise<Ending> {
  const ending = await live(world, options)
  expect(ending.hasDied).toBe(false)
  if (ending.result !== undefined) expect(ending.result).toMatchObject(THE_END)
  expect(await live(world), 'a finished session is opened without a complaint').toMatchObject({
    result: undefined,
    hasDied: false,
  })
  return ending
}

describe('a torn last line', () => {
  it('wherever a write is cut: the session goes on, and once more', async () => {
    let torn = 0
    for (let at = 1; ; at += 1) {
      const world = createSmallWorld()
      const share = [0.3, 0.6, 0.97][at % 3] ?? 0
      // With and without snapshots.
      const options = at % 2 === 0 ? { snapshotEvery: 2 } : {}
      const { hasDied } = await live(world, { ...options, tear: { at, share } })
      if (!hasDied) break
      torn += 1
      // The second engine dies the same way, so that the third finds what is left of a tear in the middle.
      await live(world, { ...options, tear: { at: 1 + (at % 7), share } })
      await finish(world, options)
      const logs = await readLogs(world.stage)
      expectLawful(logs)
      expect(logs, `append ${at}: no child is started twice`).toHaveLength(3)
      for (const id of ['alpha', 'beta', 'parent']) {
        expect(world.bodies.get(`Act ${id}`) ?? 0, `append ${at}: Act ${id}`).toBeLessThanOrEqual(1)
      }
    }
    expect(torn).toBeGreaterThan(25)
  })
})

/** A session whose engine died when the root had begun to act, after both children. The lines of the root's log. */
async function interrupted(
  options: LiveOptions = {},
): Promise<{ readonly world: SmallWorld; readonly lines: readonly string[] }> {
  const world = createSmallWorld()
  const tear = { event: 'call.started', of: 'root', nth: 3, share: 1 } as const
  expect(await live(world, { ...options, tear })).toMatchObject({ hasDied: true })
  return { world, lines: readFileSync(world.stage.paths.rootLog, 'utf8').trimEnd().split('\n') }
}

describe('a damaged line in the middle', () => {
  const kinds: Readonly<Record<string, (line: string) => string | Buffer>> = {
    'NUL bytes': (line) => '\0'.repeat(line.length),
    'half a line': (line) => line.slice(0, line.length / 2),
    'bytes that are no UTF-8': (line) => Buffer.from(line).fill(0xff, 10, 20),
    'another shape': (line) => line.replace('"uuid":', '"uuid":7,"was":'),
  }

  /** Replaces a line of the root's log. */
  function damageLine(world: SmallWorld, lines: readonly string[], index: number, by: string | Buffer): void {
    const parts = lines.flatMap((line, i) => [Buffer.from(i === index ? by : line), Buffer.from('\n')])
    writeFileSync(world.stage.paths.rootLog, Buffer.concat(parts))
  }

  it.each(Object.entries(kinds))(
    '%s: the resume is refused with the place, and accepted damage is in the log',
    async (_, spoil) => {
      const { world, lines } = await interrupted()
      const index = lines.findIndex((line) => eventTypeOf(line) === 'call.ended')
      damageLine(world, lines, index, spoil(lines[index] ?? ''))
      const before = readFileSync(world.stage.paths.rootLog)
      await expect(live(world)).rejects.toMatchObject({
        code: 'damaged-log',
        message: expect.stringMatching(
          new RegExp(`${world.stage.paths.rootLog} is damaged at bytes \\d+–\\d+ .*--accept-damage`),
        ),
      })
      expect(readFileSync(world.stage.paths.rootLog), 'a refusal changes nothing').toEqual(before)

      // Accepted once, it is accepted: a later crash does not ask again.
      expect(await live(world, { acceptDamage: true, tear: { at: 2, share: 0.5 } })).toMatchObject({
        hasDied: true,
      })
      await finish(world)
      const root = (await readLogs(world.stage))[0]
      const accepted = ofType(root?.events ?? [], 'run.resumed').map(
        ({ acceptedDamage }) => acceptedDamage?.length ?? 0,
      )
      expect(accepted).toEqual([1, 0])
      expect(ofType(root?.events ?? [], 'agent.ended')).toHaveLength(1)
    },
  )

  it('a missing line and two glued ones are refused alike', async () => {
    const { world, lines } = await interrupted()
    writeFileSync(
      world.stage.paths.rootLog,
      lines
        .toSpliced(3, 1)
        .map((line) => `${line}\n`)
        .join(''),
    )
    await expect(live(world)).rejects.toMatchObject({
      code: 'damaged-log',
      message: expect.stringContaining('gap'),
    })
    writeFileSync(world.stage.paths.rootLog, lines.map((line, i) => (i === 3 ? line : `${line}\n`)).join(''))
    await expect(live(world)).rejects.toMatchObject({ code: 'damaged-log' })
  })

  it('a position that is there twice is refused: two processes have written', async () => {
    const { world, lines } = await interrupted()
    const twice = lines.toSpliced(-1, 0, lines.at(-2) ?? '')
    writeFileSync(world.stage.paths.rootLog, twice.map((line) => `${line}\n`).join(''))
    await expect(live(world)).rejects.toMatchObject({
      code: 'damaged-log',
      message: expect.stringContaining('repeat'),
    })
    await finish(world, { acceptDamage: true })
  })

  it('whichever line it is: refused without, and with acceptance an end or a reason', async () => {
    const { lines } = await interrupted()
    const ends: string[] = []
    for (let index = 0; index < lines.length - 1; index += 1) {
      const { world, lines: own } = await interrupted()
      damageLine(world, own, index, 'x')
      await expect(live(world), `line ${index}`).rejects.toMatchObject({ code: 'damaged-log' })
      const ending = await live(world, { acceptDamage: true }).catch((error: unknown) => error)
      if (ending instanceof Error) ends.push(`${index}: ${String('code' in ending && ending.code)}`)
      else
        expect(ending, `line ${index}, ${own[index]}`).toMatchObject({
          hasDied: false,
          result: { status: 'completed' },
        })
    }
    // Without its birth an agent is nobody, and without its prompt nobody has asked it anything.
    expect(ends).toEqual(['0: impossible-log', '1: impossible-log'])
  })

  it('in the log of a child is refused with that log', async () => {
    const world = createSmallWorld()
    await live(world, { tear: { event: 'call.started', of: 'child', nth: 3, share: 1 } })
    const child = (await readLogs(world.stage)).at(-1)
    if (child === undefined) throw new Error('two children were started')
    const lines = readFileSync(child.path, 'utf8').trimEnd().split('\n')
    writeFileSync(child.path, lines.map((line, i) => (i === 2 ? 'x\n' : `${line}\n`)).join(''))
    await expect(live(world)).rejects.toMatchObject({
      code: 'damaged-log',
      message: expect.stringContaining(child.path),
    })
    await finish(world, { acceptDamage: true })
  })
})

describe('files beside the logs', () => {
  const blobsOf = ({ stage }: SmallWorld): string => path.join(stage.paths.sessionFolder, 'blobs')

  it.each(['deleted', 'torn', 'of garbage', 'kept'])('snapshots may be %s', async (state) => {
    const { world } = await interrupted({ snapshotEvery: 3 })
    const { snapshots } = world.stage.paths
    const files = readdirSync(snapshots).map((name) => path.join(snapshots, name))
    expect(files.length, 'there are snapshots at all').toBeGreaterThan(0)
    for (const file of files) {
      if (state === 'torn') writeFileSync(file, readFileSync(file).subarray(0, 100))
      if (state === 'of garbage') writeFileSync(file, 'x\n')
    }
    if (state === 'deleted') rmSync(snapshots, { recursive: true })
    await finish(world, { snapshotEvery: 3 })
    expectLawful(await readLogs(world.stage))
  })

  it('what others read about a child may be deleted', async () => {
    const { world } = await interrupted()
    const { subagents } = world.stage.paths
    for (const name of readdirSync(subagents)) {
      if (name.endsWith('.meta.json')) rmSync(path.join(subagents, name))
    }
    await finish(world)
    expectLawful(await readLogs(world.stage))
  })

  it('a missing blob is rendered again; the same text comes out, and nothing else happens', async () => {
    const { world } = await interrupted()
    const before = readdirSync(blobsOf(world)).map((name) => [
      name,
      readFileSync(path.join(blobsOf(world), name), 'utf8'),
    ])
    rmSync(blobsOf(world), { recursive: true })
    const { diagnostics } = await finish(world)
    // Rendering one of the two stores both.
    expect(diagnostics).toEqual(['blob-restored'])
    const root = (await readLogs(world.stage))[0]
    expect(ofType(root?.events ?? [], 'run.resumed')[0]).not.toHaveProperty('differences')
    const restored = readdirSync(blobsOf(world)).map((name) => [
      name,
      readFileSync(path.join(blobsOf(world), name), 'utf8'),
    ])
    expect(before).toEqual(expect.arrayContaining(restored))
    expect(restored.length).toBeGreaterThanOrEqual(2)
  })

  it('a damaged blob is not believed', async () => {
    const { world } = await interrupted()
    for (const name of readdirSync(blobsOf(world))) {
      const file = path.join(blobsOf(world), name)
      writeFileSync(file, readFileSync(file, 'utf8').replace(/e/g, 'x'))
    }
    const { diagnostics } = await finish(world)
    expect(diagnostics).toEqual(['blob-restored', 'blob-restored'])
    expect((await finish(world)).diagnostics).toEqual([])
  })

  it('a lost prompt that cannot be rendered as it was is a difference that the log names', async () => {
    const { world } = await interrupted()
    rmSync(blobsOf(world), { recursive: true })
    const { diagnostics } = await finish(world, { appendSystemPrompt: 'Be brief.' })
    expect(diagnostics).toEqual(['prompt-differs'])
    const root = (await readLogs(world.stage))[0]
    expect(ofType(root?.events ?? [], 'run.resumed')[0]?.differences).toEqual([
      expect.stringContaining('the system prompt of agent'),
    ])
  })

  it('as long as its blob is there, a prompt stays what it was, whatever the options say now', async () => {
    const { world } = await interrupted()
    const { diagnostics } = await finish(world, { appendSystemPrompt: 'Be brief.' })
    expect(diagnostics).toEqual([])
  })
})

describe('a tool that is gone', () => {
  it('its started call is told as interrupted, not as one that nobody has made', async () => {
    const { world } = await interrupted()
    await finish({ ...world, tools: world.tools.filter(({ name }) => name !== 'Act') })
    const calls = callsIn((await readLogs(world.stage))[0]?.events ?? [])
    expect(calls.find(({ name }) => name === 'Act')?.ended).toMatchObject({
      outcome: 'interrupted',
      result: { content: expect.stringContaining('may have run') },
    })
  })
})

describe('a lock', () => {
  const owner = { host: 'another-host', pid: 1, engine: 'e', startedAt: '2026-01-01T00:00:00.000Z' }

  it('of another host is refused until it is taken over', async () => {
    const { world } = await interrupted()
    writeFileSync(world.stage.paths.lock, JSON.stringify(owner))
    await expect(live(world)).rejects.toMatchObject({
      code: 'session-locked',
      message: expect.stringMatching(/process 1 on another-host .*--take-over/),
    })
    await finish(world, { takeOver: true })
    expect(existsSync(world.stage.paths.lock)).toBe(false)
  })

  it('of a process that is gone is taken over without a word', async () => {
    const { world } = await interrupted()
    // No process has this number: it is above what Linux gives out.
    writeFileSync(world.stage.paths.lock, JSON.stringify({ ...owner, host: hostname(), pid: 2 ** 22 + 1 }))
    await finish(world)
  })

  it('of garbage is refused while it may be one in the making, and taken over later', async () => {
    const { world } = await interrupted()
    const { lock } = world.stage.paths
    writeFileSync(lock, 'gar\0bage')
    await expect(live(world)).rejects.toMatchObject({
      code: 'session-locked',
      message: expect.stringContaining(lock),
    })
    const old = (Date.now() - 2 * UNREADABLE_GRACE_MS) / 1000
    utimesSync(lock, old, old)
    await finish(world)
  })
})

describe('a session that had hardly begun', () => {
  const rootLogOf = async (text: string, of?: SmallWorld): Promise<SmallWorld> => {
    const world = createSmallWorld()
    const { paths } = world.stage
    mkdirSync(paths.folder, { recursive: true })
    // A log says in which folder its agent works; this one is told that it is the new world's.
    const own = of === undefined ? text : text.replaceAll(of.stage.project, world.stage.project)
    writeFileSync(paths.rootLog, own)
    return world
  }

  it.each([
    ['an empty log', ''],
    ['a torn first line', '{"type":"system","subtype":"troupe","seq":0,"time'],
  ])('%s: there is nothing to resume, and the prompt starts it', async (_, text) => {
    const world = await rootLogOf(text)
    expect((await finish(world)).result).toMatchObject(THE_END)
    expectLawful(await readLogs(world.stage))
  })

  it('a root that was born and never asked: there is nothing to resume, and the prompt starts its first run', async () => {
    const whole = createSmallWorld()
    await live(whole)
    const [birth] = readFileSync(whole.stage.paths.rootLog, 'utf8').split('\n')
    const world = await rootLogOf(`${birth}\n`, whole)
    expect((await finish(world)).result).toMatchObject({ ...THE_END, run: 1 })
    const logs = await readLogs(world.stage)
    expectLawful(logs)
    expect(ofType(logs[0]?.events ?? [], 'agent.spawned')).toHaveLength(1)
  })
})

/**
 * What nobody can do: one line that says what is wrong and what to do, an exit code that is not 0, nothing left
 * behind that looks like work, and no stack trace.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectSlug } from '../../src/journal/paths.ts'
import { startMessagesServer } from '../helpers/messages-server.ts'
import { CLI, createPlace, type Finished, filesBelow, jsonLines, type Place } from './support/program.ts'
import { anybody, giveTo, unprivileged } from './support/unprivileged.ts'

const ID = '11111111-1111-4111-8111-111111111111'
/** A run that needs no network and says nothing of it. */
const ASK = ['-p', 'where is retry?', '--model', 'offline']

/** One line of explanation, and nothing else. */
function expectRefusal({ code, stdout, stderr }: Finished, reason: RegExp, exit: number): void {
  expect(stderr).toMatch(reason)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).toMatch(/^troupe: /)
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+/)
  expect([code, stdout]).toEqual([exit, ''])
}

const expectNothingWritten = ({ troupeHome, home }: Place): void =>
  expect([...filesBelow(troupeHome), ...filesBelow(home)]).toEqual([])

describe.concurrent('a line that nobody can mean', () => {
  const lines: [string, readonly string[], RegExp][] = [
    ['an unknown flag', ['--nope'], /unknown option '--nope'/],
    ['no prompt', ['-p'], /there is no prompt; give one/],
    ['a session id that is none', [...ASK, '--session-id', 'nope'], /'--session-id <uuid>' .*must be a UUID/],
    ['no turns', [...ASK, '--max-turns', '0'], /'--max-turns <n>' .*whole number, 1 or more/],
    ['an unknown format', [...ASK, '--output-format', 'xml'], /Allowed choices are text, json, stream-json/],
    ['an unknown mode', [...ASK, '--permission-mode', 'yolo'], /Allowed choices are default, acceptEdits/],
    ['a rule that is none', [...ASK, '--allowedTools', 'Bash('], /brackets of the rule "Bash\("/],
    [
      'partial messages in a text',
      [...ASK, '--include-partial-messages'],
      /needs --output-format stream-json/,
    ],
    ['two sessions at once', [...ASK, '-r', ID, '-c'], /cannot be used with/],
    ['a model without its key', ['-p', 'x', '--model', 'claude-x'], /claude-x needs ANTHROPIC_API_KEY/],
    ['a replay of nothing', ['replay'], /missing required argument/],
  ]
  it.each(lines)('(%s) is refused with 2', async (_, args, reason) => {
    await using place = createPlace()
    expectRefusal(await place.troupe(args), reason, 2)
    expectNothingWritten(place)
  })

  it.each([
    ['TROUPE_MAX_RETRIES', '-1'],
    ['TROUPE_FIRST_BYTE_MS', '0'],
    ['TROUPE_GAP_MS', '2s'],
    ['TROUPE_OFFLINE_PACE_MS', '1.5'],
  ])('(the variable %s is %s) is refused with 2', async (name, value) => {
    await using place = createPlace()
    const end = await place.troupe(ASK, { env: { [name]: value } })
    expectRefusal(end, new RegExp(`${name} is "${value}"; set it to a whole number`), 2)
    expectNothingWritten(place)
  })
})

describe.concurrent('a session that is not there', () => {
  it.each([
    ['resumed', ['-r', 'abcdef', ...ASK], /no session "abcdef" of .*; see troupe sessions/],
    ['continued', ['-c', ...ASK], /there is no session of .* to continue/],
    ['told', ['log', 'abcdef'], /no session "abcdef"/],
    ['replayed from a file', ['replay', './nope.jsonl'], /there is no log at .*nope\.jsonl/],
  ])('cannot be %s', async (_, args, reason) => {
    await using place = createPlace()
    expectRefusal(await place.troupe(args), reason, 1)
    expectNothingWritten(place)
  })
})

describe.concurrent('a directory', () => {
  it('that is gone cannot be worked in', async () => {
    await using place = createPlace()
    const gone = path.join(place.root, 'gone')
    mkdirSync(gone)
    // The shell stands in it while it goes.
    const args = ['-c', `rmdir "$PWD" && exec "$0" "$@"`, process.execPath, CLI, ...ASK]
    const env = { PATH: process.env['PATH'], HOME: place.home, TROUPE_HOME: place.troupeHome }
    let status: unknown
    let stderr = ''
    try {
      execFileSync('/bin/sh', args, { cwd: gone, env, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })
    } catch (error) {
      // What a failed child process throws has both.
      ;({ status, stderr } = error as { status: unknown; stderr: string })
    }
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^troupe: the directory .*gone cannot be read/),
    ])
    expectNothingWritten(place)
  })

  it('where a log should be is named, and left alone', async () => {
    await using place = createPlace()
    const log = path.join(place.troupeHome, 'projects', projectSlug(place.project), `${ID}.jsonl`)
    mkdirSync(log, { recursive: true })
    const met = /\.jsonl failed: EISDIR.* a folder is where a file has to be/
    expectRefusal(await place.troupe([...ASK, '--session-id', ID]), met, 1)
    expectRefusal(await place.troupe(['-r', ID, ...ASK]), met, 1)
    expectRefusal(await place.troupe(['replay', log]), /\.jsonl is a folder; name a log file in it/, 1)
    expectNothingWritten(place)
  })

  it('cannot be made where the journal is a file', async () => {
    await using place = createPlace()
    writeFileSync(place.troupeHome, 'a file')
    expectRefusal(
      await place.troupe(ASK),
      /journal, where sessions are kept, is no folder; set TROUPE_HOME/,
      1,
    )
    expect(readFileSync(place.troupeHome, 'utf8')).toBe('a file')
  })

  it.skipIf(process.platform !== 'linux')('cannot be made where the system makes none', async () => {
    await using place = createPlace()
    const end = await place.troupe(ASK, { env: { TROUPE_HOME: '/proc/nowhere' } })
    expectRefusal(end, /\/proc\/nowhere.* failed: ENOENT/, 1)
  })
})

const whyNoRights = typeof unprivileged === 'string' ? unprivileged : ''

describe.skipIf(whyNoRights !== '')(`rights${whyNoRights && `: ${whyNoRights}`}`, () => {
  it('to read the project are needed', async () => {
    await using place = createPlace()
    giveTo(anybody, place)
    chmodSync(place.project, 0o000)
    try {
      const end = await place
        .troupe(ASK, { user: anybody, cwd: place.project })
        .catch((error: unknown) => error)
      // The system does not even let a process start there, or the program says it.
      if (end instanceof Error) expect(end.message).toMatch(/EACCES/)
      else expectRefusal(end as Finished, /the directory .* cannot be read/, 1)
      expectNothingWritten(place)
    } finally {
      chmodSync(place.project, 0o700)
    }
  })

  it('to write the home are needed', async () => {
    await using place = createPlace()
    giveTo(anybody, place)
    chmodSync(place.home, 0o500)
    const end = await place.troupe(ASK, { user: anybody, env: { TROUPE_HOME: undefined } })
    expectRefusal(end, /home\/\.troupe\/.* EACCES: .*set another home folder/, 1)
    expectNothingWritten(place)
  })

  it('to write a log are needed to go on with it', async () => {
    await using place = createPlace()
    giveTo(anybody, place)
    expect((await place.troupe([...ASK, '--session-id', ID], { user: anybody })).code).toBe(0)
    const [log = '', before] = [...place.logs()][0] ?? []
    chmodSync(log, 0o400)
    expectRefusal(await place.troupe(['-r', ID, ...ASK], { user: anybody }), /\.jsonl .*EACCES/, 1)
    expect(place.logs().get(log)).toBe(before)
  })
})

describe('a session that another process holds', () => {
  it('is refused to the second, which names the first; the first notices nothing', async () => {
    await using place = createPlace()
    let answer: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      answer = resolve
    })
    await using server = await startMessagesServer(() => asked.then(() => 'done'))
    const first = place.start(['-p', 'go', '--session-id', ID], { env: server.env })
    await server.received(1)
    const log = () => [...place.logs().values()].join('')
    const before = log()

    const attempts = [
      ['-r', ID],
      ['-r', ID, '-p', 'x'],
      ['-p', 'x', '--session-id', ID],
      ['-c', '-p', 'x'],
    ]
    const refused = await Promise.all(attempts.map((args) => place.troupe([...args, '--model', 'offline'])))
    for (const end of refused) {
      expectRefusal(end, new RegExp(`${ID}.*process ${first.pid}\\b|process ${first.pid}\\b.*${ID}`), 1)
    }
    expect(log()).toBe(before)

    // Reading needs no lock.
    const sessions = await place.troupe(['sessions', '--json'])
    expect(jsonLines(sessions.stdout)).toMatchObject([{ session_id: ID }])
    answer()
    expect(await first.finished).toMatchObject({ code: 0, stdout: 'done\n' })
  })
})

/** A disk of one megabyte at a path. Throws where this is not allowed. */
function mountSmallDisk(folder: string): AsyncDisposable {
  mkdirSync(folder)
  execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], {
    stdio: 'ignore',
    timeout: 5_000,
  })
  return {
    async [Symbol.asyncDispose]() {
      execFileSync('/bin/umount', ['-l', folder], { stdio: 'ignore', timeout: 5_000 })
    },
  }
}

async function whyNoDisk(): Promise<string> {
  if (process.platform !== 'linux') return 'only Linux can mount a disk in memory'
  await using place = createPlace()
  try {
    await using _disk = mountSmallDisk(path.join(place.root, 'disk'))
    return ''
  } catch {
    return 'no right to mount a disk in memory; a failing storage is tested in memory, too'
  }
}

const noDisk = await whyNoDisk()

describe.skipIf(noDisk !== '')(`a full disk${noDisk && `: ${noDisk}`}`, () => {
  it.each([16, 32])(
    'with %d KiB left ends the run with a reason, and the session goes on later',
    async (left) => {
      await using place = createPlace({ 'src/retry.ts': 'export const retry = 1\n' })
      await using _disk = mountSmallDisk(place.troupeHome)
      const filler = path.join(place.troupeHome, 'filler')
      writeFileSync(filler, Buffer.alloc((1_024 - left) * 1_024))
      const end = await place.troupe([...ASK, '--session-id', ID])
      expect([end.code, end.stdout]).toEqual([1, ''])
      expect(end.stderr).toMatch(/ENOSPC|disk full/)
      expect(end.stderr).not.toMatch(/\bat .*:\d+:\d+/)
      // Nothing half-written stands in a log: whatever is there ends with a whole line.
      for (const text of place.logs().values()) expect(text).toMatch(/^$|\n$/)

      rmSync(filler)
      const replay = await place.troupe(['replay', ID, '--json'])
      expect(replay.code, replay.stdout).toBe(0)
      await place.troupe(['-r', ID])
      const again = await place.troupe(['-r', ID, ...ASK])
      expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringContaining('src/retry.ts')])
    },
  )
})

/** A session on a real disk, and the lives of the processes that work on it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { createFileStorage } from '../../../src/journal/file-storage.ts'
import type { SessionPaths } from '../../../src/journal/paths.ts'
import { sessionPaths } from '../../../src/journal/paths.ts'
import type { LoadedLog } from '../../../src/journal/read-log.ts'
import { loadLog } from '../../../src/journal/read-log.ts'
import type { AgentEvent, AgentEventOf, AgentEventType } from '../../../src/machines/agent/events.ts'
import { SessionId } from '../../../src/machines/ids.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import type { KillPoint } from './kill-point.ts'
import type { Orders, Play, Report } from './orders.ts'
import { READY } from './orders.ts'

export const SESSION = SessionId.parse('5e551011-0000-4000-8000-00000000c4a5')

/** Folders of one test, and what its session is about. */
export interface Stage {
  readonly home: string
  readonly project: string
  readonly world: string
  readonly paths: SessionPaths
  readonly play: Play
  readonly prompt: string
}

/** Makes the folders; they are gone when the test is over. The play begins with its first prompt. */
export function setStage(play: Play): Stage {
  const folder = temporaryFolder()
  const [home, project, world] = [
    path.join(folder, 'home'),
    path.join(folder, 'project'),
    path.join(folder, 'world'),
  ]
  for (const each of [home, project, world, path.join(world, 'tmp')]) mkdirSync(each)
  return {
    home,
    project,
    world,
    paths: sessionPaths(home, project, SESSION),
    play,
    prompt: Object.keys(play)[0] ?? '',
  }
}

/** How one process is to live. */
export interface LifeOptions {
  readonly killAt?: KillPoint
  readonly durability?: Orders['durability']
  readonly modelMs?: number
  readonly gate?: string
  readonly deny?: readonly string[]
  readonly depth?: number
  readonly snapshotEvery?: number
  readonly acceptDamage?: boolean
  readonly takeOver?: boolean
  readonly life?: number
}

export interface Life {
  readonly process: ChildProcess
  /** The engine is there and has not touched the session yet. Rejects when the process ends before. */
  readonly ready: Promise<void>
  /** What it said at its end; undefined when it was killed. */
  readonly report: Promise<Report | undefined>
}

/** Starts a process that starts the session, or resumes it. `worker` is the compiled file. */
export function startLife(worker: string, stage: Stage, options: LifeOptions = {}): Life {
  const { home, project, world, play, prompt } = stage
  const orders: Orders = {
    home,
    project,
    world,
    play,
    prompt,
    session: SESSION,
    durability: 'write',
    modelMs: 1,
    life: 1,
    ...options,
  }
  const child = spawn(process.execPath, [worker, JSON.stringify(orders)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: path.join(world, 'tmp') },
  })
  const lines: string[] = []
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      if (line === READY) resolve()
    })
    child.once('exit', () => reject(new Error('the worker ended before it was ready')))
  })
  ready.catch(() => {})
  const report = new Promise<Report | undefined>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      const last = lines.at(-1)
      if (signal === 'SIGKILL') resolve(undefined)
      else if (code === 0 && last !== undefined && last !== READY) resolve(JSON.parse(last))
      else reject(new Error(`the worker ended with ${code ?? signal}: ${lines.join('\n')}`))
    })
  })
  report.catch(() => {})
  return { process: child, ready, report }
}

/** One agent's log, read from the disk. */
export interface AgentLog {
  readonly path: string
  readonly isRoot: boolean
  readonly log: LoadedLog
  readonly events: readonly AgentEvent[]
  /** The text that its first run began with; empty before that. */
  readonly prompt: string
}

/** All logs of the session, the root's first. */
export async function readLogs({ paths }: Pick<Stage, 'paths'>): Promise<readonly AgentLog[]> {
  const storage = createFileStorage({ durability: 'write' })
  const children = (await storage.list(paths.subagents)).filter((name) => name.endsWith('.jsonl'))
  const files = [paths.rootLog, ...children.map((name) => path.join(paths.subagents, name))].filter((file) =>
    existsSync(file),
  )
  return Promise.all(
    files.map(async (file) => {
      const log = await loadLog(storage, file)
      const events = log.events.map(({ event }) => event)
      const prompt = ofType(events, 'run.started')[0]?.content
      return {
        path: file,
        isRoot: file === paths.rootLog,
        log,
        events,
        prompt: typeof prompt === 'string' ? prompt : '',
      }
    }),
  )
}

/** The events of one type, in order. */
export function ofType<T extends AgentEventType>(
  events: readonly AgentEvent[],
  type: T,
): readonly AgentEventOf<T>[] {
  return events.filter((event): event is AgentEventOf<T> => event.type === type)
}

/** A tool call with its input, and how it was answered. */
export interface AnsweredCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly ended: AgentEventOf<'call.ended'> | undefined
}

/** The calls that a log's replies ask for, in order. */
export function callsIn(events: readonly AgentEvent[]): readonly AnsweredCall[] {
  const ends = new Map(ofType(events, 'call.ended').map((ended) => [ended.callId, ended]))
  return ofType(events, 'reply.received').flatMap(({ reply, calls }) => {
    const blocks = reply.content.filter((block) => block.type === 'tool_use')
    return calls.map(({ callId, name }, i) => ({
      name,
      // What a scripted call has as its input is an object.
      input: (blocks[i]?.['input'] ?? {}) as Readonly<Record<string, unknown>>,
      ended: ends.get(callId),
    }))
  })
}

/** The lines of a file in the world; none when there is no such file. */
export function linesIn(stage: Stage, name: string): readonly string[] {
  const file = path.join(stage.world, name)
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []
}

/** A model request that some life of a worker has made. */
export interface CountedRequest {
  readonly life: number
  readonly prompt: string
  readonly turn: number
}

export function requestsOf(stage: Stage): readonly CountedRequest[] {
  return linesIn(stage, 'requests').map((line) => {
    const [life, prompt = '', turn] = line.split('\t')
    return { life: Number(life), prompt, turn: Number(turn) }
  })
}

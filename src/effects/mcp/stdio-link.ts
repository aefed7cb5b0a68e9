/**
 * A link to a server that is a process of ours, over its standard input and output.
 *
 * Owns: the server's process group, from its start until nothing of it is left. Does not own: processes that
 * leave the group; those carry the mark and are found by `endSurvivors`.
 *
 *   L1  The process has a group of its own and carries `TROUPE_CALL`; nothing else of it is inherited but `env`.
 *   L2  Whatever ends the link (its own exit, an end of its output, too long a message, `end`) is told to the
 *       client at once, so that no call waits for a server that is gone; the group is ended after that.
 *   L3  `end` resolves only when nothing of the group runs any more: end of input, TERM, grace, KILL.
 *   L4  What it writes that is no message is skipped, as many servers greet or log there; an answer that is none
 *       is an error of the call that it answers.
 *
 * Not the SDK's transport: that one signals the one process it started, leaves the rest of a group, and does not
 * say when it is gone.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import { createCappedOutput } from '../process/capped-output.ts'
import { endProcesses, groupIsAlive } from '../process/end-processes.ts'
import { MARK_VARIABLE } from '../process/end-survivors.ts'
import { pause } from '../process/pause.ts'
import { startTimeOf } from '../process/process-table.ts'
import { createLineCutter } from './message-lines.ts'
import type { LinkRequest, ServerLink } from './server-link.ts'
import { quoted } from './text.ts'

type StdioConfig = Extract<McpServerConfig, { readonly type: 'stdio' }>
type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** Milliseconds that a server has to leave on its own when its input has ended. */
const FAREWELL_MS = 500
/** Milliseconds to read what a server wrote before its exit. */
const DRAIN_MS = 100
const KEPT_STDERR_BYTES = 4000
const SHOWN_CHARS = 500

/** A link to a process. Nothing runs before its transport is started. */
export function createStdioLink(request: LinkRequest, config: StdioConfig): ServerLink {
  const stderr = createCappedOutput(KEPT_STDERR_BYTES)
  let child: Child | undefined
  let exited: Promise<void> = Promise.resolve()
  let loss: string | undefined
  let isLost = false
  let lastNoise: string | undefined
  let ending: Promise<void> | undefined

  /** L2. The first reason is the one that is told. */
  const lose = (reason: string | undefined): void => {
    if (isLost) return
    isLost = true
    loss = reason
    transport.onclose?.()
  }

  const deliver = (value: unknown): boolean => {
    const message = JSONRPCMessageSchema.safeParse(value)
    const delivered = message.success ? message.data : errorFor(value)
    if (delivered === undefined) return false
    try {
      transport.onmessage?.(delivered)
    } catch (error) {
      // In a stream's handler a throw would take the program down.
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
    return true
  }
  const onLine = (line: string): void => {
    if (line.trim() === '' || isLost) return
    const value = jsonOf(line)
    const isMessage = Array.isArray(value) ? value.length > 0 && value.every(deliver) : deliver(value)
    if (!isMessage) lastNoise = line
  }
  const lines = createLineCutter(request.maxMessageBytes, onLine)

  const listenTo = (started: Child): void => {
    started.stdout.on('data', (chunk: Buffer) => {
      if (isLost || lines.push(chunk)) return
      lose(`it wrote a message of more than ${request.maxMessageBytes} bytes`)
      void link.end()
    })
    started.stderr.on('data', stderr.push)
    // A broken pipe is told by the exit, or by the write that met it.
    for (const stream of [started.stdin, started.stdout, started.stderr]) stream.on('error', () => {})
    const drained = new Promise<void>((resolve) => started.once('close', () => resolve()))
    exited = new Promise((resolve) =>
      started.once('exit', (code, signal) => {
        resolve()
        void Promise.race([drained, pause(DRAIN_MS)]).then(() => {
          lose(`its process ended ${signal === null ? `with code ${code}` : `by ${signal}`}`)
          return link.end()
        })
      }),
    )
    started.stdout.once('end', () => {
      // With an exit its reason is the better one, and comes in a moment.
      void Promise.race([exited, pause(DRAIN_MS)]).then(() => {
        if (started.exitCode !== null || started.signalCode !== null) return
        lose('it closed its standard output')
        return link.end()
      })
    })
  }

  const transport: Transport = {
    async start() {
      child = await startProcess(request, config)
      const { pid } = child
      listenTo(child)
      if (pid !== undefined) request.onStarted?.({ ...request.identity, pid, startTime: startTimeOf(pid) })
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        if (child === undefined || isLost) return reject(new Error('the link is closed'))
        child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
      }),
    close: () => link.end(),
  }

  const endProcess = async (): Promise<void> => {
    lose(undefined)
    const group = child?.pid
    if (child === undefined || group === undefined) return
    child.stdin.end()
    const farewell = new AbortController()
    await Promise.race([exited, pause(FAREWELL_MS, farewell.signal)])
    farewell.abort()
    await endProcesses(() => (groupIsAlive(group) ? [-group] : []), request)
    await exited
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  }

  const link: ServerLink = {
    transport,
    reason() {
      const words = quoted(stderr.text().text.slice(-SHOWN_CHARS), SHOWN_CHARS)
      const parts = [
        loss,
        lastNoise === undefined
          ? undefined
          : `it wrote to its standard output what is no message: "${quoted(lastNoise, 120)}"`,
        words === '' ? undefined : `the end of its error output: "${words}"`,
      ].filter((part) => part !== undefined)
      return parts.length === 0 ? undefined : parts.join('; ')
    },
    end() {
      ending ??= endProcess()
      return ending
    },
  }
  return link
}

async function startProcess(request: LinkRequest, config: StdioConfig): Promise<Child> {
  const cwd = resolvePath(request.cwd, config.cwd ?? '.')
  const child = spawn(config.command, config.args, {
    cwd,
    env: { ...request.env, ...config.env, [MARK_VARIABLE]: request.identity.mark },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) return child
  // Without a pid the reason comes as an event, in a moment.
  const error = await new Promise<Error>((resolve) => child.once('error', resolve))
  if (!existsSync(cwd)) throw new Error(`its working directory ${cwd} does not exist`, { cause: error })
  if ('code' in error && error.code === 'ENOENT') {
    throw new Error(`the command ${config.command} was not found`, { cause: error })
  }
  throw error
}

/** L4: an answer to one of our requests that is no JSON-RPC, as the error that it comes to. */
function errorFor(value: unknown): JSONRPCMessage | undefined {
  if (typeof value !== 'object' || value === null || !('id' in value) || 'method' in value) return undefined
  const { id } = value
  if (typeof id !== 'number' && typeof id !== 'string') return undefined
  return {
    jsonrpc: '2.0',
    id,
    error: { code: ErrorCode.ParseError, message: 'its answer is no JSON-RPC answer' },
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

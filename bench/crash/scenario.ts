/**
 * The scenario of the crash test: a parent calls five sub-agents one after the other, each makes three tool calls
 * that append to a ledger. Without a crash that is 15 side effects and 26 model calls.
 *
 * The model is a pure function of the request. Model and tool take a few milliseconds, before and after the side
 * effect, so that a kill at a random moment finds every kind of work in flight.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Model, ModelRequest } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { ScriptedCall, ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'

export const CHILDREN = 5
export const STEPS = 3
/** A request for each step and one for the report, of each child; a request for each child and one for the answer. */
export const MODEL_CALLS = CHILDREN * (STEPS + 1) + CHILDREN + 1

/** What appends to the ledger: a tool of our own that works at most once by its key, or the built-in Bash. */
export type LedgerTool = 'keyed' | 'bash'

/** The names of all side effects: child and step. */
export const ENTRIES: readonly string[] = Array.from({ length: CHILDREN }, (_, child) =>
  Array.from({ length: STEPS }, (_, step) => `${child + 1}.${step + 1}`),
).flat()

const MODEL_MS = 5
const TOOL_MS = 5
const LEDGER = 'Ledger'

/** What the root agent is told. */
export const TASK = 'Have the ledger filled'

/** The model. Each request is counted by a line in `requests` before it is answered. */
export function scenarioModel(tool: LedgerTool, ledger: string, requests: string): Model {
  return createScriptedModel(async (request) => {
    appendFileSync(requests, `${request.source} ${request.messages.length}\n`)
    await pause(MODEL_MS)
    return replyTo(request, tool, ledger)
  })
}

/** Every answered call has added a reply and a result behind the prompt. */
function replyTo(request: ModelRequest, tool: LedgerTool, ledger: string): ScriptedReply {
  const done = (request.messages.length - 1) / 2
  if (request.source === 'main') {
    if (done === CHILDREN) return 'The ledger is filled'
    const input = { description: 'fill a part', prompt: `child ${done + 1}` }
    return { calls: [{ name: 'Agent', input }] }
  }
  const child = String(request.messages[0]?.content).replace('child ', '')
  if (done === STEPS) return `Part ${child} is filled`
  return { calls: [ledgerCall(tool, `${child}.${done + 1}`, ledger)] }
}

function ledgerCall(tool: LedgerTool, entry: string, ledger: string): ScriptedCall {
  if (tool === 'keyed') return { name: LEDGER, input: { entry } }
  const wait = `sleep ${TOOL_MS / 1_000}`
  return {
    name: 'Bash',
    input: { command: `${wait}; echo ${entry} >> '${ledger}'; ${wait}`, description: entry },
  }
}

/** The side effect that a call is about; undefined for calls that have none. */
export function entryOf(input: unknown): string | undefined {
  const parsed = z
    .union([z.object({ entry: z.string() }), z.object({ description: z.string() })])
    .safeParse(input)
  if (!parsed.success) return undefined
  const entry = 'entry' in parsed.data ? parsed.data.entry : parsed.data.description
  return ENTRIES.includes(entry) ? entry : undefined
}

/** Appends an entry at most once by the key of its call. */
export function keyedLedgerTool(ledger: string): Tool<{ entry: string }> {
  return {
    name: LEDGER,
    description: 'Appends an entry to the ledger',
    inputSchema: z.strictObject({ entry: z.string() }),
    resume: 'keyed',
    isReadOnly: () => false,
    isConcurrencySafe: () => false,
    run: async ({ entry }, { key }) => {
      await pause(TOOL_MS)
      const isDone = existsSync(ledger) && readFileSync(ledger, 'utf8').includes(` ${key}\n`)
      if (!isDone) appendFileSync(ledger, `${entry} ${key}\n`)
      await pause(TOOL_MS)
      return { content: `Entry ${entry} is in the ledger` }
    },
  }
}

/**
 * The smallest loop in which the planner can be tried: it runs ripgrep and reads files of a real folder, and runs
 * a child for each call of `Agent`. The engine does the same with logs, limits and permissions.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { lastValueFrom } from 'rxjs'
import type { ModelRequest, RequestMessage, ToolDefinition } from '../../../../src/effects/model/model.ts'
import { createOfflineModel } from '../../../../src/effects/model/offline/offline-model.ts'
import type { Reply, ToolUseBlock } from '../../../../src/machines/agent/messages.ts'
import { isToolUse, textOf } from '../../../../src/machines/agent/messages.ts'

export interface Outcome {
  readonly text: string
  readonly messages: readonly RequestMessage[]
  /** Every call, children's included, as `Tool pattern`. */
  readonly calls: readonly string[]
}

type Input = Readonly<Record<string, unknown>>
/** Replaces the result of a call: text, or an error. */
export type Sabotage = (call: ToolUseBlock) => { readonly error: string } | undefined

export const EXPLORER: readonly string[] = ['Grep', 'Glob', 'Read']
export const ROOT: readonly string[] = ['Agent', ...EXPLORER]

export function request(
  messages: readonly RequestMessage[],
  tools: readonly string[] = ROOT,
  more: Partial<ModelRequest> = {},
): ModelRequest {
  const definitions: readonly ToolDefinition[] = tools.map((name) => ({
    name,
    description: '',
    input_schema: {},
  }))
  return {
    model: 'offline',
    system: 'You help.',
    tools: definitions,
    messages,
    maxTokens: 1000,
    source: 'main',
    ...more,
  }
}

/** The reply to a request. */
export async function replyTo(asked: ModelRequest): Promise<Reply> {
  const last = await lastValueFrom(createOfflineModel().stream(asked, new AbortController().signal))
  if (last.type !== 'message') throw new Error(`the stream ended with ${last.type}`)
  return last.reply
}

/** Runs an agent to its answer. */
export async function converse(
  folder: string,
  prompt: string,
  options: {
    readonly tools?: readonly string[]
    readonly before?: readonly RequestMessage[]
    readonly sabotage?: Sabotage
  } = {},
): Promise<Outcome> {
  const tools = options.tools ?? ROOT
  const messages: RequestMessage[] = [...(options.before ?? []), { role: 'user', content: prompt }]
  const calls: string[] = []
  for (let turn = 0; turn < 8; turn += 1) {
    const reply = await replyTo(request(messages, tools))
    messages.push({ role: 'assistant', content: reply.content })
    const asked = reply.content.filter(isToolUse)
    if (asked.length === 0) return { text: textOf(reply.content), messages, calls }
    const results = []
    for (const call of asked) {
      const input = call.input as Input // the planner makes objects only
      calls.push(`${call.name} ${input['pattern'] ?? input['file_path'] ?? input['description']}`)
      const result =
        options.sabotage?.(call) ?? (await run(folder, call.name, input, options.sabotage, calls))
      const failed = typeof result !== 'string'
      results.push({
        type: 'tool_result',
        tool_use_id: call.id,
        content: failed ? result.error : result,
        is_error: failed,
      })
    }
    messages.push({ role: 'user', content: results })
  }
  throw new Error('the planner did not come to an end')
}

async function run(
  folder: string,
  tool: string,
  input: Input,
  sabotage: Sabotage | undefined,
  calls: string[],
): Promise<string> {
  if (tool === 'Agent') {
    const child = await converse(folder, String(input['prompt']), {
      tools: EXPLORER,
      ...(sabotage && { sabotage }),
    })
    calls.push(...child.calls)
    return child.text
  }
  if (tool === 'Read') return numbered(path.join(folder, String(input['file_path'])), input)
  if (tool === 'Glob')
    return rg(folder, ['--files', '--sort=path', '--glob', String(input['pattern'])]) || 'No files found'
  const glob = input['glob'] === undefined ? [] : ['--glob', String(input['glob'])]
  const flags = [
    '--no-heading',
    '--with-filename',
    '-n',
    '--sort=path',
    ...(input['-i'] === true ? ['-i'] : []),
    ...glob,
  ]
  const found = rg(folder, [...flags, '--regexp', String(input['pattern']), '.'])
  const rows = found.split('\n').map((row) => row.replace(/^\.\//, ''))
  return found === '' ? 'No matches found' : rows.slice(0, Number(input['head_limit'])).join('\n')
}

function numbered(file: string, input: Input): string {
  const [offset, limit] = [Number(input['offset'] ?? 1), Number(input['limit'] ?? 2000)]
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .slice(offset - 1, offset - 1 + limit)
  return rows.map((row, index) => `${String(offset + index).padStart(6)}\t${row}`).join('\n')
}

/** What ripgrep prints; empty when nothing matched. A bad pattern throws. */
function rg(folder: string, args: readonly string[]): string {
  try {
    return execFileSync(rgPath, ['--no-config', ...args], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    }).trimEnd()
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 1) return ''
    throw error
  }
}

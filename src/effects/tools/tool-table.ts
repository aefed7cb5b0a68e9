/** The tools of an agent: found by name, described to the model, their inputs checked. */
import * as z from 'zod'
import type { ToolDefinition } from '../model/model.ts'
import { askUserQuestionTool } from './ask-user-question.ts'
import { bashTool } from './bash.ts'
import { bashOutputTool } from './bash-output.ts'
import { editTool } from './edit.ts'
import { exitPlanModeTool } from './exit-plan-mode.ts'
import { explainIssues } from './explain-issues.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { killShellTool } from './kill-shell.ts'
import { notebookEditTool } from './notebook-edit.ts'
import { readTool } from './read.ts'
import { todoWriteTool } from './todo-write.ts'
import type { Tool } from './tool.ts'
import { type WebFetchOptions, webFetchTool } from './web/web-fetch.ts'
import { type SearchProvider, webSearchTool } from './web/web-search.ts'
import { writeTool } from './write.ts'

/** A call that can be run, or why it cannot, in words for the model. */
type ParsedCall =
  | { readonly ok: true; readonly tool: Tool; readonly input: unknown }
  | { readonly ok: false; readonly message: string }

export interface ToolTable {
  readonly tools: readonly Tool[]
  /** By name, else by alias, else by either in another case. Undefined when there is none or more than one. */
  find(name: string): Tool | undefined
  /** In the order of `tools`; the same bytes every time they are serialised. */
  definitions(): readonly ToolDefinition[]
  /** Checks the input of a call. Never throws. */
  parseCall(name: string, input: unknown): ParsedCall
}

/** @throws Error when two tools have one name, or a schema cannot be written as JSON Schema. */
export function createToolTable(tools: readonly Tool[]): ToolTable {
  const names = tools.map((tool) => tool.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`Two tools are named ${twice}: give one of them another name.`)
  const definitions = tools.map(definitionOf)

  const find = (name: string): Tool | undefined => {
    const sought = name.toLowerCase()
    return (
      tools.find((tool) => tool.name === name) ??
      only(tools.filter((tool) => tool.aliases?.includes(name))) ??
      only(
        tools.filter((tool) =>
          [tool.name, ...(tool.aliases ?? [])].some((each) => each.toLowerCase() === sought),
        ),
      )
    )
  }

  const parse = (name: string, input: unknown): ParsedCall => {
    const tool = find(name)
    if (!tool)
      return { ok: false, message: `There is no tool ${name}. Available: ${names.join(', ') || 'none'}.` }
    const parsed = tool.inputSchema.safeParse(input)
    if (parsed.success) return { ok: true, tool, input: parsed.data }
    return {
      ok: false,
      message: `${tool.name} was not called. ${explainIssues(parsed.error.issues, input)}`,
    }
  }
  /** A call is looked at when its reply comes and again when it runs; inputs are never changed in between. */
  const known = new WeakMap<object, { readonly name: string; readonly call: ParsedCall }>()

  return {
    tools,
    find,
    definitions: () => definitions,
    parseCall(name, input) {
      if (typeof input !== 'object' || input === null) return parse(name, input)
      const before = known.get(input)
      if (before?.name === name) return before.call
      const call = parse(name, input)
      known.set(input, { name, call })
      return call
    },
  }
}

export interface StandardToolOptions {
  /** The search engine of the host. Without one WebSearch is not offered. */
  readonly webSearch?: SearchProvider
  readonly webFetch?: WebFetchOptions
}

/**
 * All tools of this package, in the order in which a model sees them. Who gets which is decided by definitions:
 * ExitPlanMode and AskUserQuestion are the root's only.
 */
export function standardTools({ webSearch, webFetch }: StandardToolOptions = {}): readonly Tool[] {
  return [
    ...[readTool, writeTool, editTool, globTool, grepTool, bashTool],
    ...[bashOutputTool, killShellTool, notebookEditTool, webFetchTool(webFetch)],
    ...(webSearch === undefined ? [] : [webSearchTool(webSearch)]),
    ...[todoWriteTool, exitPlanModeTool, askUserQuestionTool],
  ]
}

/** Tables are made per engine, and per agent with servers of its own; writing a schema takes longer than all else of it. */
const described = new WeakMap<Tool, ToolDefinition>()

/** A tool as the Messages API takes it. */
function definitionOf(tool: Tool): ToolDefinition {
  const known = described.get(tool)
  if (known !== undefined) return known
  const definition = describe(tool)
  described.set(tool, definition)
  return definition
}

function describe(tool: Tool): ToolDefinition {
  const { name, description, jsonSchema } = tool
  if (jsonSchema !== undefined) return { name, description, input_schema: jsonSchema }
  const { $schema: _, ...schema } = z.toJSONSchema(tool.inputSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // The bounds of safe integers: words that tell a model nothing.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return { name, description, input_schema: schema }
}

const only = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined)

/**
 * A definition as a session keeps it: what an agent was started with stays what it is, whatever becomes of the file
 * it came from.
 */
import * as z from 'zod'
import type { AgentDefinition, PromptContext } from './agent-definition.ts'
import { HOOK_EVENTS } from './hook-declaration.ts'
import { McpServerConfig } from './mcp-server-config.ts'
import { PermissionMode } from './permission-mode.ts'

const Names = z.array(z.string())

/** The fields of a definition that are data, and its prompt as text. */
const RecordedDefinition = z.object({
  agentType: z.string(),
  prompt: z.string(),
  whenToUse: z.string(),
  tools: Names.optional(),
  disallowedTools: Names.optional(),
  model: z.string().optional(),
  effort: z.union([z.enum(['low', 'medium', 'high']), z.number()]).optional(),
  permissionMode: PermissionMode.optional(),
  isolation: z.literal('worktree').optional(),
  background: z.boolean().optional(),
  forksParentContext: z.union([z.literal(true), z.literal('turn')]).optional(),
  requiredMcpServers: Names.optional(),
  mcpServers: z
    .array(z.union([z.string(), z.object({ name: z.string(), config: McpServerConfig })]))
    .optional(),
  skills: Names.optional(),
  hooks: z
    .array(
      z.object({
        event: z.enum(HOOK_EVENTS),
        matcher: z.string().optional(),
        command: z.string(),
        timeout: z.number().optional(),
      }),
    )
    .optional(),
  memory: z.enum(['user', 'project', 'local']).optional(),
  maxTurns: z.number().optional(),
  tokens: z.number().optional(),
  initialPrompt: z.string().optional(),
  omitClaudeMd: z.boolean().optional(),
  appendSystemPrompt: z.boolean().optional(),
  criticalSystemReminder: z.string().optional(),
  color: z.string().optional(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  isOneShot: z.boolean().optional(),
  editsUserSettings: z.boolean().optional(),
  isUnlisted: z.boolean().optional(),
  source: z.enum([
    'built-in',
    'plugin',
    'userSettings',
    'projectSettings',
    'localSettings',
    'flagSettings',
    'policySettings',
  ]),
  plugin: z.string().optional(),
  baseDir: z.string().optional(),
  filename: z.string().optional(),
})

/**
 * The definition as text. Equal definitions give equal text, which is how one that has changed is known: fields stand
 * in the order of the schema, and functions as what they give.
 */
export function recordDefinition(definition: AgentDefinition, context: PromptContext): string {
  const { getSystemPrompt: _, whenToUse, ...fields } = definition
  return JSON.stringify(
    RecordedDefinition.parse({
      ...fields,
      prompt: definition.getSystemPrompt(context),
      whenToUse: typeof whenToUse === 'string' ? whenToUse : whenToUse({ callerTools: [] }),
    }),
  )
}

/** The definition of a text that {@link recordDefinition} made. Throws for any other. */
export function restoreDefinition(text: string): AgentDefinition {
  const { prompt, ...fields } = RecordedDefinition.parse(JSON.parse(text))
  // JSON has no undefined fields, which is all that the type of the parsed value and the exact one differ in.
  const present = fields as Omit<AgentDefinition, 'getSystemPrompt'>
  return { ...present, getSystemPrompt: () => prompt }
}

/** A tool table with more tools behind it: what an engine has, and what servers bring. */
import type { Tool } from '../effects/tools/tool.ts'
import type { ToolTable } from '../effects/tools/tool-table.ts'
import { createToolTable } from '../effects/tools/tool-table.ts'

/** The tools of `base` first, so that adding some changes nothing of what stands before them. */
export function extendTable(base: ToolTable, more: readonly Tool[]): ToolTable {
  if (more.length === 0) return base
  const added = createToolTable(more)
  const tools = [...base.tools, ...more]
  const definitions = [...base.definitions(), ...added.definitions()]
  return {
    tools,
    find: (name) => base.find(name) ?? added.find(name),
    definitions: () => definitions,
    parseCall: (name, input) => {
      if (base.find(name) !== undefined) return base.parseCall(name, input)
      if (added.find(name) !== undefined) return added.parseCall(name, input)
      const names = tools.map((tool) => tool.name).join(', ')
      return { ok: false, message: `There is no tool ${name}. Available: ${names || 'none'}.` }
    },
  }
}

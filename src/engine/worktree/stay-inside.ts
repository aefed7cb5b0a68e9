/**
 * An agent in a worktree of its own changes nothing outside of it, whatever its permission mode: neither by a path, a
 * link, nor by sending git elsewhere. It is a denial like any other, so that it is counted and told.
 */

import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { PermissionRequest } from '../../definitions/permissions/decide.ts'
import { isInside } from '../../effects/tools/confinement.ts'
import type { Tool } from '../../effects/tools/tool.ts'
import type { Agent } from '../agent.ts'
import { isInWorktree } from './own-worktree.ts'

/** Why a call must not run, for the model; undefined: it stays inside. */
export function outsideWorktree(
  agent: Agent,
  tool: Pick<Tool, 'name'>,
  input: unknown,
  { writesPath, resolvedPath }: PermissionRequest,
): string | undefined {
  if (!isInWorktree(agent.digest.worktree)) return undefined
  const { cwd } = agent
  const places = [cwd, ...agent.equipment.writableRoots]
  const isAllowed = (path: string): boolean => places.some((root) => isInside(root, path))
  if (writesPath !== undefined) {
    const real = resolvedPath ?? resolve(cwd, writesPath)
    if (isAllowed(real)) return undefined
    const target = real === resolve(cwd, writesPath) ? '' : ` (it leads to ${real})`
    return `${writesPath}${target} is outside of your worktree, and you change nothing outside of it. Write to the same place below your working directory.`
  }
  const folder = tool.name === 'Bash' ? folderOfGit(commandOf(input), cwd) : undefined
  if (folder === undefined || isAllowed(folder)) return undefined
  return `This command has git work in ${folder}, outside of your worktree. Run git in your working directory, without -C, --git-dir or --work-tree: it is the same repository.`
}

const GIT_ELSEWHERE =
  /\bgit\b(?:\s+(?:-c\s+\S+|--no-pager|-P|--bare))*\s+(?:-C\s*|--git-dir(?:=|\s+)|--work-tree(?:=|\s+))("[^"]*"|'[^']*'|\S+)|\bGIT_(?:DIR|WORK_TREE)=("[^"]*"|'[^']*'|\S+)/u

/** Where a command sends git, as far as the text says. What is hidden better is left to the permission rules. */
function folderOfGit(command: string, cwd: string): string | undefined {
  const found = GIT_ELSEWHERE.exec(command)
  const named = (found?.[1] ?? found?.[2])?.replace(/^(["'])(.*)\1$/u, '$2')
  if (named === undefined) return undefined
  const folder = resolve(cwd, named)
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

function commandOf(input: unknown): string {
  const has = typeof input === 'object' && input !== null && 'command' in input
  return has && typeof input.command === 'string' ? input.command : ''
}

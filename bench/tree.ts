/**
 * A tree of agents as a script: each prompt says how many children an agent starts and what those start in turn, so
 * that the model is a pure function of the request.
 */
import type { ModelRequest } from '../src/effects/model/model.ts'
import type { ScriptedReply } from '../src/effects/model/scripted-reply.ts'
import { PROMPT, RESULT } from './work.ts'

/** The number of agents in a tree: its root, everybody, and those without children. */
export function treeSize(fanOut: readonly number[]): { readonly agents: number; readonly leaves: number } {
  let agents = 1
  let leaves = 1
  for (const children of fanOut) {
    leaves *= children
    agents += leaves
  }
  return { agents, leaves }
}

export const treeScript = { prompt: promptFor, reply: replyTo, isLeaf }

const START = 'Start agents, level by level: '

/** What an agent is told; a leaf gets the prompt of the table of peers. */
function promptFor(fanOut: readonly number[]): string {
  return fanOut.length === 0 ? PROMPT : `${START}${fanOut.join(' ')}`
}

function replyTo(request: ModelRequest): ScriptedReply {
  const [children, ...below] = fanOutOf(request)
  if (children === undefined || request.messages.length > 1) return RESULT
  const input = { description: 'part of the tree', prompt: promptFor(below) }
  return { calls: Array.from({ length: children }, () => ({ name: 'Agent', input })) }
}

function isLeaf(request: ModelRequest): boolean {
  return fanOutOf(request).length === 0
}

function fanOutOf({ messages }: ModelRequest): readonly number[] {
  // The engine may have put words of its own before the task.
  const [, levels] = /Start agents, level by level: ([\d ]+)/.exec(JSON.stringify(messages[0]?.content)) ?? []
  return levels?.trim().split(' ').map(Number) ?? []
}

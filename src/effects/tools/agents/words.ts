/** How agents read in results of tools. */
import { inert } from '../../../definitions/context/envelope.ts'
import { onOneLine } from '../../../definitions/context/text.ts'
import type { ToolOutput } from '../tool.ts'
import type { TaskAnswer, TaskStatus } from './agents-port.ts'

const MAX_DESCRIPTION = 120
const MAX_ACTIVITY = 80
/** Of what an agent says it is at. */
const MAX_SUMMARY = 200

/** An agent's own words in a line of ours: a line of theirs must not look like another agent. */
const inOneLine = (text: string, max: number): string => onOneLine(inert(text.slice(0, max)))

/** One line. */
export function taskLine({
  taskId,
  name,
  agentType,
  description,
  status,
  turns,
  toolUses,
}: TaskStatus): string {
  const who = name === undefined ? taskId : `${taskId} ("${inert(name)}")`
  return `${who}  ${agentType}  ${status}  ${inOneLine(description, MAX_DESCRIPTION)} (${turns} turns, ${toolUses} tool uses)`
}

/** What is known of a task that goes on. */
export function taskText(task: TaskStatus): string {
  return [
    taskLine(task),
    `tokens: ${task.tokens}`,
    ...(task.worktreePath === undefined
      ? []
      : [
          `worktree: ${task.worktreePath}${task.worktreeBranch === undefined ? '' : ` (branch ${task.worktreeBranch})`}`,
        ]),
    ...(task.pendingMessages > 0 ? [`messages that wait for it: ${task.pendingMessages}`] : []),
    // In less than 1 KB with all the rest.
    ...(task.summary === undefined ? [] : [`it says: ${inOneLine(task.summary, MAX_SUMMARY)}`]),
    ...task.lastActivities
      .slice(task.summary === undefined ? 0 : -3)
      .map((activity) => `- ${inOneLine(activity, MAX_ACTIVITY)}`),
  ].join('\n')
}

/** An answer as a result. */
export function answerOutput(answer: TaskAnswer, taskId: string): ToolOutput {
  switch (answer.kind) {
    case 'ended':
      return {
        content: answer.text,
        structured: answer.structured,
        ...(answer.delivered !== undefined && { delivered: answer.delivered }),
      }
    case 'going-on':
      return {
        content: `${taskText(answer.task)}\n\nIt is not done yet. You are told when it is.`,
        structured: {
          retrieval_status: 'not_ready',
          task: { ...answer.task, parentId: answer.task.parentId ?? '' },
        },
      }
    case 'refused':
      return { content: answer.message, isError: true }
    case 'unknown':
      return { content: unknownAgent(taskId, answer.known), isError: true }
  }
}

export function unknownAgent(id: string, known: readonly TaskStatus[]): string {
  const who = known.length === 0 ? 'There are none.' : `There are:\n${known.map(taskLine).join('\n')}`
  return `There is no agent "${inOneLine(id, MAX_DESCRIPTION)}" here. ${who}`
}

/** What agents that change nothing do without. Bash stays: looking and checking take commands. */
export const NOTHING_THAT_EDITS: readonly string[] = [
  'Agent',
  'ExitPlanMode',
  'Edit',
  'Write',
  'NotebookEdit',
]

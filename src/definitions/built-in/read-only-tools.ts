/** What agents that change nothing do without. Bash stays: looking and checking take commands. */
export const NOTHING_THAT_EDITS: readonly string[] = [
  'Agent',
  'ExitPlanMode',
  'Edit',
  'Write',
  'NotebookEdit',
]

/** What agents do without besides that are sent for one answer: nobody goes on with them, so they speak to nobody. */
export const NOTHING_THAT_TALKS: readonly string[] = ['AskParent', 'ListAgents', 'SendMessage']

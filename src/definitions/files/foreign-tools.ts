/** Names that other programs, and older versions of the same, have for tools. */
import { canonicalToolName, KNOWN_TOOL_NAMES } from '../tool-names.ts'
import { folded } from './field-names.ts'

/** By folded name (small letters, no dashes and underscores), so that one entry serves every way to write it. */
const FOREIGN = new Map<string, string>([
  ['ls', 'Glob'],
  ['list', 'Glob'],
  ['listdir', 'Glob'],
  ['listdirectory', 'Glob'],
  ['listfiles', 'Glob'],
  ['find', 'Glob'],
  ['findfiles', 'Glob'],
  ['filesearch', 'Glob'],
  ['readfile', 'Read'],
  ['readmanyfiles', 'Read'],
  ['notebookread', 'Read'],
  ['view', 'Read'],
  ['viewfile', 'Read'],
  ['writefile', 'Write'],
  ['writetofile', 'Write'],
  ['createfile', 'Write'],
  ['multiedit', 'Edit'],
  ['editfile', 'Edit'],
  ['editfiles', 'Edit'],
  ['replace', 'Edit'],
  ['replaceinfile', 'Edit'],
  ['strreplace', 'Edit'],
  ['applydiff', 'Edit'],
  ['applypatch', 'Edit'],
  ['patch', 'Edit'],
  ['searchfilecontent', 'Grep'],
  ['searchfiles', 'Grep'],
  ['grepsearch', 'Grep'],
  ['ripgrep', 'Grep'],
  ['codebasesearch', 'Grep'],
  ['shell', 'Bash'],
  ['runshellcommand', 'Bash'],
  ['runcommand', 'Bash'],
  ['runcommands', 'Bash'],
  ['runterminalcmd', 'Bash'],
  ['runinterminal', 'Bash'],
  ['executecommand', 'Bash'],
  ['terminal', 'Bash'],
  ['fetch', 'WebFetch'],
  ['googlewebsearch', 'WebSearch'],
  ['todoread', 'TodoWrite'],
  ['writetodos', 'TodoWrite'],
  ['updateplan', 'TodoWrite'],
  ['subagent', 'Agent'],
  ['agentoutputtool', 'TaskOutput'],
  ['killbash', 'TaskStop'],
  ['askuser', 'AskUserQuestion'],
])

for (const name of KNOWN_TOOL_NAMES) FOREIGN.set(folded(name), name)

/** Our name for a tool that others call `name`; undefined where it is ours already, or nobody's that we know. */
export function foreignToolName(name: string): string | undefined {
  const ours = FOREIGN.get(folded(name))
  return ours === undefined || canonicalToolName(name) === ours ? undefined : ours
}

/** Asks the person at the terminal about one call that needs approval. */
import type { ApprovalAnswer, ApprovalRequest } from '../engine/api.ts'
import { meaningOf, shownAtFirst, whatIsAsked } from './approval-texts.ts'
import type { Dialogue } from './dialogue.ts'
import { oneLine, spelledOut } from './format.ts'

/** From the first line to the answer; undefined when the input has ended. Rejects when the signal aborts. */
export async function askApproval(
  { colours, ...dialogue }: Dialogue,
  request: ApprovalRequest,
  who: string,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  const all = whatIsAsked(request)
  const first = shownAtFirst(all)
  await dialogue.hush(signal)
  dialogue.write(
    `${colours.yellow('?')} ${colours.bold(who)} wants to use ${colours.bold(oneLine(request.toolName, 60))}\n`,
  )
  dialogue.quote(first.lines)
  dialogue.write(colours.dim(`  because ${oneLine(request.reason, 400)}\n`))
  let { isCut } = first
  for (;;) {
    const line = await dialogue.prompt(`  ${choicesFor(request, isCut)}`, signal)
    if (line === undefined) return undefined
    const meant = meaningOf(line, request)
    switch (meant.kind) {
      case 'answer':
        return meant.answer
      case 'no': {
        const message = await dialogue.prompt(
          '  what should it know, or do instead? (Enter: nothing)',
          signal,
        )
        const said = message?.trim() ?? ''
        return { decision: 'deny', ...(said !== '' && { message: said }) }
      }
      case 'show-all':
        dialogue.quote(all)
        isCut = false
        break
      case 'unclear':
        dialogue.write(colours.dim('  that is none of the answers\n'))
    }
  }
}

function choicesFor({ suggestions, grantScope }: ApprovalRequest, isCut: boolean): string {
  const rules = suggestions.map((rule) => spelledOut(rule).replaceAll('\n', '\\n')).join(', ')
  const whom = grantScope === 'agent' ? 'for this agent' : 'for this session'
  return [
    'y yes',
    ...(suggestions.length === 0 ? [] : [`a always, ${whom}: ${rules}`]),
    'n no (or: n and why)',
    ...(isCut ? ['v view all of it'] : []),
  ].join(' · ')
}

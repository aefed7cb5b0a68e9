/** Puts a question of the main agent to the person at the terminal: a plan, or some questions one after the other. */

import type { AskedQuestion } from '../effects/tools/ask-person.ts'
import type { QuestionAnswer, QuestionRequest } from '../engine/api.ts'
import type { Dialogue } from './dialogue.ts'
import { oneLine, spelledOut } from './format.ts'

/** From the first line to the answer; undefined when the input has ended. Rejects when the signal aborts. */
export async function askQuestion(
  dialogue: Dialogue,
  { question }: QuestionRequest,
  who: string,
  signal: AbortSignal,
): Promise<QuestionAnswer | undefined> {
  await dialogue.hush(signal)
  return question.kind === 'plan'
    ? askPlan(dialogue, question.plan, who, signal)
    : askAll(dialogue, question.questions, who, signal)
}

async function askPlan(
  { colours, ...dialogue }: Dialogue,
  plan: string,
  who: string,
  signal: AbortSignal,
): Promise<QuestionAnswer | undefined> {
  dialogue.write(`${colours.yellow('?')} ${colours.bold(who)} shows its plan\n`)
  dialogue.quote(spelledOut(plan).trim().split('\n'))
  for (;;) {
    const line = await dialogue.prompt(
      '  y carry it out, asking before each change · e carry it out, editing files without asking · n go on planning (or: n and what to change)',
      signal,
    )
    if (line === undefined) return undefined
    const word = line.trim().toLowerCase()
    if (word === 'y' || word === 'yes') return { kind: 'plan', approved: true, mode: 'default' }
    if (word === 'e' || word === 'edit') return { kind: 'plan', approved: true, mode: 'acceptEdits' }
    const no = /^no?(?:$|[\s,.:;-]+)(.*)$/isu.exec(line.trim())
    if (no !== null) {
      const said = (
        no[1] ||
        (await dialogue.prompt('  what should be different? (Enter: nothing)', signal)) ||
        ''
      ).trim()
      return { kind: 'plan', approved: false, ...(said !== '' && { feedback: said }) }
    }
    dialogue.write(colours.dim('  that is none of the answers\n'))
  }
}

async function askAll(
  { colours, ...dialogue }: Dialogue,
  questions: readonly AskedQuestion[],
  who: string,
  signal: AbortSignal,
): Promise<QuestionAnswer | undefined> {
  const answers: [question: string, answer: string | string[]][] = []
  for (const asked of questions) {
    dialogue.write(`${colours.yellow('?')} ${colours.bold(who)} asks\n`)
    dialogue.quote(spelledOut(asked.question).split('\n'))
    const options = asked.options.map(
      ({ label, description }, i) => `  ${i + 1} ${oneLine(label, 100)} — ${oneLine(description, 500)}`,
    )
    dialogue.write(`${options.join('\n')}\n`)
    const line = await dialogue.prompt(
      `  a number${asked.multiSelect ? ', or several with commas' : ''}, or your own words · Enter: no answer`,
      signal,
    )
    if (line === undefined) return undefined
    const answer = answerIn(line, asked)
    if (answer !== undefined) answers.push([asked.question, answer])
  }
  return answers.length === 0 ? { kind: 'none' } : { kind: 'questions', answers: Object.fromEntries(answers) }
}

/** Labels by their numbers, else the words as they are; undefined for none. */
export function answerIn(
  line: string,
  { options, multiSelect }: Pick<AskedQuestion, 'options' | 'multiSelect'>,
): string | string[] | undefined {
  const words = line.trim()
  if (words === '') return undefined
  const parts = multiSelect ? words.split(/[\s,]+/).filter((part) => part !== '') : [words]
  const labels = parts.map((part) => (/^\d+$/.test(part) ? options[Number(part) - 1]?.label : undefined))
  const chosen = labels.filter((label) => label !== undefined)
  if (chosen.length < labels.length) return words
  return multiSelect ? [...new Set(chosen)] : chosen[0]
}

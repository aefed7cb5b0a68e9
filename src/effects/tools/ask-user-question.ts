/** The tool `AskUserQuestion`. */
import * as z from 'zod'
import { questionsAnswer } from './ask-person.ts'
import { refusalsAsResults } from './refusals.ts'
import type { Tool } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

const MAX_QUESTIONS = 4

const written = (max: number): z.ZodString => z.string().min(1).max(max)

const QuestionInput = z.strictObject({
  question: written(500).describe('The whole question, ending with a question mark'),
  header: written(24).describe('One or two words, for example "Database"'),
  options: z
    .array(
      z.strictObject({
        label: written(100).describe('The choice in 1 to 5 words'),
        description: written(500).describe('What it means and what follows from it'),
      }),
    )
    .min(2)
    .max(4)
    .describe('Choices that exclude each other, unless multiSelect is set'),
  multiSelect: z.boolean().optional().describe('Several may be chosen; default false'),
})

const AskUserQuestionInput = z.strictObject({
  questions: z.array(QuestionInput).min(1).max(MAX_QUESTIONS),
})
export type AskUserQuestionInput = z.infer<typeof AskUserQuestionInput>

/** Asks the person who uses the program. */
export const askUserQuestionTool: Tool<AskUserQuestionInput> = {
  name: 'AskUserQuestion',
  description: `Asks the user up to ${MAX_QUESTIONS} questions at once, each with 2 to 4 choices, and waits for the answers.

- For decisions that are the user's and change what you do: between approaches, about taste, about what was meant. What you can find out or reasonably decide yourself, do not ask.
- The user can always answer in their own words: add no "Other". Put the choice that you would take first and say so in its label.
- Not for approval of a plan; that is ExitPlanMode.`,
  inputSchema: AskUserQuestionInput,
  resume: 'repeat',
  isReadOnly: () => true,
  isConcurrencySafe: () => false,
  run: (input, { ask, signal }) =>
    refusalsAsResults(async () => {
      if (ask === undefined) {
        throw new ToolRefusal(
          'There is nobody here who could answer. Decide yourself, and say in your answer what you assumed.',
        )
      }
      refuseTwice(input.questions.map(({ question }) => question))
      const questions = input.questions.map((each) => ({ ...each, multiSelect: each.multiSelect ?? false }))
      const reply = questionsAnswer(await ask({ kind: 'questions', questions }, signal))
      if (reply === undefined) {
        throw new ToolRefusal(
          'The user put the questions away without an answer. Go on with what you would choose, or end your turn.',
        )
      }
      const lines = questions.map(({ question }) => {
        const answer = Object.hasOwn(reply.answers, question) ? reply.answers[question] : undefined
        return `${question}\n→ ${typeof answer === 'object' ? answer.join(', ') : (answer ?? '(not answered)')}`
      })
      return {
        content: `The user answered:\n\n${lines.join('\n\n')}`,
        structured: { questions, answers: reply.answers },
      }
    }),
}

/** Answers are told apart by their question. */
function refuseTwice(questions: readonly string[]): void {
  const twice = questions.find((question, index) => questions.indexOf(question) !== index)
  if (twice !== undefined) throw new ToolRefusal(`The question "${twice}" is there twice. Ask it once.`)
}

/** The root agent: it asks three children at once, and answers with what they report. */
import type { Angle } from './angle.ts'
import { ANGLES, angleTitle } from './angle.ts'
import { answer } from './answer.ts'
import type { Episode, Exchange, Notice } from './conversation.ts'
import type { Place } from './report.ts'
import { readReport, shown } from './report.ts'
import type { Call, Step } from './step.ts'
import { say } from './step.ts'
import { taskPrompt, written } from './task.ts'
import type { TellingWord } from './words.ts'

/** The next step of an agent that may delegate. */
export function delegate(episode: Episode, words: readonly TellingWord[]): Step {
  const calls = episode.rounds.flat()
  const agents = calls.filter((call) => call.tool === 'Agent')
  if (agents.length === 0)
    return { text: plan(words), calls: ANGLES.map((angle) => agentCall(angle, episode.question, words)) }

  const ids = episode.callIds.flat()
  const outcomes = calls.flatMap((call, index) =>
    call.tool === 'Agent' ? [outcomeOf(call, episode.notices.get(ids[index] ?? ''))] : [],
  )
  if (outcomes.some((outcome) => outcome.status === 'waiting'))
    return say('The searches go on in the background. The answer follows when they have reported.')
  const places: Record<Angle, readonly Place[]> = { definitions: [], usages: [], 'docs-and-tests': [] }
  const problems: string[] = []
  for (const outcome of outcomes) {
    if (outcome.status === 'reported') places[outcome.angle] = [...places[outcome.angle], ...outcome.places]
    if (outcome.status !== 'waiting') problems.push(...outcome.problems)
  }
  if (outcomes.every((outcome) => outcome.status === 'failed'))
    return say(`None of the searches could be made, so there is no answer. ${problems.join(' ')}`)
  return say(answer({ question: episode.question, words, places, problems: [...new Set(problems)] }))
}

type Outcome =
  | {
      readonly status: 'reported'
      readonly angle: Angle
      readonly places: readonly Place[]
      readonly problems: readonly string[]
    }
  | { readonly status: 'failed'; readonly angle: Angle; readonly problems: readonly string[] }
  | { readonly status: 'waiting'; readonly angle: Angle }

function outcomeOf(call: Exchange, notice: Notice | undefined): Outcome {
  const angle = angleOf(call)
  const text = notice?.result ?? call.result
  const report = readReport(text)
  if (report !== undefined && !call.failed) return { status: 'reported', angle, ...report }
  const launched = /async_launched|in the background/i.test(call.result)
  if (launched && !call.failed && notice === undefined) return { status: 'waiting', angle }
  const reason = shown(text.split('\n').find((row) => row.trim() !== '') ?? 'it gave no report')
  return {
    status: 'failed',
    angle,
    problems: [sentence(`The search for ${angleTitle[angle]} failed: ${reason}`)],
  }
}

const angleOf = (call: Exchange): Angle =>
  ANGLES.find((angle) => String(call.input['prompt'] ?? '').includes(`\nAngle: ${angle}\n`)) ?? 'definitions'

function agentCall(angle: Angle, question: string, words: readonly TellingWord[]): Call {
  return {
    name: 'Agent',
    input: {
      description: `Find ${angleTitle[angle]}`,
      prompt: taskPrompt(question, angle, words),
      subagent_type: 'Explore',
    },
  }
}

const plan = (words: readonly TellingWord[]): string =>
  `I look for ${words.map(written).join(', ')} from three sides at once: names and definitions, usages, docs and tests.`

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

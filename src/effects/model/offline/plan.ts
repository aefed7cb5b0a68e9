/**
 * What the offline planner does next: a pure function of the request.
 *
 * P1 The same request gives the same step, so that a resume or a replay goes on where it was.
 * P2 Only tools that the request offers are called.
 * P3 Every episode ends: one round of agents, or at most two rounds of searches and one of reading.
 * P4 Only lines that a result has shown are cited.
 */
import type { ModelRequest } from '../model.ts'
import { allowForced } from '../scripted-reply.ts'
import { ANGLES } from './angle.ts'
import { answer } from './answer.ts'
import type { Episode } from './conversation.ts'
import { readEpisodes } from './conversation.ts'
import { delegate } from './delegate.ts'
import { explore } from './explore.ts'
import { writeReport } from './report.ts'
import type { Step } from './step.ts'
import { say } from './step.ts'
import { promptKind, talk } from './talk.ts'
import type { Task } from './task.ts'
import { readTask, written } from './task.ts'
import type { TellingWord } from './words.ts'

/** The next step for a request. */
export function nextStep(request: ModelRequest): Step {
  if (request.toolChoice !== undefined) return { text: '', calls: allowForced(request).calls ?? [] }
  const offered: ReadonlySet<string> = new Set(request.tools.map((tool) => tool.name))
  const episodes = readEpisodes(request.messages)
  if (request.source === 'summary') return say(progress(episodes))
  const current = openEpisode(episodes, offered)
  if (current === undefined) return say(talk('empty'))

  const task = readTask(current.question)
  if (task.angle !== undefined) return exploreTask(task, current, offered)
  const kind = promptKind(current.question)
  if (kind !== 'question') return say(talk(kind))
  const words = wordsFor(current, episodes)
  if (words.length === 0) return say(talk('vague'))
  if (offered.has('Agent') || current.rounds.flat().some((call) => call.tool === 'Agent'))
    return delegate(current, words)
  return exploreTask({ ...task, words }, current, offered)
}

/**
 * The latest question. A closing turn without tools may bring a text of its own: what was found for the question
 * before it is then still worth a report.
 */
function openEpisode(episodes: readonly Episode[], offered: ReadonlySet<string>): Episode | undefined {
  const latest = episodes.at(-1)
  if (offered.size > 0 || latest === undefined || latest.rounds.length > 0) return latest
  return episodes.findLast((episode) => episode.rounds.length > 0) ?? latest
}

/** A follow-up such as «and where is it tested?» has no words of its own: those of the question before it serve. */
function wordsFor(current: Episode, episodes: readonly Episode[]): readonly TellingWord[] {
  const own = readTask(current.question).words
  if (own.some((word) => !word.weak)) return own
  const refers = /\b(?:it|its|they|them|that|this|these|those|there)\b/i.test(current.question)
  const before = episodes.slice(0, episodes.indexOf(current)).reverse()
  const earlier = refers
    ? before.map((episode) => readTask(episode.question).words).find((words) => words.length > 0)
    : undefined
  return earlier ?? own.filter(() => own.length > 1)
}

/** An agent that explores: for its parent it writes a report, alone it writes the answer. */
function exploreTask(task: Task, episode: Episode, offered: ReadonlySet<string>): Step {
  const words = task.words.map(written).join(', ')
  const searched = episode.rounds.flat().some((call) => call.tool === 'Grep')
  if (!offered.has('Grep') && !searched) {
    if (task.angle === undefined) return say(talk('no-tools'))
    return say(
      writeReport(
        task.angle,
        words,
        [],
        ['the tool Grep is not offered to this agent, so nothing was searched.'],
      ),
    )
  }
  if (task.words.length === 0) return say(talk('vague'))
  const exploration = explore(task, episode, offered)
  if (exploration.status === 'searching') return { text: '', calls: exploration.calls }
  const { hits, problems } = exploration.findings
  if (task.angle !== undefined) return say(writeReport(task.angle, words, hits[task.angle], problems))
  return say(answer({ question: episode.question, words: task.words, places: hits, problems }))
}

/** What a progress line says. */
function progress(episodes: readonly Episode[]): string {
  const latest = episodes.findLast((episode) => episode.rounds.length > 0)
  if (latest === undefined) return 'Reading the question'
  const task = readTask(latest.question)
  const side = ANGLES.find((angle) => angle === task.angle) ?? 'places'
  return `Searching ${side} for ${task.words.slice(0, 3).map(written).join(', ')}`
}

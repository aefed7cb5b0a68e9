/** What a run puts on standard output, by format. */
import type { EngineEvent, RunResult } from '../engine/api.ts'
import type { OutputFormat } from './arguments.ts'
import { forTerminal, toJson } from './format.ts'
import type { Output } from './host.ts'
import { subtypeOf } from './result-line.ts'
import type { StreamJson } from './stream-json.ts'

export interface RunOutput {
  /** Something that was there before this process: it only prepares what follows. */
  prepare(event: EngineEvent): void
  event(event: EngineEvent): void
  /** A run has ended; `isLast` when no other follows in this process. */
  result(result: RunResult, isLast: boolean): void
}

/** The writer of a format. `stream` is told everything and asked for the lines. */
export function createRunOutput(format: OutputFormat, stdout: Output, stream: StreamJson): RunOutput {
  const writeLine = (line: unknown): void => stdout.write(`${toJson(line)}\n`)
  switch (format) {
    case 'text':
      return {
        prepare: () => {},
        event: () => {},
        result(result, isLast) {
          if (!isLast || result.text === '' || subtypeOf(result) === 'error_during_execution') return
          const text = result.text.endsWith('\n') ? result.text : `${result.text}\n`
          stdout.write(stdout.isTTY ? forTerminal(text) : text)
        },
      }
    case 'json':
      return {
        prepare: (event) => void stream.event(event),
        event: (event) => void stream.event(event),
        result(result, isLast) {
          const line = stream.result(result)
          if (isLast) writeLine(line)
        },
      }
    case 'stream-json':
      return {
        prepare: (event) => void stream.event(event),
        event: (event) => stream.event(event).forEach(writeLine),
        result: (result) => writeLine(stream.result(result)),
      }
  }
}

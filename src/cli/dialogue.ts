/** How a question is put to the person at the terminal: what is written, and what is typed. */
import type { Colours } from './colours.ts'
import type { Output } from './host.ts'
import type { TypedLines } from './typed-lines.ts'

export interface Dialogue {
  readonly colours: Colours
  write(text: string): void
  /** Lines that somebody else wrote, marked at their left edge: none of them can pass for a line of this program. */
  quote(lines: readonly string[]): void
  /** Waits until what was typed before is read, and drops it. Rejects when the signal aborts. */
  hush(signal: AbortSignal): Promise<void>
  /** Shows what can be answered, and gives what is typed then; undefined when the input has ended. */
  prompt(choices: string, signal: AbortSignal): Promise<string | undefined>
}

export function createDialogue(output: Output, lines: TypedLines, colours: Colours): Dialogue {
  const write = (text: string): void => output.write(text)
  return {
    colours,
    write,
    quote: (quoted) => write(quoted.map((line) => `  ${colours.dim('│')} ${line}\n`).join('')),
    hush: (signal) => lines.hush(signal),
    async prompt(choices, signal) {
      await lines.hush(signal)
      write(`${choices}\n> `)
      const line = await lines.next(signal)
      if (line === undefined) write('\n')
      return line
    },
  }
}

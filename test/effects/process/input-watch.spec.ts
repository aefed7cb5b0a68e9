import { describe, expect, it } from 'vitest'
import { inputNotice, looksLikePrompt, watchForInput } from '../../../src/effects/process/input-watch.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'

function watched() {
  const clock = createVirtualClock()
  const prompts: string[] = []
  const watch = watchForInput(clock, (line) => prompts.push(line))
  return { clock, prompts, watch, says: (text: string) => watch.saw(Buffer.from(text)) }
}

describe('a command that has stopped in a question', () => {
  it('is told once, at the first look after 45 silent seconds', () => {
    const { clock, prompts, watch, says } = watched()
    clock.advance(2_000)
    says('Reading…\nOverwrite the file? [y/N] ')
    clock.advance(43_000)
    expect(prompts).toEqual([])
    clock.advance(5_000)
    expect(prompts).toEqual(['Overwrite the file? [y/N]'])
    clock.advance(600_000)
    says('and again? ')
    clock.advance(600_000)
    expect(prompts).toHaveLength(1)
    watch.stop()
  })

  it('is not one while it goes on writing, or when its line is finished', () => {
    const { clock, prompts, watch, says } = watched()
    for (let minute = 0; minute < 10; minute++) {
      says('Continue? ')
      clock.advance(40_000)
    }
    says('What now?\n')
    clock.advance(600_000)
    expect(prompts).toEqual([])
    watch.stop()
    expect(clock.pending).toBe(0)
  })

  it('is found in a line that comes in pieces, coloured and drawn over', () => {
    const { clock, prompts, says } = watched()
    for (const piece of ['50%\r', '100%\r', '\u001b[1mPass', 'word', '\u001b[0m: ']) says(piece)
    clock.advance(60_000)
    expect(prompts).toEqual(['Password:'])
  })

  it('costs bounded memory however long its line is', () => {
    const { clock, prompts, says } = watched()
    for (let piece = 0; piece < 100; piece++) says('x'.repeat(100_000))
    says(' sure?')
    clock.advance(60_000)
    expect(prompts[0]?.length).toBeLessThanOrEqual(300)
    expect(prompts[0]).toMatch(/x sure\?$/)
  })
})

it.each([
  ['Do you want to continue? [Y/n]', true],
  ['Are you sure (yes/no)', true],
  ["root@host's password:", true],
  ['Enter passphrase for key', true],
  ['Press any key to continue . . .', true],
  ['mysql>', true],
  ['? Package name: ›  ', false],
  ['Compiling 12 of 300', false],
  ['', false],
  ['75%', false],
  ['listening on port 3000', false],
])('%j looks like a question: %s', (line, expected) => {
  expect(looksLikePrompt(line)).toBe(expected)
})

it.each([
  ['sudo apt update', 'sudo -n'],
  ['cd x && git push', 'GIT_TERMINAL_PROMPT=0'],
  ['npm init', '--yes'],
  ['./configure', '--no-input'],
])('for %s a form without questions is suggested', (command, advice) => {
  const notice = inputNotice(command, 'Sure?')
  expect(notice).toContain(advice)
  expect(notice).toContain('"Sure?"')
})

it('takes a long time for no line', () => {
  const start = performance.now()
  for (const shape of ['(y/', '[[[', 'password ', 'press enter ', '?', '\u001b[', '\u001b]']) {
    looksLikePrompt(shape.repeat(100))
  }
  expect(performance.now() - start).toBeLessThan(500)
})

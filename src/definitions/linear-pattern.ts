/**
 * Regular expressions that cannot hang: the `pattern` of a report schema comes from a file of a stranger and is run
 * on the text of a model. A backtracking matcher may need exponential time for that; this one walks all possible
 * states side by side, so that its time is bounded by length of the pattern times length of the text.
 *
 * Only single characters are given to the platform's own matcher: it knows classes and escapes, and one character
 * cannot make it backtrack. Look-around and back references cannot be matched in this way; they are told apart as
 * unsupported.
 */

/** A pattern that can be tried on texts. */
export interface LinearPattern {
  /** Does it match somewhere in the text? `spend` is told the work as it is done, and may throw to end it. */
  matches(text: string, spend: (steps: number) => void): boolean
}

/** Reads a pattern (syntax of ECMAScript with the `u` flag), or says why it cannot be used. */
export function readLinearPattern(
  source: string,
):
  | { readonly kind: 'pattern'; readonly pattern: LinearPattern }
  | { readonly kind: 'unsupported'; readonly why: string } {
  if (source.length > MAX_SOURCE) return unsupported(`it is longer than ${MAX_SOURCE} characters`)
  try {
    new RegExp(source, 'u')
  } catch {
    return unsupported('it is no regular expression')
  }
  try {
    const program = compile(parse(source))
    return { kind: 'pattern', pattern: { matches: (text, spend) => run(program, text, spend) } }
  } catch (error) {
    if (error instanceof Unsupported) return unsupported(error.message)
    throw error
  }
}

const MAX_SOURCE = 500
const MAX_INSTRUCTIONS = 2_000
const MAX_NESTING = 50

class Unsupported extends Error {}

const unsupported = (why: string): { readonly kind: 'unsupported'; readonly why: string } => ({
  kind: 'unsupported',
  why,
})

// ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

type Node =
  | { readonly kind: 'character'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'assertion'; readonly holds: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number }

/** Is it true between these two characters? Undefined: the text ends there. */
type Assertion = (before: string | undefined, after: string | undefined) => boolean

/** The pattern is valid here, so that reading only has to find the ends of things. */
function parse(source: string): Node {
  let at = 0
  const take = (sticky: RegExp): string | undefined => {
    sticky.lastIndex = at
    const found = sticky.exec(source)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const choice = (depth: number): Node => {
    if (depth > MAX_NESTING) throw new Unsupported('its groups are nested too deep')
    const options = [sequence(depth)]
    while (source[at] === '|') {
      at += 1
      options.push(sequence(depth))
    }
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: 'choice', options }
  }
  const sequence = (depth: number): Node => {
    const parts: Node[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') parts.push(quantified(atom(depth)))
    return { kind: 'sequence', parts }
  }
  const atom = (depth: number): Node => {
    if (take(/\(\?(?:[=!]|<[=!])/uy) !== undefined) throw new Unsupported('it looks ahead or behind')
    if (take(/\((?:\?:|\?<[^>]*>)?(?!\?)/uy) !== undefined) {
      const inner = choice(depth + 1)
      at += 1
      return inner
    }
    if (source[at] === '(') throw new Unsupported('it changes flags inside')
    if (take(/\^/uy) !== undefined) return { kind: 'assertion', holds: (before) => before === undefined }
    if (take(/\$/uy) !== undefined) return { kind: 'assertion', holds: (_, after) => after === undefined }
    const boundary = take(/\\[bB]/uy)
    if (boundary !== undefined) {
      const wanted = boundary === '\\b'
      return { kind: 'assertion', holds: (before, after) => (isWord(before) !== isWord(after)) === wanted }
    }
    if (take(/\\(?:[1-9]|k)/uy) !== undefined) throw new Unsupported('it refers back to a group')
    if (take(/\\u[dD][89a-fA-F]/uy) !== undefined) throw new Unsupported('it names half a character')
    const text =
      take(/\[(?:\\.|[^\]\\])*\]/uy) ??
      take(/\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|.)/uy) ??
      take(/./suy)
    if (text === undefined) throw new Unsupported('it cannot be read')
    const one = new RegExp(`^${text}$`, 'u')
    return { kind: 'character', accepts: (character) => one.test(character) }
  }
  const quantified = (node: Node): Node => {
    const text = take(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/uy)
    if (text === undefined) return node
    const [min, max] = boundsOf(text)
    return { kind: 'repeat', node, min, max }
  }
  return choice(0)
}

/** Least and most repetitions. Whether it is greedy makes no difference to whether it matches. */
function boundsOf(quantifier: string): readonly [number, number] {
  if (quantifier.startsWith('*')) return [0, Infinity]
  if (quantifier.startsWith('+')) return [1, Infinity]
  if (quantifier.startsWith('?')) return [0, 1]
  const [, least = '0', comma, most] = /^\{(\d+)(,)?(\d*)\}/u.exec(quantifier) ?? []
  const min = Number(least)
  if (comma === undefined) return [min, min]
  return [min, most === undefined || most === '' ? Infinity : Number(most)]
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/u.test(character)
}

// ── a program for it ─────────────────────────────────────────────────────────────────────────────────────

type Instruction =
  | { readonly kind: 'character'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'assertion'; readonly holds: Assertion }
  /** Goes on at each of these places at once. */
  | { readonly kind: 'go'; to: readonly number[] }
  | { readonly kind: 'match' }

function compile(root: Node): readonly Instruction[] {
  const program: Instruction[] = []
  const add = (instruction: Instruction): Instruction => {
    if (program.length >= MAX_INSTRUCTIONS) throw new Unsupported('it repeats too much')
    program.push(instruction)
    return instruction
  }
  const addGo = (): { to: readonly number[] } => {
    const go: Extract<Instruction, { kind: 'go' }> = { kind: 'go', to: [] }
    add(go)
    return go
  }
  const emit = (node: Node): void => {
    switch (node.kind) {
      case 'character':
      case 'assertion':
        add(node)
        return
      case 'sequence':
        for (const part of node.parts) emit(part)
        return
      case 'choice': {
        const fork = addGo()
        const starts: number[] = []
        const exits = node.options.map((option) => {
          starts.push(program.length)
          emit(option)
          return addGo()
        })
        fork.to = starts
        for (const exit of exits) exit.to = [program.length]
        return
      }
      case 'repeat':
        for (let i = 0; i < node.min; i++) {
          const before = program.length
          emit(node.node)
          // An empty node, repeated a million times, adds nothing and must not be counted out.
          if (program.length === before) break
        }
        if (node.max === Infinity) {
          const start = program.length
          const loop = addGo()
          emit(node.node)
          addGo().to = [start]
          loop.to = [start + 1, program.length]
          return
        }
        for (let i = node.min; i < node.max; i++) {
          const skip = addGo()
          const start = program.length
          emit(node.node)
          skip.to = [start, program.length]
          if (program.length === start) break
        }
    }
  }
  emit(root)
  add({ kind: 'match' })
  return program
}

// ── running it ───────────────────────────────────────────────────────────────────────────────────────────

function run(program: readonly Instruction[], text: string, spend: (steps: number) => void): boolean {
  const characters = [...text]
  let waiting: readonly number[] = []
  for (let at = 0; at <= characters.length; at++) {
    const [before, after] = [characters[at - 1], characters[at]]
    // A match may begin anywhere.
    const reached = reach(program, [...waiting, 0], before, after)
    if (reached.isMatch) return true
    spend(reached.steps)
    if (after === undefined) return false
    waiting = reached.places.flatMap((place) => {
      const instruction = program[place]
      return instruction?.kind === 'character' && instruction.accepts(after) ? [place + 1] : []
    })
  }
  return false
}

/** All places that wait for a character, reachable from `starts` without one. Each is visited once. */
function reach(
  program: readonly Instruction[],
  starts: readonly number[],
  before: string | undefined,
  after: string | undefined,
): { readonly isMatch: boolean; readonly places: readonly number[]; readonly steps: number } {
  const seen = new Set<number>(starts)
  const places: number[] = []
  // A set yields what is added to it while it is walked.
  for (const place of seen) {
    const instruction = program[place]
    if (instruction === undefined) continue
    if (instruction.kind === 'match') return { isMatch: true, places, steps: seen.size }
    if (instruction.kind === 'character') places.push(place)
    if (instruction.kind === 'go') for (const next of instruction.to) seen.add(next)
    if (instruction.kind === 'assertion' && instruction.holds(before, after)) seen.add(place + 1)
  }
  return { isMatch: false, places, steps: seen.size }
}

/** Doors: a tool that takes as long as a test wants. */
import { z } from 'zod'
import type { Tool } from '../../src/effects/tools/tool.ts'

/** Doors that a tool waits at until the test opens them. */
export class Doors {
  readonly #open = new Map<string, () => void>()
  readonly #opened = new Set<string>()
  readonly passed: string[] = []

  readonly tool: Tool<{ door: string }> = {
    name: 'Pass',
    description: 'Waits at a door',
    inputSchema: z.strictObject({ door: z.string() }),
    resume: 'repeat',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    run: async ({ door }, { signal }) => {
      if (!this.#opened.has(door))
        await new Promise<void>((resolve, reject) => {
          this.#open.set(door, resolve)
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      this.passed.push(door)
      return { content: `passed ${door}` }
    },
  }

  open(door: string): void {
    this.#opened.add(door)
    this.#open.get(door)?.()
  }
}

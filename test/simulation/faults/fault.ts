/** A deliberate defect: what it breaks in the engine or in what it stands on, and which law must notice. */
import type { Scene } from '../laws/law.ts'

export interface Fault {
  readonly name: string
  /** The law that must be found broken. */
  readonly law: number
  /** What a programmer would have had to do wrong. */
  readonly text: string
  /** Within how many seeds it must be found. */
  readonly within: number
  /** Only sessions of this kind, where others never come to the place. */
  readonly scenario?: string
  /** Puts it into the engine. The result takes it out again. `scene` is there as soon as the session runs. */
  breakIt?(scene: () => Scene): () => void
  /** Puts it into what the engine stands on, which is made anew for each session. */
  breakOnScene?(scene: Scene): void
}

/** Replaces a method of a prototype. The result puts it back. */
export function replaceMethod<T extends object, K extends keyof T>(
  target: T,
  key: K,
  make: (original: T[K]) => T[K],
): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(target, key)
  if (descriptor === undefined) throw new Error(`there is no ${String(key)} to break`)
  Object.defineProperty(target, key, { ...descriptor, value: make(descriptor.value) })
  return () => Object.defineProperty(target, key, descriptor)
}

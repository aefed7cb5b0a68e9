/**
 * An append-only list whose prefixes can be shared.
 *
 * A fork holds a pointer to the list that it began in and how much of it counts: making one costs nothing, and as
 * no list ever changes what it has, neither sees what the other appends. A fork keeps its origin alive as a whole.
 */
export class SharedList<T> {
  readonly #origin: SharedList<T> | undefined
  readonly #shared: number
  readonly #own: T[] = []

  /** An empty list, or one that begins with the first `shared` items of another: {@link fork} checks that. */
  constructor(origin?: SharedList<T>, shared = 0) {
    this.#origin = origin
    this.#shared = shared
  }

  get length(): number {
    return this.#shared + this.#own.length
  }

  /** Amortised O(1). */
  push(item: T): void {
    this.#own.push(item)
  }

  /** O(1), plus one step per fork between this list and the one that holds the item. */
  at(index: number): T | undefined {
    return index < this.#shared ? this.#origin?.at(index) : this.#own[index - this.#shared]
  }

  /** The items from `start` on, live: what is appended meanwhile is reached too. */
  *items(start = 0): Iterable<T> {
    for (let index = start; index < this.length; index++) {
      // In range, so it is a T; `undefined` may be one.
      yield this.at(index) as T
    }
  }

  /** A list of its own that begins with the first `length` items. O(1). Throws a RangeError when there are fewer. */
  fork(length: number): SharedList<T> {
    if (!Number.isInteger(length) || length < 0 || length > this.length) {
      throw new RangeError(`cannot share the first ${length} items of a list that has ${this.length}`)
    }
    // Nothing of this list's own is wanted: ask the one before, so that chains of forks stay short.
    return this.#origin !== undefined && length <= this.#shared
      ? this.#origin.fork(length)
      : new SharedList(this, length)
  }
}

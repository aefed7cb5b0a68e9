import type { Law } from './law.ts'

/** No law of the twelve, and the ground of all: something that nobody stops comes to an end. */
export const PROGRESS: Law = {
  number: 0,
  name: 'progress',
  text: 'A session that nobody stops any more comes to its end.',
  holdsOverDamage: true,
  watch: () => ({}),
}

/** A user who may not do everything: tests of rights mean nothing to root. */
import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { CLI, filesBelow, type Place } from './program.ts'

const NOBODY = 65_534

export interface User {
  readonly uid?: number
  readonly gid?: number
}

/** Ourselves, or nobody when we are root. A string says why there is no such user here. */
export const unprivileged: User | string = whoMayNotDoEverything()

/** The user to run as; only for tests that are skipped when there is none. */
export const anybody: User = typeof unprivileged === 'string' ? {} : unprivileged

function whoMayNotDoEverything(): User | string {
  if (process.getuid?.() !== 0) return {}
  const user = { uid: NOBODY, gid: NOBODY }
  try {
    execFileSync(process.execPath, [CLI, '--version'], { ...user, cwd: '/', env: {}, stdio: 'ignore' })
    return user
  } catch {
    return 'we are root, and another user cannot start the program here'
  }
}

/** Gives everything in a place to the user. */
export function giveTo({ uid, gid }: User, place: Place): void {
  if (uid === undefined || gid === undefined) return
  for (const path of [place.root, place.project, place.home, ...filesBelow(place.root)])
    chownSync(path, uid, gid)
}

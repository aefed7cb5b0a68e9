import { type Fault, replaceMethod } from './fault.ts'

export const DISCONNECTED_LOCK: Fault = {
  name: 'no-lock',
  law: 10,
  text: 'A lock that somebody alive holds is taken for a dead one.',
  within: 300,
  scenario: 'wild',
  breakOnScene: ({ disk }) => {
    replaceMethod(disk, 'storageFor', (storageFor) => (life) => {
      const storage = storageFor(life)
      return {
        ...storage,
        lock: (path, info, options) => {
          try {
            return storage.lock(path, info, options)
          } catch {
            const owner = { host: 'simulation', pid: life.number, engine: info.engine, startedAt: '' }
            return { owner, release: () => {} }
          }
        },
      }
    })
  },
}

import { LazyConversation } from '../../../src/engine/lazy-conversation.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SHORTER_BEGINNING: Fault = {
  name: 'shorter-beginning',
  law: 5,
  text: 'What is inherited lacks its last message when it is read again, in a later process.',
  within: 60,
  scenario: 'forks',
  breakIt: (scene) =>
    replaceMethod(LazyConversation.prototype, 'onto', (onto) => {
      return function (this: LazyConversation, readBeginning) {
        return onto.call(this, async () => {
          const beginning = await readBeginning()
          const { disk, lockOf } = scene()
          const isFirst = (disk.holderOf(lockOf(disk.logs.root?.path ?? ''))?.number ?? 1) === 1
          return isFirst ? beginning : beginning.fork(Math.max(0, beginning.length - 1))
        })
      }
    }),
}

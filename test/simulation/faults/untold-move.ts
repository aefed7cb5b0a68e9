import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNTOLD_MOVE: Fault = {
  name: 'untold-move',
  law: 7,
  text: 'Nobody is owed the end of a child that was moved to the background.',
  within: 60,
  scenario: 'moves',
  breakIt: (scene) =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const { moves } = scene()
        const [draft] = drafts
        const isMoved =
          draft?.type === 'child.launched' && moves.some(({ agentId }) => agentId === draft.child.agentId)
        return isMoved ? Promise.resolve('taken' as const) : post.call(this, ...drafts)
      }
    }),
}

import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SECOND_END: Fault = {
  name: 'second-end',
  law: 4,
  text: 'The end of a run is written twice.',
  within: 20,
  breakIt: () =>
    replaceMethod(Agent.prototype, 'append', (append) => {
      return function (this: Agent, text) {
        const end = text.trimEnd().split('\n').at(-1) ?? ''
        if (!end.includes('"type":"agent.ended"')) return append.call(this, text)
        const again = end.replace(/"seq":(\d+)/, (_, seq) => `"seq":${Number(seq) + 1}`)
        return append.call(this, `${text}${again}\n`)
      }
    }),
}

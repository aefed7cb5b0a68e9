import { type Fault, replaceMethod } from './fault.ts'

export const SURVIVORS_STAY: Fault = {
  name: 'survivors-stay',
  law: 9,
  text: 'A resume does not end the processes that the dead engine has left.',
  within: 300,
  scenario: 'crashes',
  breakOnScene: ({ processes }) => {
    replaceMethod(processes, 'runnerFor', (runnerFor) => (life) => ({
      ...runnerFor(life),
      endSurvivors: () => Promise.resolve(0),
    }))
  },
}

import { SessionNames } from '../../../src/engine/session-names.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SHARED_NAME: Fault = {
  name: 'shared-name',
  law: 7,
  text: 'A name is given to whoever asks, whoever has it.',
  within: 20,
  scenario: 'messages',
  breakIt: () => replaceMethod(SessionNames.prototype, 'holderOf', () => () => undefined),
}

import { CallLedger } from '../../../src/engine/call-ledger.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const FORGOTTEN_START: Fault = {
  name: 'forgotten-start',
  law: 3,
  text: 'A resume does not look whether a call had been started before the crash.',
  within: 300,
  scenario: 'crashes',
  breakIt: () => replaceMethod(CallLedger.prototype, 'get', () => () => undefined),
}

/** What tests of hosts need: models that are driven by hand, a clock that is set by hand, a disk in memory. */
export { createManualModel } from './effects/model/manual.ts'
export { createScriptedModel } from './effects/model/scripted.ts'
export { createVirtualClock } from './effects/virtual-clock.ts'
export { createMemoryStorage } from './journal/memory-storage.ts'

/** The virtual clock, under the name by which tests know it. */
export { createVirtualClock, type VirtualClock } from '../../src/effects/virtual-clock.ts'

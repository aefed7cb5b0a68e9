/** For mutation runs only: the same draws for every mutant, so that a score is that of the tests and not of luck. */
import fc from 'fast-check'

fc.configureGlobal({ seed: 20_261_130, numRuns: 30 })

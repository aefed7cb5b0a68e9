import { describe, expect, it } from 'vitest'
import {
  DEFAULT_FEATURES,
  defaultDepth,
  FEATURES,
  featureNames,
  readFeatures,
} from '../../src/definitions/features.ts'

const built = featureNames().filter((name) => FEATURES[name].isBuilt)
const notBuilt = featureNames().filter((name) => !FEATURES[name].isBuilt)

describe('the features in force', () => {
  it('are the defaults when nobody says anything, and off where they are not built', () => {
    expect(readFeatures({})).toEqual({ features: DEFAULT_FEATURES, diagnostics: [] })
    expect(Object.keys(DEFAULT_FEATURES)).toEqual(featureNames())
    for (const name of notBuilt) expect(DEFAULT_FEATURES[name]).toBe(false)
    for (const name of built) expect(DEFAULT_FEATURES[name]).toBe(FEATURES[name].default)
  })

  it.each(built.map((name) => [name, FEATURES[name].environment] as const))(
    '%s is switched by %s, and an option is stronger',
    (name, variable) => {
      const turnsOn = FEATURES[name].variable === 'turns it on'
      expect(readFeatures({ [variable]: '1' }).features[name]).toBe(turnsOn)
      expect(readFeatures({ [variable]: ' True ' }).features[name]).toBe(turnsOn)
      expect(readFeatures({ [variable]: '0' }).features[name]).toBe(DEFAULT_FEATURES[name])
      expect(readFeatures({ [variable]: '1' }, { [name]: !turnsOn }).features[name]).toBe(!turnsOn)
    },
  )

  it.each(notBuilt)('%s stays off however it is asked for, and that is said', (name) => {
    const read = readFeatures({}, { [name]: true })
    expect(read.features[name]).toBe(false)
    expect(read.diagnostics).toMatchObject([{ severity: 'error', code: 'feature-not-available' }])
    expect(read.diagnostics[0]?.message).toContain(FEATURES[name].environment)
    expect(readFeatures({}, { [name]: false }).diagnostics).toEqual([])
  })

  it('keep their default under a variable that says neither yes nor no', () => {
    const read = readFeatures({ TROUPE_NESTING: 'perhaps' })
    expect(read.features.nesting).toBe(false)
    expect(read.diagnostics).toMatchObject([{ severity: 'warning', code: 'feature-unreadable' }])
  })

  it('have one variable each', () => {
    const variables = featureNames().map((name) => FEATURES[name].environment)
    expect(new Set(variables).size).toBe(variables.length)
    expect(FEATURES.background).toMatchObject({
      environment: 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS',
      variable: 'turns it off',
    })
  })

  it('decide how deep delegation goes', () => {
    expect([defaultDepth({ nesting: false }), defaultDepth({ nesting: true })]).toEqual([1, 5])
  })
})

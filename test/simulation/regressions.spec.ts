/** Plans that once broke a law, as small as they could be made. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { simulate } from './session.ts'

const folder = path.join(import.meta.dirname, 'regressions')

describe('a plan that once broke a law', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.json')))('%s', async (name) => {
    const { violation } = await simulate(JSON.parse(readFileSync(path.join(folder, name), 'utf8')))
    expect(violation).toBeUndefined()
  })
})

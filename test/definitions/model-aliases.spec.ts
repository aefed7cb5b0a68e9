import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MODEL_ALIASES, resolveModelId } from '../../src/definitions/model-aliases.ts'

describe('the name of a model', () => {
  it('is trimmed, and looked up in any case', () => {
    expect(resolveModelId('  Opus\n')).toBe(MODEL_ALIASES['opus'])
  })

  it('passes as it is when it is no alias, names of the prototype included', () => {
    for (const id of ['claude-sonnet-4-5-20250929', 'Local/Model:7b', 'constructor', '__proto__']) {
      expect(resolveModelId(id)).toBe(id)
    }
  })

  it('means what the host says it means', () => {
    expect(resolveModelId('sonnet', { sonnet: 'mine' })).toBe('mine')
    expect(resolveModelId('opus', { sonnet: 'mine' })).toBe('opus')
  })

  it('stands for a model that the installed SDK knows and does not warn of', () => {
    const sdk = new URL('.', import.meta.resolve('@anthropic-ai/sdk'))
    const known = readFileSync(fileURLToPath(new URL('resources/messages/messages.d.ts', sdk)), 'utf8')
    const deprecated = readFileSync(
      fileURLToPath(new URL('internal/data/deprecated-models.mjs', sdk)),
      'utf8',
    )
    for (const id of Object.values(MODEL_ALIASES)) {
      expect(known).toContain(`'${id}'`)
      expect(deprecated).not.toContain(`'${id}'`)
    }
  })
})

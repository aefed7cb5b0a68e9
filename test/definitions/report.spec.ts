import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/definitions/limits.ts'
import {
  agentResultContent,
  agentStructuredResult,
  cutText,
  type ReportFacts,
} from '../../src/definitions/report.ts'

const facts: ReportFacts = {
  agentId: 'a15691254c34be789',
  agentType: 'general-purpose',
  prompt: 'list files',
  text: 'Found two files.',
  outcome: { kind: 'completed' },
  usage: {
    input_tokens: 12_000,
    output_tokens: 20,
    cache_read_input_tokens: 900,
    cache_creation_input_tokens: 88,
  },
  toolUses: 1,
  durationMs: 236,
  isOneShot: false,
  logPath: '/logs/agent-a15691254c34be789.jsonl',
}

const textsOf = (more: Partial<ReportFacts>, maxChars?: number): readonly string[] =>
  agentResultContent({ ...facts, ...more }, maxChars).map(({ text }) => text)

describe('what the model of the parent reads', () => {
  it('is the report, then the id and usage in a block of their own', () => {
    expect(agentResultContent(facts)).toEqual([
      { type: 'text', text: 'Found two files.' },
      {
        type: 'text',
        text: 'agentId: a15691254c34be789\n<usage>total_tokens: 13008\ntool_uses: 1\nduration_ms: 236</usage>',
      },
    ])
  })

  it('is the report alone for a one-shot agent', () => {
    expect(textsOf({ isOneShot: true })).toEqual(['Found two files.'])
  })

  it('says how to go on with the agent only where that is possible', () => {
    expect(textsOf({})[1]).not.toContain('SendMessage')
    expect(textsOf({ canContinue: true })[1]).toContain("SendMessage with to: 'a15691254c34be789'")
  })

  it.each([
    [{ kind: 'limit', limit: 'turns' }, 'reached its limit of turns'],
    [{ kind: 'partial' }, 'was cut at the model'],
    [{ kind: 'failed' }, 'it failed'],
    [{ kind: 'killed' }, 'it was stopped'],
  ] as const)('says of outcome %j that the agent %s, for one-shot agents too', (outcome, words) => {
    const [report, note] = textsOf({ outcome, isOneShot: true })
    expect(report).toBe('Found two files.')
    expect(note).toContain(words)
    expect(note).toContain(facts.logPath)
  })

  it('points to the log when there is no report, and never holds an empty block', () => {
    for (const text of ['', ' \n\t'])
      for (const outcome of [
        { kind: 'no_report' },
        { kind: 'completed' },
        { kind: 'limit', limit: 'turns' },
      ] as const) {
        const texts = textsOf({ text, outcome, isOneShot: true })
        expect(texts).toHaveLength(1)
        expect(texts[0]).toContain(facts.logPath)
      }
  })

  it('lists what the engine refused the child, behind the report', () => {
    const refused = [{ toolName: 'Bash', input: { command: 'ls' }, reason: 'the mode asks nobody' }]
    expect(textsOf({ denials: { Bash: 1 }, refused })[1]).toBe(
      '[Refused by the engine, so not done (1):\n- Bash {"command":"ls"}: the mode asks nobody\n]',
    )
  })

  it('stays within 100,000 characters altogether, and says where the rest is', () => {
    const texts = textsOf({ text: 'x'.repeat(250_000), outcome: { kind: 'partial' } })
    expect(texts.join('').length).toBe(DEFAULT_LIMITS.agentResultChars)
    expect(texts[0]).toMatch(
      /x\n\n\[Cut: the report has 250000 characters\. The whole text is in \/logs\/.*\]$/u,
    )
    expect(textsOf({ text: 'x'.repeat(1_000) })[0]).toHaveLength(1_000)
  })

  it('never splits a character, never exceeds its limit, and keeps the start of the report', () => {
    const whole = fc
      .array(fc.constantFrom('a', 'é', '😀', '\n'), { minLength: 1, maxLength: 600 })
      .map((all) => `r${all.join('')}`)
    fc.assert(
      fc.property(whole, fc.integer({ min: 300, max: 900 }), (text, maxChars) => {
        const [report = '', ...rest] = textsOf({ text }, maxChars)
        expect(report.length + rest.join('').length).toBeLessThanOrEqual(maxChars)
        expect(report).not.toMatch(/\p{Cs}/u)
        const kept = report.split('\n\n[Cut: ')[0] ?? ''
        expect(text.startsWith(kept)).toBe(true)
        expect(cutText(text, text.length, 'x')).toBe(text)
      }),
    )
  })
})

describe('the record beside it', () => {
  it('is the completed variant, without null fields', () => {
    expect(agentStructuredResult(facts)).toEqual({
      status: 'completed',
      prompt: 'list files',
      agentId: 'a15691254c34be789',
      agentType: 'general-purpose',
      content: [{ type: 'text', text: 'Found two files.' }],
      totalDurationMs: 236,
      totalTokens: 13_008,
      totalToolUseCount: 1,
      usage: facts.usage,
      outcome: 'completed',
    })
  })

  it('says which limit, and what was refused', () => {
    const record = agentStructuredResult({
      ...facts,
      outcome: { kind: 'limit', limit: 'turns' },
      denials: { Bash: 1 },
    })
    expect(record).toMatchObject({ outcome: 'limit', limit: 'turns', denials: { Bash: 1 } })
    expect(agentStructuredResult({ ...facts, text: '', outcome: { kind: 'no_report' } })).toMatchObject({
      content: [],
      outcome: 'no_report',
    })
  })
})

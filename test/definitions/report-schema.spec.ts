import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkReport,
  MAX_REPORT_CHARS,
  type ReportSchema,
  readReportSchema,
  reportSchemaPrompt,
} from '../../src/definitions/report-schema.ts'

function schemaOf(raw: unknown): ReportSchema {
  const { schema, diagnostics } = readReportSchema('reviewer', raw)
  if (schema === undefined) throw new Error(JSON.stringify(diagnostics))
  return schema
}

const findings = schemaOf({
  type: 'object',
  required: ['findings'],
  properties: { findings: { type: 'array', items: { type: 'string' } } },
  additionalProperties: false,
})
const right = '{"findings":["a"]}'

describe('a report', () => {
  it.each([
    ['alone', right],
    ['with blanks around it', `\n ${right} \n`],
    ['in a fenced block', `Here it is:\n\`\`\`json\n${right}\n\`\`\`\nDone.`],
    ['in a fenced block without a language, with CRLF', `\`\`\`\r\n${right}\r\n\`\`\`\r\n`],
    ['in the last of two blocks', `\`\`\`\n{"other":1}\n\`\`\`\n\`\`\`json\n${right}\n\`\`\``],
    ['in the first, when the last does not fit', `\`\`\`json\n${right}\n\`\`\`\n\`\`\`sh\nls {}\n\`\`\``],
    ['between words', `The result is ${right}, as you asked.`],
  ])('is found when its JSON stands %s', (_, text) => {
    expect(checkReport(text, findings)).toEqual({ ok: true, value: { findings: ['a'] } })
  })

  it.each([
    ['nothing', '', 'no JSON value'],
    ['words only', 'All is well.', 'no JSON value'],
    ['a broken value', '{"findings": [', 'no JSON value'],
    ['a value that does not fit', '{"findings":[1],"more":true}', '/findings/0 must be string'],
    ['another value', '[]', 'the value must be object'],
    ['too much', ' '.repeat(MAX_REPORT_CHARS + 1), 'are the limit'],
    ['a value nested without end', '['.repeat(5_000) + ']'.repeat(5_000), 'no JSON value'],
  ])('of %s is sent back with what is wrong and what to do', (_, text, what) => {
    const checked = checkReport(text, findings)
    expect(checked).toMatchObject({ ok: false, message: expect.stringContaining(what) })
    if (!checked.ok) {
      expect(checked.message).toMatch(/Send the whole report once more, as one JSON value/u)
      expect(checked.message.length).toBeLessThan(3_000)
    }
  })

  it('passes unchecked, and says so, when its schema cannot be followed to an end', () => {
    expect(checkReport('{"a":1}', schemaOf({ $ref: '#' }))).toEqual({
      ok: true,
      value: { a: 1 },
      unchecked: expect.stringContaining('without end'),
    })
  })

  it('that fits comes back as it is, however it is wrapped', () => {
    const anything = schemaOf({})
    const wrapped = fc.constantFrom(
      (json: string) => json,
      (json: string) => `\`\`\`json\n${json}\n\`\`\``,
      (json: string) => `Words.\n\n\`\`\`\n${json}\n\`\`\`\n`,
    )
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), wrapped, (value, wrap) => {
        const json = JSON.stringify(value, null, 2)
        // A text may itself hold a fence at the start of a line only when JSON is written by hand.
        expect(checkReport(wrap(json), anything)).toEqual({ ok: true, value: JSON.parse(json) })
      }),
    )
  })

  it('never makes the check throw, and a value that is let pass is never a wrong one', () => {
    const text = fc.array(
      fc.constantFrom('```', '\n', '{', '}', '[', ']', '"findings"', ':', '"a"', '1', 'json', ' '),
      {
        maxLength: 25,
      },
    )
    fc.assert(
      fc.property(text, (parts) => {
        const checked = checkReport(parts.join(''), findings)
        if (checked.ok) expect(findings.check(checked.value)).toEqual({ kind: 'valid' })
      }),
      { numRuns: 500 },
    )
  })
})

describe('the schema of a definition', () => {
  it('that is broken is a diagnostic, and nothing is checked', () => {
    expect(readReportSchema('reviewer', { type: 'text' })).toEqual({
      schema: undefined,
      diagnostics: [
        {
          severity: 'error',
          code: 'report-schema-unusable',
          message: expect.stringMatching(/outputSchema of reviewer .*#\/type .*correct the schema/u),
        },
      ],
    })
  })

  it('that asks for more than can be checked is used, and says which parts', () => {
    expect(readReportSchema('reviewer', { format: 'date' }).diagnostics).toMatchObject([
      { severity: 'warning', code: 'report-schema-in-part', message: expect.stringContaining('#/format') },
    ])
  })

  it('is told to the agent, the same bytes for the same schema', () => {
    const prompt = reportSchemaPrompt(findings)
    expect(prompt).toBe(reportSchemaPrompt(schemaOf(JSON.parse(findings.text))))
    expect(prompt).toMatch(/^# Form of your report\n/u)
    expect(prompt.endsWith(findings.text)).toBe(true)
  })
})

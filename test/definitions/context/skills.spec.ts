import { describe, expect, it } from 'vitest'
import { parseSkill, type SkillReading } from '../../../src/definitions/context/parse-skill.ts'
import {
  MAX_SKILL_TEXT_BYTES,
  renderSkill,
  skillListing,
} from '../../../src/definitions/context/render-skill.ts'
import { resolveSkill } from '../../../src/definitions/context/resolve-skill.ts'
import type { Skill, SkillOrigin } from '../../../src/definitions/context/skill.ts'
import { byteLength } from '../../../src/definitions/context/text.ts'

const ORIGIN: SkillOrigin = {
  path: '/s/pdf/SKILL.md',
  baseDir: '/s/pdf',
  folderName: 'pdf',
  source: 'projectSettings',
}
const parse = (text: string, origin: Partial<SkillOrigin> = {}): SkillReading =>
  parseSkill(text, { ...ORIGIN, ...origin })
const codes = ({ diagnostics }: SkillReading): readonly string[] => diagnostics.map(({ code }) => code)

const skill = (name: string, more: Partial<Skill> = {}): Skill => ({
  name,
  description: `About ${name}`,
  body: 'Do it.',
  baseDir: `/s/${name}`,
  filename: `/s/${name}/SKILL.md`,
  source: 'projectSettings',
  disableModelInvocation: false,
  ...more,
})

describe('a skill file', () => {
  it('is read with all its fields', () => {
    const text =
      '---\nname: pdf-tools\ndescription: Works with PDF files\nallowed-tools: Read, Bash(git log:*) Grep\nmodel: haiku\nlicense: MIT\n---\n\n# PDF\n\nDo it.\n'
    expect(parse(text)).toEqual({
      skill: {
        ...ORIGIN,
        folderName: undefined,
        path: undefined,
        name: 'pdf-tools',
        description: 'Works with PDF files',
        body: '# PDF\n\nDo it.',
        filename: '/s/pdf/SKILL.md',
        allowedTools: ['Read', 'Bash(git log:*)', 'Grep'],
        disableModelInvocation: false,
        model: 'haiku',
      },
      diagnostics: [],
    })
  })

  it('is the same with any line ends and mark', () => {
    const plain = '---\nname: a\ndescription: |\n  one\n  two\n---\nBody\n\nmore\n'
    const forms = [plain, plain.replaceAll('\n', '\r\n'), plain.replaceAll('\n', '\r')].flatMap((text) => [
      text,
      `\ufeff${text}`,
      text.trimEnd(),
    ])
    for (const form of forms) expect(parse(form)).toEqual(parse(plain))
    expect(parse(plain).skill).toMatchObject({ description: 'one\ntwo', body: 'Body\n\nmore' })
  })

  it('that is no YAML is read line by line, without its tools, and says so', () => {
    const reading = parse(
      '---\nname: a\ndescription: Use when: the user asks <example>\nuser: "x"\n</example>\nlicense: MIT\nallowed-tools: Bash\ndisable-model-invocation: true\n---\nBody',
    )
    expect(reading.skill).toMatchObject({
      name: 'a',
      description: 'Use when: the user asks <example>',
      disableModelInvocation: true,
      body: 'Body',
    })
    expect(reading.skill).not.toHaveProperty('allowedTools')
    expect(codes(reading)).toEqual(['skill-repaired'])
    expect(reading.diagnostics[0]).toMatchObject({ line: 3, file: '/s/pdf/SKILL.md' })
    expect(reading.diagnostics[0]?.message).toContain('"allowed-tools" is left out')
  })

  it.each([
    '---js\nprocess.exit(3)\n---\nx',
    '---javascript\nmodule.exports = {}\n---\nx',
    '---coffee\n---\nx',
  ])('runs no code: %j', (text) => {
    const reading = parse(text)
    expect(reading.skill).toMatchObject({ name: 'pdf', body: text })
    expect(codes(reading)).toEqual(['skill-description-missing'])
  })

  it('parsed twice gives the same answer, also when it is broken', () => {
    const broken = '---\nname: a\ndescription: x: y\n---\nBody'
    expect(parse(broken)).toEqual(parse(broken))
    expect(codes(parse(broken))).toEqual(['skill-repaired'])
  })

  it('whose frontmatter is never closed is read as far as it goes', () => {
    const reading = parse('---\nname: a\ndescription: What\n\nBody')
    expect(reading.skill).toMatchObject({ name: 'a', description: 'What' })
    expect(codes(reading)).toEqual(['skill-repaired'])
  })

  it('is not cut short by a line of dashes in its frontmatter', () => {
    const reading = parse('---\nname: a\n---- \ndescription: What\n---\nBody')
    expect(reading.skill).toMatchObject({ name: 'a', body: 'Body' })
    expect(codes(reading)).toContain('skill-repaired')
  })

  it('is called after its folder when its own name cannot be used', () => {
    expect(parse('---\nname: "other:pdf"\ndescription: d\n---\n').skill?.name).toBe('pdf')
    expect(codes(parse('---\nname: "a\\nb"\ndescription: d\n---\n'))).toEqual(['skill-name-unusable'])
    expect(codes(parse('---\ndescription: d\n---\n'))).toEqual([])
  })

  it('without any name that can be used is not loaded', () => {
    const reading = parse('---\ndescription: d\n---\n', { folderName: 'a:b' })
    expect(reading.skill).toBeUndefined()
    expect(reading.diagnostics).toMatchObject([{ severity: 'error', code: 'skill-name-unusable' }])
  })

  it('without a description takes the first line of its text', () => {
    const reading = parse('# Title\n\nFills in forms. And more.\n')
    expect(reading.skill?.description).toBe('Fills in forms. And more.')
    expect(codes(reading)).toEqual(['skill-description-missing'])
  })

  it.each([
    ['true', true, []],
    ['yes', true, []],
    ['false', false, []],
    ['perhaps', true, ['skill-field-unreadable']],
    ['[1]', true, ['skill-field-unreadable']],
  ])('is closed to models by %s: %s', (value, closed, expected) => {
    const reading = parse(`---\ndescription: d\ndisable-model-invocation: ${value}\n---\n`)
    expect(reading.skill?.disableModelInvocation).toBe(closed)
    expect(codes(reading)).toEqual(expected)
  })

  it('tells which keys it does nothing with', () => {
    const reading = parse(
      '---\ndescription: d\nhooks: {}\ncontext: fork\nversion: 1\nallowed-tools: 7\n---\n',
    )
    expect(codes(reading)).toEqual(['skill-field-unreadable', 'skill-keys-ignored'])
    expect(reading.diagnostics[1]?.message).toContain('context, hooks.')
  })

  it('of a plugin has the prefix', () => {
    expect(parse('---\ndescription: d\n---\n', { source: 'plugin', plugin: 'docs' }).skill).toMatchObject({
      name: 'docs:pdf',
      plugin: 'docs',
    })
  })
})

describe('the skill that a name means', () => {
  const skills = [skill('review'), skill('a:review'), skill('a:lint'), skill('b:lint'), skill('b:format')]
  const found = (name: string, plugin?: string): string => {
    const resolution = resolveSkill(name, skills, plugin)
    return resolution.kind === 'found' ? `${resolution.skill.name} by ${resolution.by}` : resolution.kind
  }

  it.each([
    ['review', undefined, 'review by exact'],
    ['review', 'a', 'review by exact'],
    [' /a:review ', undefined, 'a:review by exact'],
    ['lint', 'b', 'b:lint by plugin'],
    ['format', undefined, 'b:format by suffix'],
    ['format', 'a', 'b:format by suffix'],
    ['lint', undefined, 'ambiguous'],
    ['int', undefined, 'missing'],
    ['', undefined, 'missing'],
    ['toString', undefined, 'missing'],
  ])('%j asked by plugin %s is %s', (name, plugin, expected) => {
    expect(found(name, plugin)).toBe(expected)
  })

  it('is told with the choices when there are several, and with what there is when there is none', () => {
    expect(resolveSkill('lint', skills)).toMatchObject({
      candidates: ['a:lint', 'b:lint'],
      message: 'More than one skill is called lint: a:lint, b:lint. Use the full name.',
    })
    expect(resolveSkill('reviewe', skills)).toMatchObject({
      message:
        'There is no skill reviewe. Did you mean "review"? There are: a:lint, a:review, b:format, b:lint, review.',
    })
    expect(resolveSkill('x', [])).toMatchObject({ message: 'There is no skill x. There are none.' })
  })
})

describe('a loaded skill', () => {
  it('says where its files are and holds its instructions', () => {
    expect(renderSkill(skill('pdf'))).toBe(
      '<loaded-skill name="pdf">\nBase directory of this skill: /s/pdf\n\nDo it.\n</loaded-skill>',
    )
  })

  it('has its arguments in every place for them, once and as they are', () => {
    const text = renderSkill(skill('a', { body: 'x $ARGUMENTS y $ARGUMENTS' }), "$ARGUMENTS $& $' $1")
    expect(text).toContain("x $ARGUMENTS $& $' $1 y $ARGUMENTS $& $' $1\n")
    expect(renderSkill(skill('a', { body: 'x $ARGUMENTS.' }))).toContain('x .\n')
    expect(renderSkill(skill('a'), ' b ')).toContain('Do it.\n\nArguments: b\n')
  })

  it('cannot be left by a tag that is made of text and arguments', () => {
    const text = renderSkill(skill('a', { body: '</loaded-$ARGUMENTS x' }), 'skill>')
    expect(text).toContain('&lt;/loaded-skill> x')
  })

  it('is bounded, also when arguments multiply it', () => {
    const body = '$ARGUMENTS'.repeat(20_000)
    const text = renderSkill(skill('a', { body }), 'é'.repeat(100_000))
    expect(byteLength(text)).toBeLessThan(MAX_SKILL_TEXT_BYTES + 100)
    expect(text).toContain('All of it is in /s/a/SKILL.md')
  })
})

describe('the list of skills', () => {
  it('has a line for each that models may call, sorted', () => {
    const skills = [
      skill('b', { description: 'Two\nlines </system-reminder>' }),
      skill('a'),
      skill('c', { disableModelInvocation: true }),
    ]
    expect(skillListing(skills)).toBe(
      'Skills available for the Skill tool:\n- a: About a\n- b: Two lines &lt;/system-reminder>',
    )
    expect(skillListing(skills.toReversed())).toBe(skillListing(skills))
  })

  it('is empty without any', () => {
    expect(skillListing([skill('c', { disableModelInvocation: true })])).toBe('')
  })

  it('is bounded and says how many are left out', () => {
    const many = Array.from({ length: 500 }, (_, i) => skill(`s${i}`, { description: 'é'.repeat(500) }))
    const text = skillListing(many)
    expect(byteLength(text)).toBeLessThan(17 * 1024)
    const shown = text.split('\n').length - 2
    expect(text).toMatch(new RegExp(`and ${500 - shown} more, which can be called by name$`))
  })
})

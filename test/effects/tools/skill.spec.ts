import { describe, expect, it } from 'vitest'
import type { Skill } from '../../../src/definitions/context/skill.ts'
import { skillTool } from '../../../src/effects/tools/skill.ts'
import type { ToolOutput } from '../../../src/effects/tools/tool.ts'
import { createToolTable } from '../../../src/effects/tools/tool-table.ts'
import { createWorkbench } from './workbench.ts'

const skill = (name: string, more: Partial<Skill> = {}): Skill => ({
  name,
  description: name,
  body: `Do ${name}.`,
  baseDir: '/s',
  filename: '/s/SKILL.md',
  source: 'projectSettings',
  disableModelInvocation: false,
  ...more,
})

let skills: readonly Skill[] = []
const tool = skillTool(() => skills)

async function load(name: string, args?: string): Promise<ToolOutput> {
  const bench = await createWorkbench()
  try {
    return await bench.call(tool, { skill: name, ...(args !== undefined && { args }) })
  } finally {
    await bench.dispose()
  }
}

describe('the tool Skill', () => {
  it('loads a skill with its arguments', async () => {
    skills = [skill('a:pdf', { body: 'Fill in $ARGUMENTS.', allowedTools: ['Read'], model: 'haiku' })]
    expect(await load('pdf', 'form.pdf')).toEqual({
      content:
        '<loaded-skill name="a:pdf">\nBase directory of this skill: /s\n\nFill in form.pdf.\n</loaded-skill>',
      structured: { success: true, commandName: 'a:pdf', allowedTools: ['Read'], model: 'haiku' },
    })
  })

  it('sees the skills of the moment', async () => {
    skills = []
    expect(await load('new')).toMatchObject({ isError: true })
    skills = [skill('new')]
    expect((await load('new')).isError).toBeUndefined()
  })

  it('refuses one that is closed to models, and does not name it otherwise', async () => {
    skills = [skill('closed', { disableModelInvocation: true }), skill('open')]
    expect(await load('closed')).toMatchObject({
      isError: true,
      content: expect.stringContaining('for people only'),
    })
    expect(await load('close')).toEqual({
      isError: true,
      content: 'There is no skill close. There are: open.',
    })
  })

  it('takes the one of two that is open, and tells of two that are', async () => {
    skills = [skill('a:x'), skill('b:x', { disableModelInvocation: true })]
    expect((await load('x')).content).toContain('Do a:x.')
    skills = [skill('a:x'), skill('b:x')]
    expect(await load('x')).toMatchObject({ isError: true, content: expect.stringContaining('a:x, b:x') })
  })

  it('is judged by the full name of what it loads', () => {
    skills = [skill('a:deploy')]
    expect(tool.ruleSubject?.({ skill: '/deploy' })).toBe('a:deploy')
    expect(tool.ruleSubject?.({ skill: 'gone' })).toBe('gone')
  })

  it('only reads, may be repeated, and is described in the same bytes whatever skills there are', () => {
    const input = { skill: 'a' }
    expect([tool.isReadOnly(input), tool.isConcurrencySafe(input), tool.resume]).toEqual([
      true,
      true,
      'repeat',
    ])
    skills = []
    const before = JSON.stringify(createToolTable([tool]).definitions())
    skills = [skill('a')]
    expect(JSON.stringify(createToolTable([skillTool(() => skills)]).definitions())).toBe(before)
    expect(createToolTable([tool]).parseCall('Skill', { skill: 'a', more: 1 })).toMatchObject({ ok: false })
  })
})

/** Output files stay in their project, within their bytes, and never stop an agent. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { OutputFilesOptions } from '../../src/effects/output-files.ts'
import { createOutputFiles } from '../../src/effects/output-files.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const AGENT = 'a0000000000000001'

function filesIn(project: string, more: Partial<OutputFilesOptions> = {}) {
  const failures: string[] = []
  const files = createOutputFiles({ project, onFailure: (path) => failures.push(path), ...more })
  return { files, failures, text: () => readFileSync(files.pathOf(AGENT), 'utf8') }
}

describe('an output file', () => {
  it('has progress and the report, once, and git does not see it', () => {
    const project = temporaryFolder()
    const { files, text } = filesIn(project)
    files.progress(AGENT, 'looks')
    files.report(AGENT, '── run 1 ──', 'found it')
    files.report(AGENT, '── run 1 ──', 'found it')
    files.report(AGENT, '── run 2 ──', 'found more')
    expect(text()).toBe('looks\n── run 1 ──\nfound it\n── run 2 ──\nfound more\n')
    expect(readFileSync(join(project, '.claude', 'tasks', '.gitignore'), 'utf8')).toBe('*\n')
  })

  it('stays within its bytes: progress has half of them, head and tail of the report the rest', () => {
    const { files, text } = filesIn(temporaryFolder(), { maxBytes: 1_000 })
    for (let i = 0; i < 100; i += 1) files.progress(AGENT, `step ${i} ${'.'.repeat(20)}`)
    files.report(AGENT, '-- run 1 --', `HEAD ${'ä'.repeat(2_000)} TAIL`)
    expect(Buffer.byteLength(text())).toBeLessThanOrEqual(1_000)
    expect(text()).toContain('more was done than fits')
    expect(text()).toContain('HEAD')
    expect(text()).toContain('TAIL')
    expect(text()).not.toContain('\ufffd')
  })

  it('stays within them over any number of runs', () => {
    const { files, text } = filesIn(temporaryFolder(), { maxBytes: 1_000 })
    for (let run = 1; run <= 50; run += 1) files.report(AGENT, `── run ${run} ──`, 'ä'.repeat(run * 10))
    expect(Buffer.byteLength(text())).toBeLessThanOrEqual(1_000)
    expect(text()).toContain('── run 1 ──')
    expect(text()).not.toContain('\ufffd')
  })

  it.each(['.claude', join('.claude', 'tasks')])('is not written through a link at %s', (link) => {
    const [project, outside] = [temporaryFolder(), temporaryFolder()]
    if (link !== '.claude') mkdirSync(join(project, '.claude'))
    symlinkSync(outside, join(project, link))
    const { files, failures } = filesIn(project)
    files.progress(AGENT, 'looks')
    files.progress(AGENT, 'looks again')
    expect(failures).toEqual([files.pathOf(AGENT)])
    expect(existsSync(join(outside, `${AGENT}.output`))).toBe(false)
  })

  it('is not written through a link in its own place, and names no other place', () => {
    const [project, outside] = [temporaryFolder(), temporaryFolder()]
    mkdirSync(join(project, '.claude', 'tasks'), { recursive: true })
    writeFileSync(join(outside, 'file'), 'mine')
    symlinkSync(join(outside, 'file'), join(project, '.claude', 'tasks', `${AGENT}.output`))
    const { files, failures } = filesIn(project)
    files.progress(AGENT, 'looks')
    files.progress('../../outside', 'looks')
    expect(failures).toHaveLength(1)
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('mine')
    expect(existsSync(join(project, 'outside.output'))).toBe(false)
  })
})

import { expect, it, vi } from 'vitest'
import { globTool } from '../../../src/effects/tools/glob.ts'
import { grepTool } from '../../../src/effects/tools/grep.ts'
import { createWorkbench } from './workbench.ts'

// What the package does where it has no program for the platform: it throws on import.
vi.mock('@vscode/ripgrep', () => {
  throw new Error('Could not find @vscode/ripgrep-plan9-mips')
})

it('without ripgrep both searches say which package is missing', async () => {
  const bench = await createWorkbench()
  const outputs = [await bench.call(grepTool, { pattern: 'x' }), await bench.call(globTool, { pattern: '*' })]
  await bench.dispose()
  for (const output of outputs) {
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(/package @vscode\/ripgrep has no program for .*npm install/)
  }
})

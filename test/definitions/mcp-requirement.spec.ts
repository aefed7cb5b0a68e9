import { describe, expect, it } from 'vitest'
import { checkMcpRequirement, type McpServerFact } from '../../src/definitions/mcp-requirement.ts'

const server = (name: string, status: McpServerFact['status'], tools = 1): McpServerFact => ({
  name,
  status,
  tools,
})

describe('a definition that needs MCP servers', () => {
  it.each<[string, readonly string[], readonly McpServerFact[], string, readonly string[]]>([
    ['needs none', [], [], 'ready', []],
    ['finds a part of a name, in any case', [' GitHub '], [server('my-github-x', 'connected')], 'ready', []],
    [
      'takes one that is ready over one that is not',
      ['git'],
      [server('git-a', 'failed'), server('git-b', 'connected')],
      'ready',
      [],
    ],
    [
      'waits while one starts',
      ['git', 'db'],
      [server('git', 'pending'), server('db', 'connected')],
      'pending',
      ['git'],
    ],
    ['does not wait when another is hopeless', ['git', 'db'], [server('git', 'pending')], 'missing', ['db']],
    ['has no use for one without tools', ['git'], [server('git', 'connected', 0)], 'missing', ['git']],
    ['does not count blanks', ['  '], [], 'ready', []],
  ])('%s', (_, required, servers, kind, parts) => {
    expect(checkMcpRequirement('x', required, servers)).toMatchObject({
      kind,
      ...(parts.length > 0 && { parts }),
    })
  })

  it('is told what is missing, why, and what to do', () => {
    const servers = [server('git', 'needs-auth'), server('db', 'connected', 0), server('ok', 'connected')]
    const checked = checkMcpRequirement('tester', ['git', 'db', 'ok', 'web'], servers)
    expect(checked).toMatchObject({
      parts: ['git', 'db', 'web'],
      message: expect.stringMatching(
        /^The agent type "tester" needs .*git \(git needs a login\), db \(db lists no tools\), web \(no server.*\. Choose another type/u,
      ),
    })
  })

  it('misses what is still starting when the time is up', () => {
    expect(checkMcpRequirement('x', ['git'], [server('git', 'pending')], true)).toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('git (still starting)'),
    })
  })
})

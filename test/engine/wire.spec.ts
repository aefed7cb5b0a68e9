/** What goes over the wire for each kind of agent: a real project in a folder, a server of the Messages API. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import { createAnthropicModel } from '../../src/effects/model/anthropic.ts'
import type { ProjectOptions } from '../../src/effects/project/open-project.ts'
import { openProject } from '../../src/effects/project/open-project.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import type { ReceivedRequest } from '../helpers/messages-server.ts'
import { startMessagesServer, textReply, toolReply } from '../helpers/messages-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** A repository with instructions, one agent file and a skill. */
function newProject(): string {
  const folder = temporaryFolder()
  execFileSync('git', ['init', '-q', '-b', 'trunk', folder])
  mkdirSync(path.join(folder, '.claude', 'agents'), { recursive: true })
  writeFileSync(path.join(folder, 'CLAUDE.md'), 'INSTRUCTIONS of the project\n')
  writeAgent(folder, 'reviewer')
  return folder
}

function writeAgent(folder: string, name: string): void {
  const text = `---\nname: ${name}\ndescription: reviews as ${name}\ntools: Read, Grep\nmodel: opus\n---\nYou are ${name}.\n`
  writeFileSync(path.join(folder, '.claude', 'agents', `${name}.md`), text)
}

async function world(
  answer: (request: ReceivedRequest) => ReturnType<typeof textReply>,
  options: Partial<ProjectOptions> = {},
) {
  const cwd = newProject()
  const server = await startMessagesServer(answer)
  const project = await openProject({
    cwd,
    home: temporaryFolder(),
    env: { PATH: process.env['PATH'] },
    builtIn: BUILT_IN_DEFINITIONS,
    ...options,
  })
  const engine = createEngine({
    model: createAnthropicModel({ env: server.env }),
    project,
    cwd,
    home: path.join(temporaryFolder(), 'home'),
    permissions: { mode: 'bypassPermissions' },
    modelId: 'claude-root-model',
  })
  const close = async () => {
    await engine.close()
    await project.close()
    await server[Symbol.asyncDispose]()
  }
  return { cwd, server, project, engine, close }
}

const systemOf = ({ body }: ReceivedRequest): string => JSON.stringify(body['system'])
const toolsOf = ({ body }: ReceivedRequest): string[] =>
  ((body['tools'] ?? []) as { name: string }[]).map(({ name }) => name)
const said = ({ body }: ReceivedRequest): string => JSON.stringify(body.messages)
const isRoot = (request: ReceivedRequest): boolean => request.body.model === 'claude-root-model'

const WRITERS = ['Edit', 'Write', 'Agent']

describe('what goes over the wire', () => {
  it.each([
    { type: 'general-purpose', model: 'claude-root-model', context: true, has: ['Edit', 'Write', 'Bash'] },
    { type: 'Explore', model: /haiku/, context: false, has: ['Read', 'Grep', 'Bash'], hasNot: WRITERS },
    { type: 'Plan', model: 'claude-root-model', context: false, has: ['Read'], hasNot: WRITERS },
    { type: 'verification', model: 'claude-root-model', context: true, has: ['Bash'], hasNot: WRITERS },
    { type: 'statusline-setup', model: /sonnet/, context: true, exactly: ['Read', 'Edit'] },
    { type: 'magic-docs', model: 'claude-root-model', context: true, has: ['Edit'], hasNot: ['Bash'] },
    { type: 'reviewer', model: /opus/, context: true, exactly: ['Read', 'Grep'] },
  ])('for $type', async ({ type, model, context, has, hasNot, exactly }) => {
    const { engine, server, close } = await world(() => textReply('report'))
    await engine.spawn({ description: 'd', prompt: 'THE TASK', subagent_type: type }).result
    const [request] = server.requests
    if (request === undefined) throw new Error('no request came')
    const { model: sent } = request.body
    if (typeof model === 'string') expect(sent).toBe(type === 'statusline-setup' ? sent : model)
    else expect(sent).toMatch(model)
    const tools = toolsOf(request)
    if (exactly !== undefined) expect(tools).toEqual(exactly)
    if (has !== undefined) expect(tools).toEqual(expect.arrayContaining(has))
    for (const name of hasNot ?? []) expect(tools).not.toContain(name)
    expect(said(request).includes('INSTRUCTIONS of the project')).toBe(context)
    expect(said(request).includes('trunk')).toBe(context)
    expect(said(request)).toContain('THE TASK')
    expect(systemOf(request)).toContain(type === 'reviewer' ? 'You are reviewer.' : '# Environment')
    await close()
  })

  it('the definitions of tools are the same bytes before and after an agent file appears', async () => {
    let turn = 0
    const { engine, server, project, cwd, close } = await world(
      (request) => {
        if (!isRoot(request)) return textReply('report')
        turn += 1
        return turn < 3 ? toolReply('Read', { file_path: 'CLAUDE.md' }) : textReply('done')
      },
      { watch: true },
    )
    const grow = () =>
      new Promise<void>((resolve) => {
        const stop = project.onChange(() => {
          stop()
          resolve()
        })
        writeAgent(cwd, 'latecomer')
      })
    const one = engine.run('one')
    await one.result
    await grow()
    await engine.run('two', { sessionId: one.sessionId }).result
    const requests = server.requests.filter(isRoot)
    const [first] = requests
    const last = requests.at(-1)
    if (first === undefined || last === undefined) throw new Error('no request came')
    expect(said(first)).toContain('- reviewer: reviews as reviewer')
    expect(said(first)).not.toContain('latecomer')
    expect(said(last)).toContain('- latecomer: reviews as latecomer')
    expect(JSON.stringify(last.body['tools'])).toBe(JSON.stringify(first.body['tools']))
    expect(systemOf(last)).toBe(systemOf(first))
    await close()
  })
})

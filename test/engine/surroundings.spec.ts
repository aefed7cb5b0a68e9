/** What an agent is given besides its task: instructions, memory, skills, lists, reminders, and the form of its report. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import type { Skill } from '../../src/definitions/context/skill.ts'
import { createAgentRegistry } from '../../src/definitions/files/registry.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, say } from '../../src/effects/model/scripted-reply.ts'
import type { Project } from '../../src/effects/project/project.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import { story, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SESSION = '22222222-2222-4222-8222-222222222222'

const HELPER: AgentDefinition = {
  agentType: 'helper',
  whenToUse: 'to help',
  getSystemPrompt: () => 'You help.',
  source: 'projectSettings',
}

const skill = (name: string): Skill => ({
  name,
  description: `about ${name}`,
  body: `How to ${name}.`,
  baseDir: `/skills/${name}`,
  filename: `/skills/${name}/SKILL.md`,
  source: 'projectSettings',
  disableModelInvocation: false,
})

/** A project that is made of values and can be changed. */
class TestProject implements Project {
  agents
  skills: readonly Skill[]
  readonly mcpServers = []
  readonly hooks = []
  userSettingsFile = '/home/test/.claude/settings.json'
  readonly facts = { agents: [], skills: [], mcpServers: [], settingsFiles: [] }
  readonly diagnostics = []
  /** Folder of the memory of every agent. */
  memoryFolder: string | undefined

  constructor(definitions: readonly AgentDefinition[] = [], skills: readonly Skill[] = []) {
    this.agents = registryOf(definitions)
    this.skills = skills
  }

  change(definitions: readonly AgentDefinition[]): void {
    this.agents = registryOf(definitions)
  }

  userContext = async () => ({ text: 'CONTEXT: be kind', diagnostics: [] })
  memory = async () => ({
    text: '# Your memory\nBlue is best.',
    writableRoot: this.memoryFolder,
    diagnostics: [],
  })
  onChange = () => () => {}
  close = async () => {}
}

const registryOf = (definitions: readonly AgentDefinition[]) =>
  createAgentRegistry(
    definitions.map((definition) => ({
      kind: 'agent',
      mode: 'strict',
      definition,
      unknownKeys: {},
      diagnostics: [],
    })),
    BUILT_IN_DEFINITIONS,
  )

type Script = (request: ModelRequest, turn: number) => ScriptedReply

/** An engine whose requests are kept, by who made them. */
function world(script: Script, options: Parameters<typeof testEngine>[1] = {}) {
  const requests: ModelRequest[] = []
  const made = testEngine((request) => {
    requests.push(request)
    return script(request, turnOf(request))
  }, options)
  const of = (source: string) => requests.filter((request) => request.source.startsWith(source))
  return { ...made, requests, root: () => of('main'), child: () => of('agent:') }
}

const isChild = ({ source }: ModelRequest): boolean => source !== 'main'

/** The texts of one message, block by block. */
const textsOf = (request: ModelRequest | undefined, message = 0): readonly string[] => {
  const content = request?.messages[message]?.content ?? []
  return typeof content === 'string' ? [content] : content.map((block) => String(block['text'] ?? block.type))
}

const agentCall = (type: string) =>
  call('Agent', { description: 'do a part', prompt: 'THE TASK', subagent_type: type })

/** The root calls one agent, which does as it is told. */
const delegate =
  (type: string, child: Script): Script =>
  (request, turn) => {
    if (isChild(request)) return child(request, turn)
    return turn === 0 ? agentCall(type) : say('done')
  }

describe('instructions of the person and the project', () => {
  it('stand before the task, for agents that want them', async () => {
    const { engine, root, child } = world(
      delegate('general-purpose', () => say('report')),
      {
        project: new TestProject(),
      },
    )
    await engine.run('go').result
    await engine.close()
    expect(textsOf(root()[0]).slice(0, 2)).toEqual(['CONTEXT: be kind', 'go'])
    expect(textsOf(child()[0])).toEqual(['CONTEXT: be kind', 'THE TASK'])
  })

  it('are kept from Explore', async () => {
    const { engine, child } = world(
      delegate('Explore', () => say('report')),
      { project: new TestProject() },
    )
    await engine.run('go').result
    await engine.close()
    expect(textsOf(child()[0])).toEqual(['THE TASK'])
  })

  it('are told once, not in every run', async () => {
    const { engine, root } = world(() => say('hm'), { project: new TestProject() })
    await engine.run('one', { sessionId: SESSION }).result
    await engine.run('two', { sessionId: SESSION }).result
    await engine.close()
    expect(JSON.stringify(root()[1]?.messages).split('CONTEXT')).toHaveLength(2)
  })
})

describe('the list of agents', () => {
  it('is told when it changes, once, and leaves the tools as they were', async () => {
    const project = new TestProject([HELPER])
    const { engine, root } = world(
      (_, turn) => {
        if (turn === 1) project.change([HELPER, { ...HELPER, agentType: 'newcomer' }])
        return turn < 3 ? call('Look', {}) : say('done')
      },
      { project },
    )
    await engine.run('go').result
    await engine.close()
    const [first, second, third, fourth] = root()
    expect(JSON.stringify(first?.messages)).toContain('- helper: to help')
    expect(JSON.stringify(second?.messages)).not.toContain('newcomer')
    expect(textsOf(third, 4).at(-1)).toContain('- newcomer: to help')
    expect(textsOf(third, 4).at(-1)).not.toContain('- Explore')
    expect(JSON.stringify(fourth?.messages).split('newcomer')).toHaveLength(2)
    expect(JSON.stringify(fourth?.tools)).toBe(JSON.stringify(first?.tools))
    expect(fourth?.system).toBe(first?.system)
  })

  it('is told again to nobody after a restart', async () => {
    const one = world(() => say('hm'), { project: new TestProject([HELPER]) })
    await one.engine.run('one', { sessionId: SESSION }).result
    const storage = one.storage.crash()
    await one.engine.close()
    const two = world(() => say('hm'), {
      project: new TestProject([HELPER]),
      storage,
      idsFrom: 100_000,
    })
    await two.engine.run('two', { sessionId: SESSION }).result
    await two.engine.close()
    expect(JSON.stringify(two.root()[0]?.messages).split('- helper: to help')).toHaveLength(2)
  })

  it('names skills beside it, for who can load them', async () => {
    const { engine, root } = world(() => say('hm'), { project: new TestProject([], [skill('sing')]) })
    await engine.run('go').result
    await engine.close()
    expect(JSON.stringify(root()[0]?.messages)).toContain('- sing: about sing')
  })
})

describe('skills of a definition', () => {
  it('are put before the task; one that is unknown is told', async () => {
    const definition = { ...HELPER, skills: ['sing', 'swim'] }
    const { engine, child, facts } = world(
      delegate('helper', () => say('report')),
      {
        project: new TestProject([definition], [skill('sing')]),
      },
    )
    await engine.run('go').result
    await engine.close()
    const texts = textsOf(child()[0])
    expect(texts[1]).toContain('How to sing.')
    expect(texts[2]).toBe('THE TASK')
    expect(facts.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'agent.diagnosed', code: 'skill-not-loaded' }),
    )
  })
})

describe('first words and reminders of a definition', () => {
  it('come before the task of a run, and after each result', async () => {
    const definition = { ...HELPER, initialPrompt: 'FIRST', criticalSystemReminder: 'Never fix.' }
    const { engine, child } = world(
      delegate('helper', (_, turn) => (turn < 2 ? call('Nothing') : say('report'))),
      { project: new TestProject([definition]) },
    )
    await engine.run('go').result
    await engine.close()
    expect(textsOf(child()[0]).slice(-2)).toEqual(['FIRST', 'THE TASK'])
    const last = JSON.stringify(child()[2]?.messages)
    expect(last.split('Never fix.')).toHaveLength(3)
  })
})

describe('a memory', () => {
  const definition = { ...HELPER, memory: 'project' as const }
  const write = (file: string) => call('Write', { file_path: file, content: 'red' })

  it('is in the system prompt, and is the one place outside that its agent may write in', async () => {
    const folder = temporaryFolder()
    const project = new TestProject([definition])
    project.memoryFolder = path.join(folder, 'memory')
    const inside = path.join(folder, 'memory', 'MEMORY.md')
    const outside = path.join(folder, 'other.md')
    const { engine, child, facts } = world(
      delegate('helper', (_, turn) => [write(inside), write(outside), say('report')][turn] ?? say('?')),
      { project, tools: standardTools(), permissions: { mode: 'default' }, cwd: temporaryFolder() },
    )
    await engine.run('go').result
    await engine.close()
    expect(child()[0]?.system).toContain('Blue is best.')
    const outcomes = facts.flatMap(({ event }) => (event.type === 'call.ended' ? event.outcome : []))
    expect(outcomes).toEqual(['ok', 'denied', 'ok'])
  })
})

describe('the settings of the person', () => {
  it('may be edited by the agent that is made for it, and nothing else outside', async () => {
    const folder = temporaryFolder()
    const project = new TestProject()
    project.userSettingsFile = path.join(folder, 'settings.json')
    writeFileSync(project.userSettingsFile, '{}')
    writeFileSync(path.join(folder, 'other.json'), '{}')
    const edit = (name: string) =>
      call('Edit', { file_path: path.join(folder, name), old_string: '{}', new_string: '{"a": 1}' })
    const read = (name: string) => call('Read', { file_path: path.join(folder, name) })
    const { engine, facts } = world(
      delegate(
        'statusline-setup',
        (_, turn) =>
          [read('settings.json'), edit('settings.json'), edit('other.json'), say('ok')][turn] ?? say('?'),
      ),
      { project, tools: standardTools(), permissions: { mode: 'default' }, cwd: temporaryFolder() },
    )
    await engine.run('go').result
    await engine.close()
    const outcomes = facts.flatMap(({ event }) => (event.type === 'call.ended' ? event.outcome : []))
    expect(outcomes).toEqual(['ok', 'ok', 'denied', 'ok'])
    expect(readFileSync(project.userSettingsFile, 'utf8')).toBe('{"a": 1}')
  })
})

describe('a report', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const definition = { ...HELPER, outputSchema: schema }
  const run = async (replies: readonly string[], given: AgentDefinition = definition) => {
    const { engine, root, child, facts } = world(
      // An empty reply leaves no trace in the conversation, so turns are counted by requests.
      delegate('helper', () => say(replies[child().length - 1] ?? '?')),
      { project: new TestProject([given]) },
    )
    await engine.run('go').result
    await engine.close()
    const told = JSON.stringify(root()[1]?.messages.at(-1))
    const end = facts.find(({ event }) => event.type === 'agent.ended')?.event
    return {
      child,
      told,
      types: story(facts),
      outcome: end?.type === 'agent.ended' ? end.outcome : undefined,
    }
  }

  it('of the form that was asked for passes; the agent was told the form', async () => {
    const { child, told, outcome } = await run(['{"n": 1}'])
    expect(child()[0]?.system).toContain('"required"')
    expect(outcome).toEqual({ kind: 'completed' })
    expect(told).toContain('{\\"n\\": 1}')
  })

  it('of another form is asked for once more', async () => {
    const { child, outcome, types } = await run(['it is one', '{"n": 1}'])
    expect(child()).toHaveLength(2)
    expect(types).toContain('report.rejected')
    expect(outcome).toEqual({ kind: 'completed' })
  })

  it('that still does not fit reaches the parent with what is wrong', async () => {
    const { child, told, outcome } = await run(['it is one', 'still one', '{"n": 1}'])
    expect(child()).toHaveLength(2)
    expect(outcome?.kind).toBe('invalid_report')
    expect(told).toContain('still one')
    expect(told).toContain('does not have the form')
  })

  it('that is missing is asked for once', async () => {
    const { child, outcome } = await run(['', 'here it is'], HELPER)
    expect(child()).toHaveLength(2)
    expect(outcome).toEqual({ kind: 'completed' })
    expect((await run(['', '', 'too late'], HELPER)).outcome).toEqual({ kind: 'no_report' })
  })
})

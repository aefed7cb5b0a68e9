import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { call, callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { agent } from '../scenario.ts'

const write = (name: string, content: string) => call('Write', { file_path: name, content })

const CONTENT: Readonly<Record<string, string>> = {
  'child.txt': 'of the child, revised\n',
  'note.txt': 'first aa\nsecond\nthird\n',
}

export const scenario: Scenario = {
  name: 'keyed-write',
  about: 'Write and Edit change real files, once each, whatever is killed around them.',
  prompts: ['the root'],
  play: {
    'the root': [
      write('note.txt', 'first a\nsecond\n'),
      // Replacing a letter by two of it shows at once whether it was done twice.
      call('Edit', { file_path: 'note.txt', old_string: 'a', new_string: 'aa' }),
      callMany([agent('the child')]),
      call('Edit', { file_path: 'note.txt', old_string: 'second\n', new_string: 'second\nthird\n' }),
      say('the end'),
    ],
    'the child': [
      write('child.txt', 'of the child\n'),
      write('child.txt', 'of the child, revised\n'),
      say('the report'),
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  usesFiles: true,
  check: ({ project = '' }) => {
    const names = readdirSync(project).toSorted()
    const left = names.filter((name) => !(name in CONTENT))
    return [
      ...left.map((name) => `${name} is left behind`),
      ...Object.entries(CONTENT).flatMap(([name, content]) => {
        const found = names.includes(name) ? readFileSync(path.join(project, name), 'utf8') : undefined
        return found === content ? [] : [`${name} holds ${JSON.stringify(found)}`]
      }),
    ]
  },
}

import { spawnSync } from 'node:child_process'
import { rgPath } from '@vscode/ripgrep'
import { describe, expect, it } from 'vitest'
import {
  broadPattern,
  declarationPattern,
  fileNamePattern,
  memberPattern,
  mentionPattern,
  togetherPattern,
} from '../../../../src/effects/model/offline/patterns.ts'
import { tellingWords } from '../../../../src/effects/model/offline/words.ts'

/** The lines in which ripgrep finds the pattern. */
function found(pattern: string, lines: readonly string[], ...flags: readonly string[]): readonly string[] {
  const done = spawnSync(rgPath, ['--no-config', ...flags, '--regexp', pattern, '-'], {
    input: lines.join('\n'),
    encoding: 'utf8',
  })
  expect(done.stderr).toBe('')
  return done.stdout.split('\n').filter((line) => line !== '')
}

describe('a pattern for mentions', () => {
  it('finds all forms of a word in all spellings of names, and no other words', () => {
    const yes = [
      'the locks',
      'acquireSessionLock',
      'lock_file',
      'LOCK_FILE',
      'file_lock',
      'Locking it',
      'unLocked',
    ]
    const no = ['a block', 'clockwork', 'lockstepping along']
    expect(found(mentionPattern(tellingWords('lock')), [...yes, ...no])).toEqual(yes)
  })

  it('finds irregular forms and both spellings of English', () => {
    const lines = [
      'it took it',
      'takeOver',
      'taken over',
      'take_over',
      'the behavior',
      'normalize',
      'retries',
    ]
    expect(found(mentionPattern(tellingWords('taken over')), lines)).toEqual([
      'takeOver',
      'taken over',
      'take_over',
    ])
    expect(found(mentionPattern(tellingWords('behaviour')), lines)).toEqual(['the behavior'])
    expect(found(mentionPattern(tellingWords('normalised')), lines)).toEqual(['normalize'])
    expect(found(mentionPattern(tellingWords('retrying')), lines)).toEqual(['retries'])
  })

  it('takes names, quotes and paths as they are, whatever characters they have', () => {
    const lines = ['events$.next()', 'run.started', 'runXstarted', 'what (if [this] is* it)', 'a src/a+b.ts']
    expect(found(mentionPattern(tellingWords('`events$`')), lines)).toEqual([lines[0]])
    expect(found(mentionPattern(tellingWords('`run.started`')), ['run.started', 'xrun.started'])).toEqual([
      lines[1],
    ])
    expect(found(mentionPattern(tellingWords('"(if [this] is* it)"')), lines)).toEqual([lines[3]])
    expect(found(mentionPattern(tellingWords('`src/a+b.ts`')), lines)).toEqual([lines[4]])
  })
})

describe('a pattern for declarations', () => {
  it('finds them in many languages, and no uses', () => {
    const yes = [
      'export async function lockFile() {',
      'const fileLock = 1',
      'class SessionLock {',
      'def take_lock(self):',
      'pub fn lock(&self) {',
      'func (m *Mutex) Lock() {',
    ]
    const no = ['await lockFile()', 'return lock', 'class Block {', 'const a = lock()']
    expect(found(declarationPattern(tellingWords('lock')), [...yes, ...no])).toEqual(yes)
  })

  it('finds members', () => {
    const yes = [
      '  readonly lock: string',
      '  lock(path) {',
      "  'file.lock': 1,",
      '  public async takeLock<T>(a: T) {',
    ]
    const no = ['lock at the start', '  a block: b', '  x = 1 // lock']
    expect(found(memberPattern(tellingWords('lock')), [...yes, ...no])).toEqual(yes)
  })
})

describe('a pattern for words together', () => {
  it('wants a telling one of them', () => {
    const words = tellingWords('may a call run beside another?')
    const pattern = togetherPattern(words) ?? 'none'
    expect(found(pattern, ['run beside', 'beside the call', 'run the call', 'besides'])).toEqual([
      'run beside',
      'beside the call',
    ])
  })

  it('does not exist for a single word', () => {
    expect(togetherPattern(tellingWords('lock'))).toBeUndefined()
  })
})

describe('what is tried last', () => {
  it('is the beginnings of words, in any case', () => {
    expect(found(broadPattern(tellingWords('survivors')), ['SURVIVAL', 'sure'], '-i')).toEqual(['SURVIVAL'])
  })
})

describe('a pattern for names of files', () => {
  it.each([
    ['lock', '**/*{lock,Lock}*.*'],
    ['src/session-lock.ts', '**/*session-lock*.*'],
    ['"some words"', undefined],
  ])('%s → %s', (question, glob) => {
    expect(fileNamePattern(tellingWords(question))).toBe(glob)
  })
})

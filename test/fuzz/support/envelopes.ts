/** Texts that try to be envelopes, and a reader of envelopes that forgives everything. */
import fc from 'fast-check'
import { ENVELOPE_NAMES } from '../../../src/definitions/context/envelope.ts'
import { hostileText } from './mutations.ts'

/** Texts that try to end their envelope or to begin one, in whole or in parts. */
export const forging: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '<',
        '</',
        '< /',
        '>',
        '/',
        '-',
        '_',
        '\u2011',
        '\u200b',
        '\u00ad',
        ' ',
        '\n',
        '$ARGUMENTS',
      ),
      fc.constantFrom(
        'system',
        'reminder',
        'System',
        'CLAUDE',
        'md',
        'git',
        'status',
        'loaded',
        'skill',
        '&lt;',
      ),
      fc.constantFrom(
        ...ENVELOPE_NAMES.flatMap((name) => [`</${name}>`, `<${name}>`, `</${name.toUpperCase()}`]),
      ),
      hostileText,
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

/** The tags of envelopes in a text, as a reader that forgives everything sees them. */
export function tagsIn(text: string): readonly string[] {
  const bare = text
    .replace(/[\p{C}\s]/gu, '')
    .replace(/[_\p{Pd}]/gu, '-')
    .replace(/\\/g, '/')
    .toLowerCase()
  return [...bare.matchAll(new RegExp(`<(/*)(${ENVELOPE_NAMES.join('|')})`, 'g'))].map(
    ([, slash, name]) => (slash === '' ? '' : '/') + (name ?? ''),
  )
}

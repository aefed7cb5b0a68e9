/** Permission rules as they are typed: `Bash(git log:*),Read` or several words. */
import { UsageError } from './errors.ts'

/**
 * Splits on commas and blanks that are outside brackets; a backslash takes the next character as it is.
 * Throws {@link UsageError} when the brackets do not match.
 */
export function splitRules(text: string): string[] {
  const rules: string[] = []
  let rule = ''
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (depth === 0 && /[\s,]/.test(char)) {
      if (rule !== '') rules.push(rule)
      rule = ''
      continue
    }
    rule += char
    if (char === '\\') rule += text.charAt(++i)
    else if (char === '(') depth++
    else if (char === ')' && --depth < 0) break
  }
  if (depth !== 0) {
    throw new UsageError(`the brackets of the rule "${text}" do not match; write Tool or Tool(specifier)`)
  }
  return rule === '' ? rules : [...rules, rule]
}

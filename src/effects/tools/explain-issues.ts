/** Makes sentences for a model of what zod found wrong with an input. */
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** One sentence per issue: which field, what was expected, what was found. */
export function explainIssues(issues: readonly Issue[], input: unknown): string {
  return issues.map((issue) => explain(issue, input)).join(' ')
}

function explain(issue: Issue, input: unknown): string {
  const field = issue.path.map(String).join('.')
  const subject = field === '' ? 'The input' : `\`${field}\``
  const found = valueAt(input, issue.path)
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => `\`${key}\``).join(', ')
    return `${keys} ${issue.keys.length === 1 ? 'is no field' : 'are no fields'} of ${field === '' ? 'this tool' : subject}: leave out.`
  }
  if (issue.code === 'invalid_type') {
    if (found === undefined) return `${subject} is missing: ${anA(issue.expected)} is required.`
    return `${subject} must be ${anA(issue.expected)}, not ${show(found)}.`
  }
  if (issue.code === 'invalid_value') {
    return `${subject} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}, not ${show(found)}.`
  }
  if (issue.code === 'too_big' && issue.origin !== 'string') {
    return `${subject} must be at most ${issue.maximum}, not ${show(found)}.`
  }
  if (issue.code === 'too_small') {
    return issue.origin === 'string'
      ? `${subject} must not be shorter than ${issue.minimum} characters.`
      : `${subject} must be at least ${issue.minimum}, not ${show(found)}.`
  }
  return `${subject}: ${issue.message}.`
}

const anA = (type: string): string => {
  const name = type === 'int' ? 'whole number' : type
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

function show(value: unknown): string {
  const text = written(value)
  // By characters: half of a surrogate pair is no valid text in a request.
  return text.length > 60 ? `${[...text].slice(0, 60).join('')}…` : text
}

function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    // Nested too deeply for a writer that recurses, or nothing that JSON has.
    return Array.isArray(value) ? 'such an array' : `such a value (${typeof value})`
  }
}

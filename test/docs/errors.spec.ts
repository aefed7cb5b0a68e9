/**
 * Every code that a user can meet has a paragraph in `docs/errors.md`, and every paragraph has such a code.
 *
 * Codes that errors are made with are union types, so that the compiler knows of each; here they are read from the
 * sources, together with the few that are written down where they are used.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/errors.ts'
import { EXIT_CODE_OF } from '../../src/cli/host.ts'
import { Outcome } from '../../src/machines/agent/events.ts'

const root = path.resolve(import.meta.dirname, '../..')
const guide = readFileSync(path.join(root, 'docs/errors.md'), 'utf8')

const documented = [...guide.matchAll(/^### (.+)$/gm)].flatMap(([, heading]) =>
  [...(heading ?? '').matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? ''),
)

describe('the guide to errors', () => {
  const { codes, usedLiterals } = readSources()

  it('explains every code that there is', () => {
    expect([...codes].filter((code) => !documented.includes(code))).toEqual([])
    // Guards against a reader that finds nothing: one of each way to write a code down.
    expect([...codes]).toEqual(
      expect.arrayContaining([
        'bad-rule',
        'journal-full',
        'depth-limit',
        'impossible-event',
        'refused',
        'defect',
        // Of the engine's diagnostics, and of those that files, projects, servers and agents' logs have of their own.
        'report-schema-unusable',
        'field-unreadable',
        'project-not-trusted',
        'claude-md-cut',
        'mcp-server-failed',
        'skill-not-loaded',
      ]),
    )
  })

  it('explains no code that is gone, and none twice', () => {
    expect(documented.filter((code) => !codes.has(code))).toEqual([])
    expect(documented.filter((code, i) => documented.indexOf(code) !== i)).toEqual([])
  })

  it('explains only codes that something is made with', () => {
    const unused = [...codes].filter((code) => !usedLiterals.has(code.replace(/^journal-/, '')))
    expect(unused).toEqual([])
  })

  it('says under each heading what happened and what to do', () => {
    const sections = guide.split(/^##+ /m).filter((section) => section.startsWith('`'))
    const empty = sections.filter(
      (section) => (section.split('\n').slice(1).join(' ').match(/\w+/g)?.length ?? 0) < 8,
    )
    expect(empty).toEqual([])
  })

  it('explains every outcome of a run', () => {
    const heading = guide.indexOf('| outcome | status |')
    const table = guide.slice(heading, guide.indexOf('\n\n', heading))
    const inTable = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind)
    expect(inTable.toSorted()).toEqual(Outcome.options.map(({ shape }) => shape.kind.value).toSorted())
  })

  it('explains every exit code of the command line', () => {
    const inTable = [...guide.matchAll(/^\| (`\d+`.*?) \|/gm)].flatMap(([, cell]) =>
      [...(cell ?? '').matchAll(/`(\d+)`/g)].map(([, code]) => Number(code)),
    )
    const known = [...Object.values(EXIT), ...Object.values(EXIT_CODE_OF)]
    expect(inTable.sort((a, b) => a - b)).toEqual(known.sort((a, b) => a - b))
  })
})

/** All codes in the sources, and all string literals outside of types: what a code can be made of. */
function readSources(): { readonly codes: ReadonlySet<string>; readonly usedLiterals: ReadonlySet<string> } {
  const aliases = new Map<string, ts.TypeNode>()
  const codes = new Set<string>()
  const usedLiterals = new Set<string>()
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const text = readFileSync(path.join(root, 'src', file), 'utf8')
      return ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
    })
  for (const file of files) {
    for (const statement of file.statements) {
      if (ts.isTypeAliasDeclaration(statement) && statement.name.text.endsWith('Code')) {
        aliases.set(statement.name.text, statement.type)
      }
    }
  }
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node)) usedLiterals.add(node.text)
    // Issues of zod have codes of zod.
    if (ts.isCallExpression(node) && isAddIssue(node.expression)) return
    for (const code of codesAt(node)) codes.add(code)
    ts.forEachChild(node, (child) => {
      if (!ts.isLiteralTypeNode(child)) visit(child)
    })
  }
  for (const file of files) visit(file)
  for (const type of aliases.values()) for (const code of membersOf(type, aliases)) codes.add(code)
  return { codes, usedLiterals }
}

const isAddIssue = (callee: ts.Node): boolean =>
  ts.isPropertyAccessExpression(callee) && callee.name.text === 'addIssue'

/** The codes that are written down at a node: `code: 'x'`, `readonly code = 'x'`, `readonly code: 'x' | 'y'`, a fallback. */
function codesAt(node: ts.Node): readonly string[] {
  const isCode = (name: ts.Node) => ts.isIdentifier(name) && name.text === 'code'
  const textOf = (value: ts.Node | undefined) =>
    value !== undefined && ts.isStringLiteral(value) ? [value.text] : []
  if (ts.isPropertyAssignment(node) && isCode(node.name)) return textOf(node.initializer)
  if (ts.isPropertyDeclaration(node) && isCode(node.name)) return textOf(node.initializer)
  if (ts.isPropertySignature(node) && isCode(node.name) && node.type !== undefined)
    return membersOf(node.type, new Map())
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'codeOf') {
    return textOf(node.arguments[1])
  }
  return []
}

/** The string literals of a union, `prefix-${Other}` included. Members that are no literals belong to another declaration. */
function membersOf(type: ts.TypeNode, aliases: ReadonlyMap<string, ts.TypeNode>): readonly string[] {
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((member) => membersOf(member, aliases))
  if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) return [type.literal.text]
  if (ts.isTemplateLiteralTypeNode(type)) {
    return type.templateSpans.flatMap(({ type: inner, literal }) =>
      membersOf(resolved(inner, aliases), aliases).map((text) => `${type.head.text}${text}${literal.text}`),
    )
  }
  return []
}

function resolved(type: ts.TypeNode, aliases: ReadonlyMap<string, ts.TypeNode>): ts.TypeNode {
  if (!ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName)) return type
  const found = aliases.get(type.typeName.text)
  if (found === undefined)
    throw new Error(`the type ${type.typeName.text} is declared in no source that was read`)
  return found
}

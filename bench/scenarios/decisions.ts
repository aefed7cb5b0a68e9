/** What one permission decision costs where there are many rules. */
import type { PermissionPolicy, PermissionRequest } from '../../src/definitions/permissions/decide.ts'
import { decide } from '../../src/definitions/permissions/decide.ts'
import { parseRules } from '../../src/definitions/permissions/rule.ts'
import { readShell } from '../../src/definitions/permissions/shell/read-shell.ts'
import { nanosecondsOf } from '../clocks.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'

export interface DecisionsInput {
  readonly rules: number
  readonly repeats: number
}

export interface DecisionsFigures {
  readonly rules: number
  /** Microseconds of one decision, once for each repeat, by the kind of call. */
  readonly microseconds: Readonly<Record<string, readonly number[]>>
}

const DECISIONS_A_REPEAT = 500

/** Runs the scenario: figures, and the table that shows them. */
export async function reportDecisions(settings: Settings) {
  const figures: DecisionsFigures[] = []
  for (const rules of settings.quick ? [10] : [10, 100, 1_000])
    figures.push(await inFreshProcess(settings, 'decisions', { rules, repeats: settings.quick ? 3 : 15 }))
  return { figures, tables: [decisionsTable(figures)] }
}

function decisionsTable(figures: readonly DecisionsFigures[]): Table {
  const kinds = Object.keys(figures[0]?.microseconds ?? {})
  return {
    title: 'One permission decision, microseconds',
    notes: [
      'The best of all repeats (median in brackets). A third of the rules each deny, ask and allow, for paths, commands ' +
        'and domains; none matches, so each is looked at. One ancestor with the same rules. Reading the command line is not in it.',
    ],
    columns: ['rules', ...kinds],
    rows: figures.map(({ rules, microseconds }) => [
      number(rules),
      ...kinds.map((kind) => spread(spreadOf(microseconds[kind] ?? []))),
    ]),
  }
}

/** Decides about a command, a path and an address, again and again. */
export async function measureDecisions({ rules, repeats }: DecisionsInput): Promise<DecisionsFigures> {
  const texts = Array.from({ length: Math.ceil(rules / 3) }, (_, i) =>
    [`Bash(tool-${i} run:*)`, `Edit(./part-${i}/**)`, `WebFetch(domain:host-${i}.example)`].at(i % 3),
  ).filter((text) => text !== undefined)
  const of = (kind: 'allow' | 'deny' | 'ask') => parseRules(texts, { kind, source: 'bench' }).rules
  const [allow, deny, ask] = [of('allow'), of('deny'), of('ask')]
  const policy: PermissionPolicy = {
    mode: 'default',
    allow,
    deny,
    ask,
    ceilings: [{ agent: 'parent', mode: 'default', deny, ask }],
  }
  const place = { cwd: '/project', home: '/home', isReadOnly: false, isInsideCwd: true }
  const command = 'npm test 2>&1 | tail -n 20'
  const calls: Readonly<Record<string, PermissionRequest>> = {
    command: { ...place, toolName: 'Bash', subject: command, shell: await readShell(command) },
    path: {
      ...place,
      toolName: 'Edit',
      subject: 'src/a.ts',
      writesPath: 'src/a.ts',
      resolvedPath: '/project/src/a.ts',
    },
    address: { ...place, toolName: 'WebFetch', subject: 'https://example.org/page' },
  }
  const microseconds = Object.fromEntries(
    Object.entries(calls).map(([kind, call]) => {
      const once = (): void => {
        for (let i = 0; i < DECISIONS_A_REPEAT; i += 1) decide(call, policy)
      }
      once()
      const times = Array.from({ length: repeats }, () => nanosecondsOf(once) / DECISIONS_A_REPEAT / 1_000)
      return [kind, times]
    }),
  )
  return { rules, microseconds }
}

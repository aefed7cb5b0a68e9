/**
 * Changes one cell in the text of a notebook. Pure.
 *
 * N1 Every byte outside the cell stays as it is: no other program's formatting is lost, and the difference shows what
 *    was changed. (Inserting and deleting also touch the one comma beside the cell.)
 * N2 The same change of the same text gives the same text: ids of new cells come from a seed.
 * N3 What a change makes is a notebook again: outputs and counts of a changed code cell go, as they are not its own
 *    any more; cells of other types have none; a new cell has an id where the format asks for one.
 */
import { createHash } from 'node:crypto'
import * as z from 'zod'
import { elementSpans, type Member, memberSpan, members, type Span, skipBlanks } from './json-spans.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** What to do. Cells are named by id, or by their number from 0. */
export interface CellChange {
  readonly mode: 'replace' | 'insert' | 'delete'
  /** The cell; for `insert` the one that the new cell follows. Neither given: before the first. */
  readonly cellId: string | undefined
  readonly cellNumber: number | undefined
  readonly cellType: CellType | undefined
  readonly source: string
  /** What the id of a new cell is made of. */
  readonly seed: string
}

export type CellType = 'code' | 'markdown' | 'raw'

/** A changed text, and which cell it was. */
export interface ChangedNotebook {
  readonly text: string
  /** Position from 0. */
  readonly at: number
  readonly cellId: string | undefined
  readonly cellType: string
}

const Notebook = z.looseObject({
  cells: z.array(
    z.looseObject({
      id: z.string().optional(),
      cell_type: z.string(),
      source: z.union([z.string(), z.array(z.string())]),
    }),
  ),
  nbformat: z.number(),
  nbformat_minor: z.number().optional(),
})
type Notebook = z.infer<typeof Notebook>

/** Applies a change. Throws a {@link ToolRefusal} when the text is no notebook, or has no such cell. */
export function changeCell(text: string, change: CellChange): ChangedNotebook {
  const notebook = read(text)
  const list = memberSpan(text, skipBlanks(text, 0), 'cells')
  if (list === undefined) throw new ToolRefusal('The notebook has no cells. Use Write to make it anew.')
  const cells = elementSpans(text, list.start)
  if (change.mode === 'insert') return insert(text, notebook, list, cells, change)
  const at = indexOf(notebook, change)
  const cell = at === undefined ? undefined : notebook.cells[at]
  const span = at === undefined ? undefined : cells[at]
  if (at === undefined || cell === undefined || span === undefined) {
    throw new ToolRefusal('Name the cell by cell_id or cell_number.')
  }
  if (change.mode === 'delete') {
    return { text: without(text, list, cells, at), at, cellId: cell.id, cellType: cell.cell_type }
  }
  const type = change.cellType ?? cell.cell_type
  const changed =
    type === cell.cell_type
      ? edits(text, span, cell, type, change)
      : rewritten(text, span, cell, type, change)
  return { text: applyEdits(text, changed), at, cellId: cell.id, cellType: type }
}

function read(text: string): Notebook {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    throw new ToolRefusal('The file is not valid JSON, so it is no notebook. Use Edit to repair it.', {
      cause,
    })
  }
  const parsed = Notebook.safeParse(data)
  if (!parsed.success) {
    throw new ToolRefusal(
      `The file is no Jupyter notebook: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}. Use Edit for other files.`,
    )
  }
  if (parsed.data.nbformat !== 4) {
    throw new ToolRefusal(
      `The notebook has format ${parsed.data.nbformat}; only format 4 can be edited. Convert it with \`jupyter nbconvert --to notebook\`.`,
    )
  }
  return parsed.data
}

/** Undefined when the change names none. */
function indexOf({ cells }: Notebook, { cellId, cellNumber }: CellChange): number | undefined {
  if (cellId !== undefined && cellNumber !== undefined) {
    throw new ToolRefusal('Give cell_id or cell_number, not both.')
  }
  if (cellId !== undefined) {
    const at = cells.findIndex(({ id }) => id === cellId)
    if (at >= 0) return at
    throw new ToolRefusal(
      `There is no cell with id "${cellId}". Read the notebook for the ids there are, or use cell_number.`,
    )
  }
  if (cellNumber !== undefined && cellNumber >= cells.length) {
    throw new ToolRefusal(
      `There is no cell ${cellNumber}: the notebook has ${cells.length}, numbered from 0.`,
    )
  }
  return cellNumber
}

// ── texts ────────────────────────────────────────────────────────────────────────────────────────────────

interface Edit extends Span {
  readonly text: string
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  const inOrder = [...edits].sort((a, b) => a.start - b.start)
  let result = ''
  let done = 0
  for (const { start, end, text: replacement } of inOrder) {
    result += text.slice(done, start) + replacement
    done = end
  }
  return result + text.slice(done)
}

/** The blanks before the first item of an object or array when each has its own line, else undefined. */
function ownLine(text: string, open: number): string | undefined {
  const blanks = text.slice(open + 1, skipBlanks(text, open + 1))
  return /\r?\n[^\n]*$/.exec(blanks)?.[0]
}

/** JSON as it is written where each item has its own line after `line` (a line end and the indentation). */
function written(value: unknown, line: string | undefined, step: string): string {
  if (line === undefined) return JSON.stringify(value)
  return JSON.stringify(value, null, step).replaceAll('\n', line)
}

/** One step of indentation: what the first key of the notebook has. */
function stepOf(text: string): string {
  const line = ownLine(text, skipBlanks(text, 0))
  const step = line?.replace(/^\r?\n/, '') ?? ''
  return step === '' ? ' ' : step
}

/** A source as the cell kept it: one string, or one per line as the format prefers. */
const sourceLike = (source: string, before: string | readonly string[]): string | readonly string[] =>
  typeof before === 'string' ? source : linesWithEnds(source)

const linesWithEnds = (source: string): readonly string[] => (source === '' ? [] : source.split(/(?<=\n)/))

// ── the three changes ────────────────────────────────────────────────────────────────────────────────────

/** Only the values that change, each where it stands. */
function edits(
  text: string,
  span: Span,
  cell: Notebook['cells'][number],
  type: string,
  { source }: CellChange,
): readonly Edit[] {
  const line = ownLine(text, span.start)
  const step = stepOf(text)
  // Of two members with one key the last counts.
  const byKey = new Map<string, Member>(members(text, span.start).map((member) => [member.key, member]))
  const replace = (key: string, value: unknown): readonly Edit[] => {
    const member = byKey.get(key)
    return member === undefined ? [] : [{ ...member.value, text: written(value, line, step) }]
  }
  return [
    ...replace('source', sourceLike(source, cell.source)),
    ...(type === 'code' ? [...replace('outputs', []), ...replace('execution_count', null)] : []),
  ]
}

/** The whole cell anew: another type has other members. */
function rewritten(
  text: string,
  span: Span,
  cell: Notebook['cells'][number],
  type: string,
  { source }: CellChange,
): readonly Edit[] {
  const { outputs: _, execution_count: __, attachments, ...rest } = cell
  const changed = {
    ...rest,
    ...(type === 'code' ? { execution_count: null, outputs: [] } : {}),
    ...(type !== 'code' && attachments !== undefined ? { attachments } : {}),
    cell_type: type,
    source: sourceLike(source, cell.source),
  }
  const line = ownLine(text, span.start)
  const step = stepOf(text)
  return [{ ...span, text: written(sorted(changed), line && outer(line, step), step) }]
}

/** In the order in which notebooks are saved. */
const sorted = (value: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

/** One level further out than `line`. */
const outer = (line: string, step: string): string =>
  line.endsWith(step) ? line.slice(0, line.length - step.length) : line

function insert(
  text: string,
  notebook: Notebook,
  list: Span,
  cells: readonly Span[],
  change: CellChange,
): ChangedNotebook {
  if (change.cellType === undefined) {
    throw new ToolRefusal('A new cell needs cell_type: "code", "markdown" or "raw".')
  }
  const previous = indexOf(notebook, change)
  const at = previous === undefined ? 0 : previous + 1
  const id = needsIds(notebook) ? freshId(notebook, change.seed) : undefined
  const like = notebook.cells[0]?.source ?? []
  const cell = sorted({
    cell_type: change.cellType,
    metadata: {},
    source: sourceLike(change.source, like),
    ...(id !== undefined && { id }),
    ...(change.cellType === 'code' && { execution_count: null, outputs: [] }),
  })
  const step = stepOf(text)
  const [first] = cells
  if (first === undefined) {
    const around = ownLine(text, skipBlanks(text, 0))
    const line = around === undefined ? undefined : around + step
    const filled = `[${line ?? ''}${written(cell, line, step)}${around ?? ''}]`
    return done(applyEdits(text, [{ ...list, text: filled }]))
  }
  const line = ownLine(text, list.start)
  const json = written(cell, line, step)
  const before = at === 0 ? undefined : cells[at - 1]
  const edit: Edit =
    before === undefined
      ? { start: first.start, end: first.start, text: `${json},${line ?? ''}` }
      : { start: before.end, end: before.end, text: `,${line ?? ''}${json}` }
  return done(applyEdits(text, [edit]))

  function done(changed: string): ChangedNotebook {
    return { text: changed, at, cellId: id, cellType: change.cellType ?? 'code' }
  }
}

/** Cells have ids since 4.5. */
const needsIds = ({ nbformat_minor: minor = 0 }: Notebook): boolean => minor >= 5

function freshId({ cells }: Notebook, seed: string): string {
  const taken = new Set(cells.map(({ id }) => id))
  for (let attempt = 0; ; attempt++) {
    const id = createHash('sha256').update(`${seed} ${attempt}`).digest('hex').slice(0, 8)
    if (!taken.has(id)) return id
  }
}

/** Takes a cell out with the comma beside it. */
function without(text: string, list: Span, cells: readonly Span[], at: number): string {
  const [before, cell, after] = [cells[at - 1], cells[at], cells[at + 1]]
  if (cell === undefined) return text
  if (before !== undefined) return applyEdits(text, [{ start: before.end, end: cell.end, text: '' }])
  if (after !== undefined) return applyEdits(text, [{ start: cell.start, end: after.start, text: '' }])
  return applyEdits(text, [{ ...list, text: '[]' }])
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonPlaces } from '../../../src/effects/settings/json-places.ts'

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('a look at a JSON text', () => {
  it('tells where values start', () => {
    const places = jsonPlaces('\ufeff{\n  "a": [1,\n    {"b": "x"}],\n  "c\\u0064": null\n}\n')
    if (places.kind === 'broken') expect.fail(places.problem)
    expect(places.placeOf([])).toEqual({ line: 1, column: 2 })
    expect(places.placeOf(['a', 1])).toEqual({ line: 3, column: 5 })
    expect(places.placeOf(['a', 1, 'b'])).toEqual({ line: 3, column: 11 })
    expect(places.placeOf(['cd'])).toEqual({ line: 4, column: 14 })
    expect(places.placeOf(['z'])).toBeUndefined()
  })

  it('tells keys that stand twice in one object, however they are written', () => {
    const places = jsonPlaces('{"a": {"b": 1},\n"b": 2,\n"\\u0061": 3}')
    expect(places).toMatchObject({ kind: 'whole', repeated: [{ key: 'a', place: { line: 3, column: 1 } }] })
  })

  it.each([
    ['', 'it ends where a value is expected', 1, 1],
    ['{"a": 1,\n}', 'there is a comma before }', 2, 1],
    ['[1,\n]', 'there is a comma before ]', 2, 1],
    ['{\n  // x\n  "a": 1}', 'it has a comment, which JSON does not know', 2, 3],
    ['{"a": 1\n"b": 2}', 'a comma or } is expected here', 2, 1],
    ['{a: 1}', 'a key in double quotes is expected here', 1, 2],
    ['{"a" 1}', 'a colon is expected here', 1, 6],
    ['{"a": x}', 'a value is expected here', 1, 7],
    ['{"a": "x}', 'a string is not closed, or has a character in it that must be escaped', 1, 7],
    ['{} x', 'the end of the file is expected here', 1, 4],
    ['{"a": [1, 2', 'it ends where a comma or ] is expected', 1, 12],
  ])('tells where %j breaks', (text, problem, line, column) => {
    expect(jsonPlaces(text)).toEqual({
      kind: 'broken',
      problem: expect.stringContaining(problem),
      place: { line, column },
    })
  })

  it('finds whole what JSON.parse does, and nothing else', () => {
    const piece = fc.constantFrom(...'{}[]:,"\\ \n\ttrue1-.e0\u007fé', '"a"', 'null', '\\u0041', '{"a":1}')
    const text = fc.oneof(
      fc.json(),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      fc.tuple(fc.json(), fc.nat(), piece).map(([json, at, more]) => {
        const place = at % (json.length + 1)
        return json.slice(0, place) + more + json.slice(place)
      }),
    )
    fc.assert(
      fc.property(text, (json) => {
        expect(jsonPlaces(json).kind).toBe(parses(json) ? 'whole' : 'broken')
      }),
      { numRuns: 1_000 },
    )
  })

  it('takes hostile texts in its stride', () => {
    for (const text of [
      '['.repeat(500_000),
      '{"a":'.repeat(100_000),
      `"${'a'.repeat(900_000)}"`,
      `[${'0,'.repeat(300_000)}0]`,
    ])
      expect(jsonPlaces(text).kind).toBe(parses(text) ? 'whole' : 'broken')
  })
})

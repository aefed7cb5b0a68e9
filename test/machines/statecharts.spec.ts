import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { assign, fromCallback, setup } from 'xstate'
import { diagramOf, startedByActions, tableOf } from '../../scripts/render-statechart.ts'
import { CHARTS, renderStatecharts, STATECHARTS_FILE } from '../../scripts/statecharts.ts'

const root = path.resolve(fileURLToPath(import.meta.url), '../../..')

describe('the drawn statecharts', () => {
  it('are what the machines are now', () => {
    const drawn = existsSync(STATECHARTS_FILE) ? readFileSync(STATECHARTS_FILE, 'utf8') : ''
    expect(drawn, 'docs/statecharts.md is stale: run `npx tsx scripts/statecharts.ts`').toBe(
      renderStatecharts(),
    )
  })

  it('show every machine that there is', () => {
    const files = readdirSync(path.join(root, 'src/machines'), { recursive: true, encoding: 'utf8' })
    const machines = files
      .filter((file) => path.basename(file) === 'machine.ts')
      .map((file) => path.posix.join('src/machines', ...file.split(path.sep)))
    expect(CHARTS.map(({ source }) => source).toSorted()).toEqual(machines.toSorted())
  })
})

describe('a machine as text', () => {
  const work = fromCallback(() => {})
  const machine = setup({
    types: { context: {} as { done: number } },
    actors: { ring: work, each: work },
    guards: { isLoud: () => true, isLast: () => true },
    actions: { note: assign((_, __: { how: string; why: string }) => ({})) },
  }).createMachine({
    id: 'm',
    context: { done: 0 },
    initial: 'off',
    on: { ping: {} },
    states: {
      off: { on: { call: [{ guard: 'isLoud', target: 'on' }, { target: 'gone' }], skip: 'gone' } },
      on: {
        type: 'parallel',
        states: {
          bell: {
            initial: 'off',
            states: {
              off: {
                on: {
                  press: {
                    target: 'ringing',
                    actions: { type: 'note', params: { how: 'loud', why: 'a long story' } },
                  },
                },
              },
              ringing: {
                invoke: { id: 'ring', src: 'ring' },
                always: [{ guard: 'isLast', target: '#m.gone' }, { target: 'off' }],
              },
            },
          },
          lamp: { initial: 'dark', states: { dark: { on: { press: 'lit' } }, lit: {} } },
        },
        on: {
          call: [
            { guard: 'isLoud', target: 'off' },
            { guard: 'isLast', target: 'off' },
          ],
        },
      },
      gone: { type: 'final' },
    },
  })

  it('draws regions side by side, arrows where they belong, namesakes apart, ends as ends', () => {
    expect(diagramOf(machine).split('\n')).toEqual([
      'stateDiagram-v2',
      '  [*] --> off',
      '  off',
      '  state on {',
      '    state bell {',
      '      [*] --> on_bell_off',
      '      state "off" as on_bell_off',
      '      state "ringing<br/>▶ ring" as ringing',
      '      on_bell_off --> ringing : press',
      '      ringing --> on_bell_off : [otherwise]',
      '    }',
      '    --',
      '    state lamp {',
      '      [*] --> dark',
      '      dark',
      '      lit',
      '      dark --> lit : press',
      '    }',
      '  }',
      '  gone',
      '  off --> on : call [isLoud]',
      '  off --> gone : call [otherwise]<br/>skip',
      '  on --> off : call<br/>· isLoud<br/>· isLast',
      '  ringing --> gone : [isLast]',
      '  gone --> [*]',
    ])
  })

  it('lists every transition, those that stay too, with what it does', () => {
    expect(tableOf(machine).split('\n').slice(2)).toEqual([
      '| *anywhere* |  | `ping` |  | *stays* |  |',
      '| `off` |  | `call` | `isLoud` | `on` |  |',
      '|  |  | `call` | otherwise | `gone` |  |',
      '|  |  | `skip` |  | `gone` |  |',
      '| `on` |  | `call` | `isLoud` | `off` |  |',
      '|  |  | `call` | `isLast` | `off` |  |',
      '| `on.bell.off` |  | `press` |  | `on.bell.ringing` | `note(loud)` |',
      '| `on.bell.ringing` | `ring` | *at once* | `isLast` | `gone` |  |',
      '|  |  | *at once* | otherwise | `on.bell.off` |  |',
      '| `on.lamp.dark` |  | `press` |  | `on.lamp.lit` |  |',
      '| `on.lamp.lit` |  |  |  |  |  |',
      '| `gone` |  |  |  | *an end* |  |',
    ])
  })

  it('names the effects that no state holds', () => {
    expect(startedByActions(machine)).toEqual(['each'])
  })
})

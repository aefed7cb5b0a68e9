import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type SearchProvider,
  type SearchRequest,
  type WebSearchInput,
  webSearchTool,
} from '../../../../src/effects/tools/web/web-search.ts'
import { createVirtualClock } from '../../../../src/effects/virtual-clock.ts'
import { createWorkbench, type Workbench } from '../workbench.ts'

let bench: Workbench
beforeAll(async () => {
  bench = await createWorkbench()
})
afterAll(() => bench.dispose())

const HITS = [
  { title: 'One', url: 'https://docs.example.org/1', snippet: 'first\nline' },
  { title: 'Two', url: 'https://other.net/2' },
  { title: 'Near', url: 'https://notexample.org/3' },
]
/** What a host's code returns may be anything. */
const finding = (hits: unknown): SearchProvider => ({
  search: async () => hits as Awaited<ReturnType<SearchProvider['search']>>,
})
const search = (provider: SearchProvider, input: Partial<WebSearchInput> = {}, more = {}) =>
  bench.call(webSearchTool(provider), { query: 'xstate', ...input }, more)

describe('what is found', () => {
  it('is shown with title, address and words, a line each', async () => {
    expect(await search(finding(HITS.slice(0, 2)))).toEqual({
      content:
        'Found 2 pages:\n\n1. One\n   https://docs.example.org/1\n   first line\n\n2. Two\n   https://other.net/2',
      structured: {
        query: 'xstate',
        results: [{ ...HITS[0], snippet: 'first line' }, HITS[1]],
      },
    })
  })

  it.each<[string, Partial<WebSearchInput>, readonly number[]]>([
    ['only of wanted domains and their subdomains', { allowed_domains: ['Example.org'] }, [0]],
    ['not of unwanted ones', { blocked_domains: ['example.org', '*.other.net'] }, [2]],
  ])('is %s, whatever the provider returns', async (_, input, kept) => {
    const { structured } = await search(finding(HITS), input)
    expect(structured).toMatchObject({ results: kept.map((at) => ({ url: HITS[at]?.url })) })
  })

  it('is bounded, and what is no page is left out', async () => {
    const odd = [
      null,
      { title: 'x' },
      { title: 'x', url: 'nowhere' },
      { title: 'y'.repeat(9999), url: 'https://a.b' },
    ]
    const { structured } = await search(finding([...odd, ...Array.from({ length: 30 }, () => HITS[1])]))
    expect(structured).toMatchObject({ results: { length: 10, 0: { title: `${'y'.repeat(199)}…` } } })
    expect((await search(finding([]))).content).toBe('Nothing was found for "xstate". Try other words.')
  })
})

it('hands the provider what was asked, and its domains', async () => {
  const asked: SearchRequest[] = []
  const provider: SearchProvider = {
    search: async (request) => {
      asked.push(request)
      return []
    },
  }
  await search(provider, { allowed_domains: ['a.b'] })
  expect(asked).toMatchObject([{ query: 'xstate', allowedDomains: ['a.b'], maxResults: 10 }])
  expect(asked[0]?.signal.aborted).toBe(true)
})

describe('a search that fails', () => {
  it.each<[string, SearchProvider, RegExp]>([
    [
      'by the provider',
      { search: async () => Promise.reject(new Error('no key')) },
      /The search failed: no key/,
    ],
    ['by a provider that returns no list', finding('text'), /returned no list of pages/],
  ])('%s is an error in words', async (_, provider, message) => {
    const output = await search(provider)
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(message) })
  })

  it('by asking for both kinds of domains is refused', async () => {
    const output = await search(finding([]), { allowed_domains: ['a'], blocked_domains: ['b'] })
    expect(output.content).toBe('Give allowed_domains or blocked_domains, not both.')
  })

  it('by taking too long, or by an interrupt, is given up', async () => {
    const clock = createVirtualClock()
    const never: SearchProvider = { search: () => new Promise(() => {}) }
    const searching = search(never, {}, { clock })
    await expect.poll(() => clock.pending).toBe(1)
    clock.advance(30_000)
    expect((await searching).content).toMatch(/more than 30 s/)
    const abort = new AbortController()
    const interrupted = search(never, {}, { clock, signal: abort.signal })
    await expect.poll(() => clock.pending).toBe(1)
    abort.abort()
    expect((await interrupted).content).toBe('Interrupted. The search was ended.')
    expect(clock.pending).toBe(0)
  })
})

/** The tool `WebSearch`, for hosts that have a search engine. */
import * as z from 'zod'
import { messageOf } from '../../../definitions/message-of.ts'
import { sleep } from '../../clock.ts'
import { counted } from '../lines.ts'
import { failure, refusalsAsResults } from '../refusals.ts'
import type { Tool } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'

/** What to look for. */
export interface SearchRequest {
  readonly query: string
  /** Only pages of these domains, each with its subdomains. Never together with the other. */
  readonly allowedDomains?: readonly string[]
  readonly blockedDomains?: readonly string[]
  /** More than these are not shown. */
  readonly maxResults: number
  readonly signal: AbortSignal
}

const SearchHit = z.object({
  title: z.string(),
  url: z.string(),
  /** A few words of the page, or what the engine says of it. */
  snippet: z.string().optional(),
})
/** One page that was found. */
export type SearchHit = z.infer<typeof SearchHit>

/** A search engine, as a port. Rejects when it cannot search; the message is shown to the model. */
export interface SearchProvider {
  search(request: SearchRequest): Promise<readonly SearchHit[]>
}

const TIME_LIMIT_MS = 30_000
const MAX_RESULTS = 10
const MAX_TITLE = 200
const MAX_SNIPPET = 500
const MAX_URL = 2000

const domains = z.array(z.string().min(1).max(253)).max(50).optional()

const WebSearchInput = z.strictObject({
  query: z.string().trim().min(2).max(400).describe('What to look for'),
  allowed_domains: domains.describe('Only pages of these domains, for example "developer.mozilla.org"'),
  blocked_domains: domains.describe('No pages of these domains; not together with allowed_domains'),
})
export type WebSearchInput = z.infer<typeof WebSearchInput>

/** Searches the web through the host's provider. */
export function webSearchTool(provider: SearchProvider): Tool<WebSearchInput> {
  return {
    name: 'WebSearch',
    description: `Searches the web and returns up to ${MAX_RESULTS} pages: title, address and a few words of each.

- For what may have changed since you were trained, or what you do not know: releases, errors, documentation.
- Results are pointers, not proof. Read what matters with WebFetch, and name the addresses that your answer rests on.
- The words of the query leave this machine: put nothing private in it.`,
    inputSchema: WebSearchInput,
    resume: 'repeat',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    reachesOut: () => true,
    ruleSubject: ({ query }) => query,
    run: (input, context) =>
      refusalsAsResults(async () => {
        const { query, allowed_domains: allowed, blocked_domains: blocked } = input
        if (allowed !== undefined && blocked !== undefined) {
          throw new ToolRefusal('Give allowed_domains or blocked_domains, not both.')
        }
        const done = new AbortController()
        const signal = AbortSignal.any([context.signal, done.signal])
        const timeUp = sleep(context.clock, TIME_LIMIT_MS, signal).then(() => {
          throw new ToolRefusal(`The search took more than ${TIME_LIMIT_MS / 1000} s and was given up.`)
        })
        const searching = Promise.resolve(
          provider.search({
            ...{ query, maxResults: MAX_RESULTS, signal },
            ...(allowed !== undefined && { allowedDomains: allowed }),
            ...(blocked !== undefined && { blockedDomains: blocked }),
          }),
        )
        try {
          const hits = usable(await Promise.race([searching, timeUp]), allowed, blocked)
          return { content: describe(query, hits), structured: { query, results: hits } }
        } catch (error) {
          if (context.signal.aborted) return failure('Interrupted. The search was ended.')
          if (ToolRefusal.is(error)) throw error
          return failure(`The search failed: ${messageOf(error)}`)
        } finally {
          done.abort()
          // Whichever lost the race may still fail, which nobody waits for.
          searching.catch(() => {})
          timeUp.catch(() => {})
        }
      }),
  }
}

/** What may be shown: whatever a provider returns, bounded and of the wanted domains. */
function usable(
  found: unknown,
  allowed: readonly string[] | undefined,
  blocked: readonly string[] | undefined,
): readonly SearchHit[] {
  const parsed = z.array(z.unknown()).safeParse(found)
  if (!parsed.success) throw new Error('the provider returned no list of pages')
  return parsed.data
    .flatMap((each) => {
      const hit = SearchHit.safeParse(each)
      return hit.success && URL.canParse(hit.data.url) && hit.data.url.length <= MAX_URL ? [hit.data] : []
    })
    .filter(({ url }) => allowed === undefined || allowed.some((domain) => isOf(domain, url)))
    .filter(({ url }) => blocked === undefined || !blocked.some((domain) => isOf(domain, url)))
    .slice(0, MAX_RESULTS)
    .map(({ title, url, snippet }) => ({
      title: oneLine(title, MAX_TITLE),
      url,
      ...(snippet !== undefined && { snippet: oneLine(snippet, MAX_SNIPPET) }),
    }))
}

function isOf(domain: string, url: string): boolean {
  const host = new URL(url).hostname
  const wanted = domain.toLowerCase().replace(/^\*\.|\.$/g, '')
  return host === wanted || host.endsWith(`.${wanted}`)
}

function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line
}

function describe(query: string, hits: readonly SearchHit[]): string {
  if (hits.length === 0) return `Nothing was found for "${query}". Try other words.`
  const pages = hits.map(({ title, url, snippet }, at) =>
    [`${at + 1}. ${title}`, `   ${url}`, ...(snippet ? [`   ${snippet}`] : [])].join('\n'),
  )
  return [`Found ${counted(hits.length, 'page')}:`, ...pages].join('\n\n')
}

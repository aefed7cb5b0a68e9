/**
 * HTML of strangers as Markdown.
 *
 * In a thread of its own: a page can be made so that parsing it takes minutes or all memory. There it only costs the
 * thread, which ends with its limits, its time or the call.
 */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.ts'
import { ToolRefusal } from '../tool-refusal.ts'

const require = createRequire(import.meta.url)

const TIME_LIMIT_MS = 10_000
const MEMORY_LIMIT_MB = 256

/** What a page holds. */
export interface MarkdownPage {
  /** Empty when the page has none. */
  readonly title: string
  readonly markdown: string
}

/** Turns a page into Markdown; addresses in it become whole ones, counted from `url`. Throws a {@link ToolRefusal} when that takes too much, and the signal's reason. */
export function htmlToMarkdown(
  html: string,
  url: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<MarkdownPage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const worker = new Worker(WORKER, {
      eval: true,
      workerData: { html, url, turndown: require.resolve('turndown') },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_LIMIT_MB },
      // Nothing of ours: neither secrets nor flags.
      env: {},
      execArgv: [],
    })
    const end = (settle: () => void): void => {
      cancelLimit()
      signal.removeEventListener('abort', onAbort)
      void worker.terminate()
      settle()
    }
    const fail = (why: string, cause?: unknown): void =>
      end(() =>
        reject(
          new ToolRefusal(`The page could not be turned into Markdown: ${why}. Use Bash, for example curl.`, {
            cause,
          }),
        ),
      )
    const onAbort = (): void => end(() => reject(signal.reason))
    const cancelLimit = clock.setTimer(TIME_LIMIT_MS, () =>
      fail(`it took more than ${TIME_LIMIT_MS / 1000} s`),
    )
    signal.addEventListener('abort', onAbort, { once: true })
    // What the text below posts.
    worker.once('message', (page: MarkdownPage) => end(() => resolve(page)))
    worker.once('error', (cause) => fail(cause.message, cause))
    worker.once('exit', () => fail('its thread ended'))
  })
}

/**
 * The program of the thread. A text, not a module: it has to be the same however this file was compiled and bundled.
 *
 * The library knows no tables; these become the ones of GitHub's Markdown, without the blanks that line them up.
 */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
const TurndownService = require(workerData.turndown)

const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
service.remove(['script', 'style', 'noscript', 'template', 'iframe', 'object', 'embed', 'svg', 'canvas', 'title'])
// No rule of its own: a place to look at each node before the rule for it is found.
service.addRule('addresses in full', {
  filter(node) {
    for (const name of ['href', 'src']) {
      const address = node.getAttribute(name)
      if (address && !address.startsWith('#') && URL.canParse(address, workerData.url)) {
        node.setAttribute(name, new URL(address, workerData.url).href)
      }
    }
    return false
  },
  replacement: (content) => content,
})
service.addRule('pictures in the page itself', {
  filter: (node) => node.nodeName === 'IMG' && /^data:/i.test(node.getAttribute('src') || ''),
  replacement: (_, node) => (node.getAttribute('alt') || '').trim(),
})
const isCell = (node) => node.nodeName === 'TD' || node.nodeName === 'TH'
service.addRule('cells', {
  filter: (node) => isCell(node),
  replacement: (content) => content.trim().replace(/\\s*\\n\\s*/g, ' ').replace(/\\|/g, '\\\\|') + ' | ',
})
service.addRule('rows', {
  filter: 'tr',
  replacement: (content, node) => {
    const table = node.closest ? node.closest('table') : null
    const isFirst = table ? table.querySelector('tr') === node : false
    const count = Array.from(node.childNodes).filter(isCell).length
    const row = '\\n| ' + content.trim()
    return isFirst ? row + '\\n|' + ' --- |'.repeat(count) : row
  },
})
service.addRule('tables', { filter: 'table', replacement: (content) => '\\n\\n' + content.trim() + '\\n\\n' })
for (const name of ['thead', 'tbody', 'tfoot']) {
  service.addRule(name, { filter: name, replacement: (content) => content })
}

const { html } = workerData
const title = /<title[^>]*>([^<]{0,500})/i.exec(html)
parentPort.postMessage({
  title: title ? service.turndown('<p>' + title[1] + '</p>').replace(/\\\\(.)/g, '$1').trim() : '',
  markdown: service.turndown(html).trim(),
})
`

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ToolContext, ToolOutput } from '../../../../src/effects/tools/tool.ts'
import { type HostAddress, readAddress } from '../../../../src/effects/tools/web/web-address.ts'
import { type WebFetchOptions, webFetchTool } from '../../../../src/effects/tools/web/web-fetch.ts'
import { createVirtualClock } from '../../../../src/effects/virtual-clock.ts'
import { createWorkbench, type Workbench } from '../workbench.ts'

let bench: Workbench
let server: Server
let port: number
let answer: RequestListener
let requests: IncomingMessage[]
beforeAll(async () => {
  bench = await createWorkbench()
  server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server's address has a port.
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await bench.dispose()
})
beforeEach(() => {
  requests = []
})

/** Names that resolve to this machine, and that the option names. */
const here = (...hosts: readonly string[]): WebFetchOptions => ({
  privateHosts: hosts,
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
})
const fetch = (
  url: string,
  options: WebFetchOptions,
  more: Partial<ToolContext> & { offset?: number } = {},
) => {
  const { offset, ...context } = more
  return bench.call(webFetchTool(options), { url, ...(offset !== undefined && { offset }) }, context)
}
/** A page of this server. */
const page = (
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = { 'content-type': 'text/html' },
  more: Partial<ToolContext> & { offset?: number; status?: number } = {},
): Promise<ToolOutput> => {
  const { status = 200, ...context } = more
  answer = (_, response) => response.writeHead(status, headers).end(body)
  return fetch(`http://docs.test:${port}/page`, here('docs.test'), context)
}
const url = (): string => `http://docs.test:${port}/page`

describe('a page', () => {
  it('of HTML comes as Markdown, without what is not text', async () => {
    const html = `<!doctype html><html><head><title>A &amp; B_c</title><style>p{}</style></head><body>
      <script>alert(1)</script><h2>Head</h2><p>Text with <a href="/x">link</a>, <a href="#top">top</a> and <code>code</code>.</p>
      <img src="data:image/png;base64,AAAA" alt="dot"><pre><code class="language-js">let a = 1
</code></pre><ul><li>one</li><li>two</li></ul>
      <table><thead><tr><th>K</th><th>V</th></tr></thead><tbody><tr><td>a|b</td><td><p>1</p><p>2</p></td></tr></tbody></table>
      </body></html>`
    const { content, structured } = await page(html)
    expect(content).toBe(
      [
        `[${url()}]`,
        '# A & B_c',
        '## Head',
        `Text with [link](http://docs.test:${port}/x), [top](#top) and \`code\`.`,
        'dot',
        '```js\nlet a = 1\n```',
        '-   one\n-   two',
        '| K | V |\n| --- | --- |\n| a\\|b | 1 2 |',
      ].join('\n\n'),
    )
    expect(structured).toMatchObject({ url: url(), code: 200 })
  })

  it.each<[string, string, string | Buffer, string]>([
    ['plain text', 'text/plain; charset=utf-8', 'a < b\n', 'a < b\n'],
    ['JSON', 'application/json', '{"a": 1}', '{"a": 1}'],
    ['a special JSON', 'application/vnd.api+json', '{"a": 1}', '{"a": 1}'],
    ['text that nobody named', '', 'key = 1', 'key = 1'],
    ['HTML that nobody named', '', '<!DOCTYPE html><p>x</p>', 'x'],
    ['Latin text by its header', 'text/plain; charset=ISO-8859-1', Buffer.from([0xe4]), 'ä'],
    [
      'Japanese text by its own word',
      'text/html',
      Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from([0x83, 0x65])]),
      'テ',
    ],
    ['UTF-16 by its mark', 'text/plain', Buffer.from('\ufeffä', 'utf16le'), 'ä'],
  ])('is shown: %s', async (_, type, body, text) => {
    const { content } = await page(body, type === '' ? {} : { 'content-type': type })
    expect(content).toBe(`[${url()}]\n\n${text}`)
  })

  it('with an unknown character set is read as UTF-8, which is said', async () => {
    const { content } = await page('ä', { 'content-type': 'text/plain; charset=klingon' })
    expect(content).toMatch(/ä\n\n\[The character set "klingon" is unknown; read as UTF-8\.]$/)
  })

  it('that is a picture is shown as one, whatever its type says', async () => {
    const png = Buffer.from('89504e470d0a1a0a00', 'hex')
    const { content } = await page(png, { 'content-type': 'text/plain' })
    expect(content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
    ])
  })

  it.each([
    ['application/pdf', '%PDF-1.7'],
    ['application/octet-stream', 'a\0b'],
    ['', 'a\0b'],
  ])('of type %j is refused with what to do', async (type, body) => {
    const output = await page(body, type === '' ? {} : { 'content-type': type })
    expect(output).toMatchObject({
      isError: true,
      content: expect.stringMatching(/cannot show\. Download it with Bash/),
    })
  })

  it.each<[string, (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('packed as %s is unpacked', async (encoding, pack) => {
    const output = await page(pack('hello'), { 'content-type': 'text/plain', 'content-encoding': encoding })
    expect(output.content).toBe(`[${url()}]\n\nhello`)
  })

  it.each([
    ['gzip', 'not packed at all'],
    ['snappy', 'x'],
  ])('badly packed as %s is an error in words', async (encoding, body) => {
    const output = await page(body, { 'content-type': 'text/plain', 'content-encoding': encoding })
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(/broke off: /) })
  })

  it('that is not there is an error with what the server says', async () => {
    const output = await page('<h1>No such page</h1>', { 'content-type': 'text/html' }, { status: 404 })
    expect(output).toMatchObject({
      isError: true,
      content: `${url()} answered 404 Not Found.\n# No such page`,
    })
  })

  it('that is long is cut between characters, and gone on with', async () => {
    const text = `${'x'.repeat(39_999)}🙂${'y'.repeat(100)}`
    const first = await page(text, { 'content-type': 'text/plain' })
    expect(first.content).toMatch(/x\n\n\[Characters 0 to 39999 of 40101\. Go on with offset 39999\.]$/)
    const second = await page(text, { 'content-type': 'text/plain' }, { offset: 39_999 })
    expect(second.content).toBe(`[${url()}]\n\n🙂${'y'.repeat(100)}`)
    const third = await page(text, { 'content-type': 'text/plain' }, { offset: 99_999 })
    expect(third.content).toMatch(/has 40101 characters; there is none at 99999/)
  })

  it('is asked for without anything of the user', async () => {
    await page('x', { 'content-type': 'text/plain', 'set-cookie': 'a=b' })
    expect(Object.keys(requests[0]?.headers ?? {}).sort()).toEqual(
      ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].sort(),
    )
  })
})

describe('bounds', () => {
  it('what is larger than 5 MB is not read on, also when it was packed small', async () => {
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024, 'a'))
    expect(bomb.length).toBeLessThan(100_000)
    const output = await page(bomb, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
    expect(output.content).toMatch(/larger than 5242880 bytes; the rest was not fetched\.]$/)
    expect(output.structured).toMatchObject({ bytes: 5 * 1024 * 1024 })
  })

  it('a server that is too slow is given up at the time limit', async () => {
    const clock = createVirtualClock()
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('begin')
      setImmediate(() => clock.advance(30_000))
    }
    const output = await fetch(url(), here('docs.test'), { clock })
    expect(output).toEqual({ content: 'Not fetched: it took more than 30 s.', isError: true })
    expect(clock.pending).toBe(0)
  })

  it('a name server that never answers is given up, too', async () => {
    const clock = createVirtualClock()
    const resolve = () => {
      setImmediate(() => clock.advance(30_000))
      return new Promise<never>(() => {})
    }
    const output = await fetch('https://slow.test', { resolve }, { clock })
    expect(output.content).toMatch(/took more than 30 s/)
  })

  it('an interrupt ends it', async () => {
    const abort = new AbortController()
    answer = () => abort.abort()
    const output = await fetch(url(), here('docs.test'), { signal: abort.signal })
    expect(output).toEqual({ content: 'Interrupted. The page was not fetched.', isError: true })
  })

  it('a page that cannot be turned into Markdown in time costs its thread only', async () => {
    const clock = createVirtualClock()
    const turning = page(`<p>${'<b>'.repeat(300_000)}`, { 'content-type': 'text/html' }, { clock })
    await expect.poll(() => clock.pending).toBe(2)
    clock.advance(10_000)
    expect((await turning).content).toMatch(
      /could not be turned into Markdown: (it took more than 10 s|.*stack)/,
    )
  })
})

describe('a redirect', () => {
  const redirecting = (to: (path: string) => string | undefined): void => {
    answer = (request, response) => {
      const location = to(request.url ?? '')
      if (location === undefined) response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived')
      else response.writeHead(302, { location }).end('elsewhere')
    }
  }

  it('on one host is followed, five times and not more', async () => {
    redirecting((path) => (path === '/5' ? undefined : `/${Number(path.slice(1)) + 1}`))
    const arrived = await fetch(`http://docs.test:${port}/0`, here('docs.test'))
    expect(arrived.content).toBe(`[http://docs.test:${port}/5]\n\narrived`)
    redirecting((path) => `/${Number(path.slice(1)) + 1}`)
    const lost = await fetch(`http://docs.test:${port}/0`, here('docs.test'))
    expect(lost).toMatchObject({
      isError: true,
      content: expect.stringMatching(/redirects more than 5 times/),
    })
    expect(requests).toHaveLength(12)
  })

  it('to another host is told and not followed, unless permissions say so', async () => {
    const other = `http://other.test:${port}/there`
    redirecting((path) => (path === '/there' ? undefined : other))
    const options = here('docs.test', 'other.test')
    const told = await fetch(url(), options)
    expect(told.content).toBe(
      `${url()} redirects to another host:\n${other}\nIt was not followed. Call WebFetch with that address if it is where you want to go.`,
    )
    const asked: string[] = []
    const mayFetch = (address: string): boolean => {
      asked.push(address)
      return true
    }
    expect((await fetch(url(), options, { mayFetch })).content).toBe(`[${other}]\n\narrived`)
    expect(asked).toEqual([other])
  })

  it.each([
    [
      'to a private address',
      'http://127.0.0.2/latest/meta-data',
      /127\.0\.0\.2, which is not on the public internet/,
    ],
    [
      'to a name that leads there',
      'https://inside.test/',
      /127\.0\.0\.1, which is not on the public internet/,
    ],
    ['to a file', 'file:///etc/passwd', /Only https addresses/],
    ['to nowhere', 'http://', /which is no address/],
    ['with credentials', 'https://user:pw@docs.test/', /holds a user name or password/],
  ])('%s is judged like any address, whatever permissions say', async (_, location, message) => {
    redirecting(() => location)
    const output = await fetch(url(), here('docs.test'), { mayFetch: () => true })
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(message) })
    expect(requests).toHaveLength(1)
  })
})

describe('an address', () => {
  const nowhere: WebFetchOptions = { resolve: async () => [{ address: '10.0.0.1', family: 4 }] }
  it.each([
    ['http://127.0.0.1/', /127\.0\.0\.1, which is not/],
    ['http://2130706433/', /127\.0\.0\.1, which is not/],
    ['https://0x7f.1/', /127\.0\.0\.1, which is not/],
    ['https://[::1]/', /::1, which is not/],
    ['https://[::ffff:169.254.169.254]/', /which is not on the public internet/],
    ['https://printer.test/', /printer\.test is 10\.0\.0\.1, which is not/],
    ['ftp://example.org/', /Only https/],
    ['javascript:alert(1)', /Only https/],
    ['example.org', /not a whole URL/],
    ['https://a:b@example.org/', /user name or password/],
    [`https://example.org/${'x'.repeat(2000)}`, /at most 2000/],
  ])('%s is refused', async (address, message) => {
    const output = await fetch(address, nowhere)
    expect(output).toMatchObject({ isError: true, content: expect.stringMatching(message) })
  })

  it('is refused when one of its machines is private, and when there is none', async () => {
    const some = async (): Promise<readonly HostAddress[]> => [
      { address: '1.1.1.1', family: 4 },
      { address: 'fd00::1', family: 6 },
    ]
    expect((await fetch('https://both.test', { resolve: some })).content).toMatch(/fd00::1, which is not/)
    expect((await fetch('https://none.test', { resolve: async () => [] })).content).toMatch(/has no address/)
    const fails = async () => Promise.reject(new Error('ENOTFOUND'))
    expect((await fetch('https://no.test', { resolve: fails })).content).toMatch(/no\.test was not found/)
  })

  it('is looked up once: a name that changes in between leads nowhere else', async () => {
    let lookups = 0
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('pinned')
    const resolve = async (): Promise<readonly HostAddress[]> => {
      lookups++
      return lookups === 1 ? [{ address: '127.0.0.1', family: 4 }] : [{ address: '127.9.9.9', family: 4 }]
    }
    // No such name exists: who looks it up once more, by the system, finds nothing.
    const output = await fetch(`http://rebind.test:${port}/`, { privateHosts: ['rebind.test'], resolve })
    expect(output.content).toMatch(/pinned$/)
    expect(lookups).toBe(1)
    expect(requests[0]?.headers.host).toBe(`rebind.test:${port}`)
  })

  it('may be private with its port only, where the option names the port', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('dev server')
    const allowed = await fetch(`http://localhost:${port}/`, here(`localhost:${port}`))
    expect(allowed.content).toMatch(/dev server$/)
    const other = await fetch(`http://localhost:${port + 1}/`, here(`localhost:${port}`))
    expect(other.content).toMatch(/not on the public internet/)
  })

  it.each([
    ['http://example.org/a#b', 'https://example.org/a'],
    ['http://example.org:80/', 'https://example.org/'],
    ['HTTPS://Example.ORG', 'https://example.org/'],
    ['http://localhost:3000/', 'http://localhost:3000/'],
  ])('%s is fetched as %s', (text, expected) => {
    expect(readAddress(text, ['localhost']).href).toBe(expected)
  })

  it('that cannot be reached is an error in words', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port: free } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const output = await fetch(`http://docs.test:${free}/`, here('docs.test'))
    expect(output).toMatchObject({
      isError: true,
      content: expect.stringMatching(/could not be fetched: .*ECONNREFUSED/),
    })
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { McpServerConfig } from '../../../src/definitions/mcp-server-config.ts'
import { expandMcpServerConfig } from '../../../src/effects/mcp/expand-variables.ts'
import { type ParsedMcpConfig, parseMcpConfig } from '../../../src/effects/mcp/parse-config.ts'

const file = '/project/.mcp.json'
const parse = (value: unknown, environment: Record<string, string> = {}): ParsedMcpConfig =>
  parseMcpConfig(typeof value === 'string' ? value : JSON.stringify(value), { file, environment })
const codes = (parsed: ParsedMcpConfig): readonly string[] =>
  parsed.diagnostics.map(({ severity, code }) => `${severity} ${code}`)

describe('a file of MCP servers', () => {
  it('is read in both forms, and in all spellings of a type', () => {
    const entries = {
      implied: { command: 'run' },
      process: { type: 'stdio', command: 'run', args: ['-v'], env: { A: 'b' } },
      web: { type: 'http', url: 'https://example.org/mcp', headers: { 'X-Key': 'k' } },
      streamable: { type: 'streamable-http', url: 'https://example.org/mcp' },
      events: { type: 'sse', url: 'http://localhost:3000/sse' },
      'only-url': { url: 'https://example.org/mcp', timeout: 5000 },
    }
    const parsed = parse({ mcpServers: entries })
    expect(parsed.diagnostics).toEqual([])
    expect(Object.fromEntries(parsed.servers)).toEqual({
      implied: { type: 'stdio', command: 'run', args: [], env: {} },
      process: { type: 'stdio', command: 'run', args: ['-v'], env: { A: 'b' } },
      web: { type: 'http', url: 'https://example.org/mcp', headers: { 'X-Key': 'k' } },
      streamable: { type: 'http', url: 'https://example.org/mcp', headers: {} },
      events: { type: 'sse', url: 'http://localhost:3000/sse', headers: {} },
      'only-url': { type: 'http', url: 'https://example.org/mcp', headers: {}, timeout: 5000 },
    })
    expect(parse(`\ufeff${JSON.stringify(entries)}`)).toEqual(parsed)
  })

  it.each([
    ['a type that there is not', { type: 'carrier-pigeon', command: 'run' }],
    ['no command', { type: 'stdio' }],
    ['a command of blanks', { command: ' ' }],
    ['arguments that are no list', { command: 'run', args: '-v' }],
    ['an address that is none', { type: 'http', url: 'example' }],
    ['a file address', { type: 'http', url: 'file:///etc/passwd' }],
    ['a header that cannot be sent', { type: 'http', url: 'https://a.example', headers: { A: 'b\nC: d' } }],
    ['no object', 'run'],
    ['null', null],
  ])('loses an entry with %s, and no other', (_, bad) => {
    const parsed = parse({ mcpServers: { bad, good: { command: 'run' } } })
    expect([...parsed.servers.keys()]).toEqual(['good'])
    expect(codes(parsed)).toEqual(['error mcp-server-unreadable'])
    expect(parsed.diagnostics[0]).toMatchObject({ file, message: expect.stringContaining('"bad"') })
  })

  it('says of each key that means nothing', () => {
    const parsed = parse({ a: { command: 'run', autoApprove: [], url: 'https://a.example' } })
    expect(codes(parsed)).toEqual(['warning mcp-key-unknown', 'warning mcp-key-unknown'])
    expect(parsed.servers.size).toBe(1)
  })

  it('changes names that tools cannot carry, and keeps the first of two that become one', () => {
    const parsed = parse({
      'my server': { command: 'a' },
      my_server: { command: 'b' },
      MY_SERVER: { command: 'c' },
    })
    expect([...parsed.servers]).toEqual([['my_server', { type: 'stdio', command: 'a', args: [], env: {} }]])
    expect(codes(parsed)).toEqual([
      'warning mcp-server-renamed',
      'error mcp-name-taken',
      'error mcp-name-taken',
    ])
  })

  it.each([
    ['', undefined],
    ['[]', undefined],
    ['"text"', undefined],
    ['{"mcpServers": []}', undefined],
    ['{\n  "a": {},\n  oops\n}', { line: 3, column: 3 }],
  ])('that is no object gives a diagnostic: %j', (text, place) => {
    const parsed = parse(text)
    expect(parsed.servers.size).toBe(0)
    expect(codes(parsed)).toEqual(['error mcp-file-unreadable'])
    if (place !== undefined) expect(parsed.diagnostics[0]).toMatchObject(place)
  })

  it('never throws, and names every entry that it does not honour', () => {
    const entry = fc.oneof(fc.jsonValue(), fc.record({ command: fc.string(), env: fc.jsonValue() }))
    fc.assert(
      fc.property(fc.dictionary(fc.string(), entry), (entries) => {
        const parsed = parse({ mcpServers: entries })
        const lost = codes(parsed).filter((code) => /unreadable|taken/.test(code))
        expect(parsed.servers.size + lost.length).toBe(
          Object.keys(JSON.parse(JSON.stringify(entries))).length,
        )
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        parse(text)
      }),
    )
  })
})

describe('variables', () => {
  it('are put in wherever a server is described', () => {
    const environment = { HOST: 'a.example', TOKEN: 't', HOME: '/home/me', EMPTY: '' }
    const parsed = parse(
      {
        web: { type: 'http', url: `https://\${HOST}/mcp`, headers: { Authorization: `Bearer \${TOKEN}` } },
        run: {
          command: `\${HOME}/bin/run`,
          args: [`--as=\${USER:-nobody}`, `\${EMPTY:-default}`, '$HOME', `\${EMPTY}`],
          env: { T: `\${TOKEN}\${TOKEN}` },
          cwd: `\${HOME}`,
        },
      },
      environment,
    )
    expect(parsed.diagnostics).toEqual([])
    expect(Object.fromEntries(parsed.servers)).toEqual({
      web: { type: 'http', url: 'https://a.example/mcp', headers: { Authorization: 'Bearer t' } },
      run: {
        type: 'stdio',
        command: '/home/me/bin/run',
        args: ['--as=nobody', 'default', '$HOME', ''],
        env: { T: 'tt' },
        cwd: '/home/me',
      },
    })
  })

  it('that are missing are named, once each, and their text stays', () => {
    const parsed = parse({ run: { command: 'run', args: [`\${GONE}`, `\${GONE}`, `\${toString}`] } })
    expect(parsed.servers.get('run')).toMatchObject({ args: [`\${GONE}`, `\${GONE}`, `\${toString}`] })
    expect(codes(parsed)).toEqual(['warning mcp-variable-missing', 'warning mcp-variable-missing'])
    expect(parsed.diagnostics[0]?.message).toContain('GONE')
  })

  it('do not make an address of what is none', () => {
    const parsed = parse({ web: { type: 'http', url: `\${WHERE}` } }, { WHERE: 'file:///etc/passwd' })
    expect(codes(parsed)).toEqual(['error mcp-server-unreadable'])
    expect(codes(parse({ web: { type: 'http', url: `\${WHERE}` } }))).toEqual([
      'warning mcp-variable-missing',
      'error mcp-server-unreadable',
    ])
  })

  it('are not put in twice: a value is text', () => {
    const config = McpServerConfig.parse({ command: `\${A}` })
    expect(expandMcpServerConfig(config, { A: `\${B}`, B: 'x' })).toMatchObject({
      config: { command: `\${B}` },
    })
  })

  it('never show their values in a message', () => {
    const secret = 'SECRET\u0001VALUE'
    const { diagnostics } = parse(
      {
        a: { type: 'http', url: `https://\${T}`, headers: {} },
        b: { type: 'http', url: 'https://a.example', headers: { A: `\${T}` } },
        c: { command: `\${T}`, args: 'x' },
      },
      { T: secret },
    )
    expect(diagnostics.length).toBeGreaterThanOrEqual(2)
    expect(JSON.stringify(diagnostics)).not.toContain('SECRET')
  })
})

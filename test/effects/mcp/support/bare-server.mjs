/**
 * An MCP server without any library, as badly behaved as its arguments say. Tools: `echo`, `pid`, and one for each
 * way to answer a call wrongly.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const ways = new Set(process.argv.slice(2))
const write = (message) =>
  process.stdout.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
const answer = (id, result) => write({ jsonrpc: '2.0', id, result })
const text = (words) => ({ content: [{ type: 'text', text: words }] })
const tool = (name) => ({ name, inputSchema: { type: 'object' } })

if (ways.has('ignore-term')) process.on('SIGTERM', () => {})
if (ways.has('with-child')) spawn('sleep', ['1000'], { stdio: 'ignore' })
if (ways.has('greet')) write('Welcome to my server!')
if (ways.has('die-at-once')) {
  process.stderr.write('no licence found\n')
  process.exit(3)
}
// Stays when its input ends, too.
if (ways.has('ignore-term') || ways.has('mute')) setInterval(() => {}, 1000)

const calls = {
  echo: (id, { message }) => answer(id, text(String(message))),
  pid: (id) => answer(id, text(String(process.pid))),
  env: (id) => answer(id, text(JSON.stringify(process.env))),
  argv: (id) => answer(id, text(process.argv.slice(2).join(' '))),
  die: () => process.exit(7),
  hang: () => {},
  garbage: (id) => write({ jsonrpc: '2.0', id, result: 'not an object' }),
  nonsense: (id) => answer(id, { content: 'not a list' }),
  refuse: (id) => write({ jsonrpc: '2.0', id, error: { code: -32602, message: 'not like this' } }),
  endless: () => {
    const chunk = 'x'.repeat(64 * 1024)
    const more = () => process.stdout.write(chunk, () => setImmediate(more))
    more()
  },
}

if (!ways.has('mute')) {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') {
      const serverInfo = { name: 'bare', version: '1' }
      answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
    }
    if (method === 'tools/list') answer(id, { tools: Object.keys(calls).map(tool) })
    if (method === 'tools/call') calls[params.name](id, params.arguments)
    if (method === 'notifications/cancelled') process.stderr.write(`cancelled ${params.requestId}\n`)
  })
}

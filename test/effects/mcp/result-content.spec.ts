import { describe, expect, it } from 'vitest'
import { CallAnswer, outputOf } from '../../../src/effects/mcp/result-content.ts'
import type { ToolOutput } from '../../../src/effects/tools/tool.ts'

const output = (answer: unknown): ToolOutput => outputOf(CallAnswer.parse(answer))
const content = (...blocks: readonly unknown[]): ToolOutput['content'] => output({ content: blocks }).content

const PNG = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(7)])
const WEBP = Buffer.from('RIFF\x10\x20\x30\x40WEBPVP8 ')

describe('the answer of a server', () => {
  it('that is text alone is one text, which the engine can cut', () => {
    expect(
      content({ type: 'text', text: 'one' }, { type: 'text', text: ' ' }, { type: 'text', text: 'two' }),
    ).toBe('one\n\ntwo')
  })

  it('that is nothing says so', () => {
    expect(output({})).toEqual({ content: '(The tool answered nothing.)' })
    expect(output({ content: [], isError: true })).toEqual({
      content: '(The tool answered nothing.)',
      isError: true,
    })
  })

  it.each([
    ['png', PNG, 'image/png'],
    ['webp', WEBP, 'image/webp'],
    ['jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]), 'image/jpeg'],
    ['gif', Buffer.from('GIF89a'), 'image/gif'],
  ])('shows a %s image by what it is, not by what it is called', (_, bytes, mediaType) => {
    const data = bytes.toString('base64')
    expect(content({ type: 'text', text: 'see' }, { type: 'image', data, mimeType: 'image/tiff' })).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image', source: { type: 'base64', media_type: mediaType, data } },
    ])
  })

  it.each([
    ['no image', Buffer.from('<svg/>').toString('base64')],
    ['no base64', `${PNG.toString('base64')}!`],
    ['cut off', PNG.toString('base64').slice(0, -1)],
    ['too large', PNG.toString('base64').padEnd(6 * 1024 * 1024, 'A')],
    ['empty', ''],
  ])('describes an image that is %s: a request must not fail because of it', (_, data) => {
    expect(content({ type: 'image', data, mimeType: 'image/png' })).toMatch(
      /^\[image of image\/png, about \d+ bytes, that cannot be shown here\.\]$/,
    )
  })

  it('gives resources as text, image or description', () => {
    const png = PNG.toString('base64')
    expect(
      content(
        { type: 'resource', resource: { uri: 'demo://1', text: 'words' } },
        { type: 'resource', resource: { uri: 'demo://2', mimeType: 'application/zip', blob: 'UEsDBA==' } },
        { type: 'resource_link', uri: 'demo://3', name: 'third', mimeType: 'text/plain' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'hologram', beam: 1 },
      ),
    ).toBe(
      [
        '[Resource demo://1]\nwords',
        '[resource demo://2 of application/zip, about 6 bytes, that cannot be shown here.]',
        '[Resource demo://3: third, text/plain]',
        '[audio of audio/wav, about 3 bytes, that cannot be shown here.]',
        '[A block of the kind hologram that cannot be shown.]',
      ].join('\n\n'),
    )
    expect(content({ type: 'resource', resource: { uri: 'demo://4', blob: png } })).toMatchObject([
      { type: 'image' },
    ])
  })

  it('gives what is structured once', () => {
    const structuredContent = { temperature: 5, wind: null }
    const said = { type: 'text', text: '{ "wind": null, "temperature": 5 }' }
    expect(output({ structuredContent })).toEqual({ content: JSON.stringify(structuredContent) })
    expect(output({ content: [said], structuredContent }).content).toBe(said.text)
    expect(output({ content: [{ type: 'text', text: 'It is cold.' }], structuredContent }).content).toBe(
      `It is cold.\n\n${JSON.stringify(structuredContent)}`,
    )
  })

  it('holds no half character', () => {
    expect(content({ type: 'text', text: 'a\ud800b' })).toBe('a\ufffdb')
  })
})

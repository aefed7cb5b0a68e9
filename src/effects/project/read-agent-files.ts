/**
 * Reads the agents of all places, and reads them again after a change.
 *
 * A1 A file whose bytes are the same gives the same object as before: whoever compares objects sees what changed.
 * A2 Bounded: the size of a file, of all that is read at one time, and the time for which nothing else gets its turn.
 * A3 Never rejects.
 */
import { hash } from 'node:crypto'
import { setImmediate as turnOfOthers } from 'node:timers/promises'
import { printable } from '../../definitions/context/text.ts'
import type { AgentFile, FileOrigin } from '../../definitions/files/agent-file.ts'
import { MAX_FILE_BYTES } from '../../definitions/files/file-text.ts'
import { type ParseOptions, parseAgentFile } from '../../definitions/files/parse-agent-file.ts'
import { parseAgentsJson } from '../../definitions/files/parse-agents-json.ts'
import { failedPlace } from './diagnostic.ts'
import { type BytesReading, memoryForBytes, readBytes } from './read-bytes.ts'
import { type AgentPlace, walkAgentFiles } from './walk-agent-files.ts'

/** Bytes of all files of a place together. */
const MAX_PLACE_BYTES = 64 * 1024 * 1024
/** Reading and parsing go on for so long at one time. */
const SLICE_MS = 15

/** Agents that are no file: of `--agents`, of a plugin's manifest. */
export interface AgentsText {
  /** JSON, or what was parsed from it. */
  readonly json: unknown
  readonly origin: FileOrigin
}

/** Where to look. */
export interface AgentSources {
  readonly places: readonly AgentPlace[]
  readonly texts: readonly AgentsText[]
}

/** What the agents of a place may not keep; the one that loses nothing comes back itself. */
export type Adjust = (file: AgentFile) => AgentFile

export interface AgentFileReader {
  /** All files, in the order of the sources. */
  read(sources: AgentSources): Promise<readonly AgentFile[]>
}

/** Makes a reader with a memory (A1). */
export function createAgentFileReader(
  options: ParseOptions = {},
  adjust: Adjust = (file) => file,
): AgentFileReader {
  let known = new Map<string, readonly AgentFile[]>()
  return {
    async read({ places, texts }) {
      const fresh = new Map<string, readonly AgentFile[]>()
      const remembered = (key: string, make: () => readonly AgentFile[]): readonly AgentFile[] => {
        const files = known.get(key) ?? fresh.get(key) ?? make().map(adjust)
        fresh.set(key, files)
        return files
      }
      const asBefore = (file: AgentFile): readonly AgentFile[] =>
        remembered(JSON.stringify(file), () => [file])

      const ofPlace = async (place: AgentPlace): Promise<readonly AgentFile[]> => {
        const { files, refused } = await walkAgentFiles(place)
        const read: AgentFile[] = refused.flatMap(asBefore)
        let bytesLeft = MAX_PLACE_BYTES
        const memory = memoryForBytes()
        let sliceEnd = performance.now() + SLICE_MS
        for (const { path, real } of files) {
          if (performance.now() > sliceEnd) {
            await turnOfOthers()
            sliceEnd = performance.now() + SLICE_MS
          }
          const reading = readBytes(real, MAX_FILE_BYTES, memory)
          bytesLeft -= reading.kind === 'bytes' ? reading.bytes.length : 0
          if (bytesLeft < 0) {
            const message = `${printable(path)} and what follows it is not read: the files of ${printable(place.path)} come to more than ${MAX_PLACE_BYTES / 1024 / 1024} MB.`
            return [...read, ...asBefore(failedPlace(path, 'agent-files-too-many', message))]
          }
          read.push(...parsed(place, path, reading))
        }
        return read
      }

      const parsed = (place: AgentPlace, path: string, reading: BytesReading): readonly AgentFile[] => {
        if (reading.kind !== 'bytes') return asBefore(unread(path, reading))
        const { bytes } = reading
        const { source, plugin = '', baseDir = '' } = place.origin
        const content = hash('sha256', bytes, 'base64')
        return remembered(`${path}\0${source}\0${plugin}\0${baseDir}\0${content}`, () => {
          const origin = { ...place.origin, path }
          return /\.json$/i.test(path)
            ? parseAgentsJson(new TextDecoder().decode(bytes), origin, options)
            : [parseAgentFile(bytes, origin, options)]
        })
      }

      const files: AgentFile[] = []
      for (const place of places) files.push(...(await ofPlace(place)))
      for (const { json, origin } of texts) {
        const key = [origin.path, origin.source, origin.plugin, JSON.stringify(json)].join('\0')
        files.push(...remembered(key, () => parseAgentsJson(json, origin, options)))
      }
      known = fresh
      return files
    },
  }
}

function unread(path: string, reading: Exclude<BytesReading, { kind: 'bytes' }>): AgentFile {
  if (reading.kind === 'failed')
    return failedPlace(path, 'agent-file-unreadable', `It cannot be read: ${reading.reason}.`)
  const message = `The file has ${reading.size} bytes; ${MAX_FILE_BYTES} are the most that is read.`
  // The words and the code of the parser, which would have had to be given the whole file.
  return {
    kind: 'failed',
    file: path,
    diagnostics: [{ severity: 'error', code: 'file-too-large', message, file: path }],
  }
}

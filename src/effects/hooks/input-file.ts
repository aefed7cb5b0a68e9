/**
 * Standard input of a hook, as a file that has no name any more.
 *
 * Not a pipe: a hook that never reads it would break or block the writer, and scripts that open `/dev/stdin` fail on
 * Node's own pipes, which are sockets. A file is there as a whole before the hook starts.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Opens a file with this text, to be read from its start. Whoever opened it closes it. Nobody else can find it: it is
 * unlinked before this resolves. Rejects when the temporary folder takes no file.
 */
export async function openInputFile(text: string): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-hook-'))
  try {
    const path = join(folder, 'input')
    const writing = await open(path, 'wx', 0o600)
    try {
      await writing.writeFile(text)
    } finally {
      await writing.close()
    }
    return await open(path, 'r')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

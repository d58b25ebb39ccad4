/** A dump in a file. */
import { constants } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import * as AtomicFile from '@latchkey/system/atomic-file'
import type { Genesis } from '../ledger/Genesis.js'
import type { Key } from '../ledger/Key.js'
import type { Snapshot } from '../ledger/Snapshot.js'
import * as Dump from './Dump.js'

/** A dump is one text, and longer ones there are not. */
export const maxBytes = constants.MAX_STRING_LENGTH

/** Puts it in the place of what is there, once it is on the disk as a whole. */
export async function write(path: string, moment: Snapshot, genesisHash: Key): Promise<void> {
  const temporaryPath = `${path}.${randomBytes(8).toString('hex')}.tmp`
  const parts = [Buffer.from(Dump.write(moment, genesisHash))]
  const handle = await AtomicFile.replace({ path, temporaryPath, parts })
  await handle.close()
  await AtomicFile.syncDirectory(path)
}

export async function read(path: string, genesis: Genesis): Promise<Snapshot> {
  const handle = await open(path, 'r')
  try {
    return Dump.read(await textOf(handle, path), genesis)
  } finally {
    await handle.close()
  }
}

async function textOf(handle: FileHandle, path: string): Promise<string> {
  const stat = await handle.stat()
  // Others have no size to judge by, and may never end.
  if (!stat.isFile()) throw new DumpFileError(`${path} is not a file`)
  if (stat.size > maxBytes) throw new DumpFileError(`${path} has ${stat.size} bytes; a dump has at most ${maxBytes}`)
  return handle.readFile('utf8')
}

export class DumpFileError extends Error {
  override name = 'DumpFileError'
}

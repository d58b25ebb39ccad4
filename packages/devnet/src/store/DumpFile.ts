/** A dump in a file. */
import { constants } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { DumpError } from '../errors.js'
import type { Genesis } from '../ledger/Genesis.js'
import type { Snapshot } from '../ledger/LedgerChange.js'
import type { MapKey } from '../ledger/MapKey.js'
import * as Dump from './Dump.js'

/** The limit of a string, because a dump is one string. */
export const maxBytes = constants.MAX_STRING_LENGTH

/** Replaces the file once the whole dump is on the disk. */
export async function write(path: string, snapshot: Snapshot, genesisHash: MapKey): Promise<void> {
  const parts = [Buffer.from(Dump.write(snapshot, genesisHash))]
  const temporaryPath = `${path}.${randomBytes(8).toString('hex')}.tmp`
  try {
    const handle = await AtomicFile.replace({ path, temporaryPath, parts })
    await handle.close()
    await AtomicFile.syncDirectory(path)
  } catch (cause) {
    throw new DumpError('dump_file_unavailable', `${path} cannot be written: ${(cause as Error).message}`, { cause })
  }
}

export async function read(path: string, genesis: Genesis): Promise<Snapshot> {
  return Dump.read(await textOf(path), genesis)
}

async function textOf(path: string): Promise<string> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, 'r')
    const stat = await handle.stat()
    // Other kinds of files have no size to check, and may never end.
    if (!stat.isFile()) throw new DumpError('dump_file_unavailable', `${path} is not a file`)
    if (stat.size > maxBytes) {
      throw new DumpError('dump_too_large', `${path} has ${stat.size} bytes; a dump has at most ${maxBytes}`)
    }
    return await handle.readFile('utf8')
  } catch (cause) {
    if (cause instanceof DumpError) throw cause
    throw new DumpError('dump_file_unavailable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  } finally {
    await handle?.close()
  }
}

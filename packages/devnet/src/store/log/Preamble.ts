/** What a log begins with: that it is one, in which version, and of which network. */

import { crc32 } from 'node:zlib'
import { Hash } from '@latchkey/algorand'
import * as Key from '../../ledger/Key.js'

const magic = Buffer.from('LKDEVLOG')
const version = 1
const hashAt = magic.length + 4
const crcAt = hashAt + 32

export const length = crcAt + 4

export function encode(genesisHash: Key.Key): Buffer {
  const bytes = Buffer.alloc(length)
  magic.copy(bytes)
  bytes.writeUInt32BE(version, magic.length)
  bytes.set(Key.bytes(genesisHash), hashAt)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, crcAt)), crcAt)
  return bytes
}

/** Why a file that begins so cannot be used, or undefined if it can. */
export function fault(bytes: Buffer, genesisHash: Key.Key): string | undefined {
  // Never half there: a log gets its name only when its preamble is on the disk.
  if (bytes.length < length || !bytes.subarray(0, magic.length).equals(magic)) {
    return 'it is not the log of a devnet; choose another path'
  }
  const itsVersion = bytes.readUInt32BE(magic.length)
  if (itsVersion !== version) return `it is of version ${itsVersion}, and this program reads version ${version} only`
  if (crc32(bytes.subarray(0, crcAt)) !== bytes.readUInt32BE(crcAt)) return 'its beginning is damaged'
  const itsHash = bytes.subarray(hashAt, crcAt)
  if (Key.of(itsHash) === genesisHash) return undefined
  const [its, ours] = [Hash.toText(itsHash), Hash.toText(Key.bytes(genesisHash))]
  return `it is of another network, with genesis hash ${its}; this one has ${ours}`
}

/**
 * The header of a state file: magic bytes, version and the fingerprint of the genesis, which is its hash unless one was
 * given.
 */
import { crc32 } from 'node:zlib'
import { Hash } from '@latchkey/algorand'
import { StateFileError } from '../../errors.js'
import * as MapKey from '../../ledger/MapKey.js'

const magic = Buffer.from('LKDEVLOG')
/** Version 2 has groups with the digest of their outcome. Version 1 is still read. */
const version = 2
const firstVersion = 1
const hashAt = magic.length + 4
const crcAt = hashAt + 32

export const length = crcAt + 4

export function encode(fingerprint: MapKey.MapKey): Buffer {
  const bytes = Buffer.alloc(length)
  magic.copy(bytes)
  bytes.writeUInt32BE(version, magic.length)
  bytes.set(MapKey.bytes(fingerprint), hashAt)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, crcAt)), crcAt)
  return bytes
}

/** Throws a StateFileError if the file at `path`, which begins with these bytes, is not usable. */
export function check(bytes: Buffer, fingerprint: MapKey.MapKey, path: string): void {
  // Never incomplete, because the file gets its name only after its header is on the disk.
  if (bytes.length < length || !bytes.subarray(0, magic.length).equals(magic)) {
    throw new StateFileError('state_file_unrecognized', `${path} is not the state file of a devnet`)
  }
  const itsVersion = bytes.readUInt32BE(magic.length)
  if (itsVersion < firstVersion || itsVersion > version) {
    const message = `${path} has version ${itsVersion}; this program reads versions ${firstVersion} to ${version}`
    throw new StateFileError('state_file_version', message)
  }
  if (crc32(bytes.subarray(0, crcAt)) !== bytes.readUInt32BE(crcAt)) {
    throw new StateFileError('state_file_damaged', `${path} has a damaged header`, {
      hint: 'restore a copy of the file',
    })
  }
  const itsHash = bytes.subarray(hashAt, crcAt)
  if (MapKey.of(itsHash) === fingerprint) return
  const [its, ours] = [Hash.toText(itsHash), Hash.toText(MapKey.bytes(fingerprint))]
  throw new StateFileError('state_file_network', `${path} belongs to the genesis ${its}; this devnet has ${ours}`)
}

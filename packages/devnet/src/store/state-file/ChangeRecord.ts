/**
 * A change in the state file: a header with the length and its own checksum, then one byte for the type, then the body.
 * The header's own checksum makes the length reliable before the payload is read, so that an unfinished record can be
 * distinguished from one with a wrong length.
 *
 *     u32 length of the payload | u32 crc32 of the payload | u32 crc32 of those eight bytes | payload
 */
import { crc32 } from 'node:zlib'
import type { Genesis } from '../../ledger/Genesis.js'
import type { FundChange, LedgerChange } from '../../ledger/LedgerChange.js'
import * as MapKey from '../../ledger/MapKey.js'
import * as Dump from '../Dump.js'
import { JsonCursor } from '../dump/JsonCursor.js'
import { clockFromJson, clockToJson } from '../dump/StateJson.js'

export const headerBytes = 12

const typeBytes = { group: 1, block: 2, clock: 3, fund: 4, restore: 5, reset: 6 } as const
/** A group with application calls: the digest of its outcome, then its transactions. Since version 2 of the file. */
const callsByte = 7
const digestBytes = 32
const types = new Map(Object.entries(typeBytes).map(([type, byte]) => [byte as number, type as LedgerChange['type']]))

/** A header and its payload. */
export function encode(change: LedgerChange, genesisHash: MapKey.MapKey): Buffer {
  const body = bodyOf(change, genesisHash)
  const length = 1 + body.length
  const record = Buffer.allocUnsafe(headerBytes + length)
  record[headerBytes] = change.type === 'group' && change.digest !== undefined ? callsByte : typeBytes[change.type]
  record.set(body, headerBytes + 1)
  record.writeUInt32BE(length, 0)
  record.writeUInt32BE(crc32(record.subarray(headerBytes)), 4)
  record.writeUInt32BE(crc32(record.subarray(0, 8)), 8)
  return record
}

function bodyOf(change: LedgerChange, genesisHash: MapKey.MapKey): Uint8Array {
  switch (change.type) {
    case 'group':
      return change.digest === undefined ? change.bytes : Buffer.concat([change.digest, change.bytes])
    case 'block': {
      const body = Buffer.allocUnsafe(8)
      body.writeBigUInt64BE(change.timestamp)
      return body
    }
    case 'clock':
      return Buffer.from(JSON.stringify(clockToJson(change.clock)))
    case 'fund':
      return Buffer.from(JSON.stringify(fundJson(change)))
    case 'restore':
      return Buffer.from(Dump.write(change.snapshot, genesisHash))
    case 'reset':
      return Buffer.alloc(0)
  }
}

export type RecordHeader = { readonly payloadBytes: number; readonly payloadCrc: number }

/** Returns the header in these bytes, or undefined if its checksum is wrong. */
export function headerIn(bytes: Buffer): RecordHeader | undefined {
  const payloadBytes = bytes.readUInt32BE(0)
  if (payloadBytes === 0 || crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) return undefined
  return { payloadBytes, payloadCrc: bytes.readUInt32BE(4) }
}

export function isIntact(payload: Buffer, { payloadCrc }: RecordHeader): boolean {
  return crc32(payload) === payloadCrc
}

/** The result does not share memory with the payload. */
export function decode(payload: Buffer, genesis: Genesis): LedgerChange {
  const type = types.get(payload[0]!)
  const body = payload.subarray(1)
  if (payload[0] === callsByte) {
    if (body.length <= digestBytes) throw new RangeError('a group must have transactions')
    const digest = new Uint8Array(body.subarray(0, digestBytes))
    return { type: 'group', bytes: new Uint8Array(body.subarray(digestBytes)), digest }
  }
  switch (type) {
    case 'group':
      return { type, bytes: new Uint8Array(body) }
    case 'block':
      if (body.length !== 8) throw new RangeError('the timestamp of a block must have 8 bytes')
      return { type, timestamp: body.readBigUInt64BE() }
    case 'clock':
      return { type, clock: clockFromJson(new JsonCursor(JSON.parse(body.toString()), () => 'clock')) }
    case 'fund':
      return fundOf(new JsonCursor(JSON.parse(body.toString()), () => 'fund'))
    case 'restore':
      return { type, snapshot: Dump.read(body.toString(), genesis) }
    case 'reset':
      return { type }
    default:
      throw new RangeError(`unknown type of change: ${payload[0]}`)
  }
}

function fundJson({ to, microAlgos, assets }: FundChange): object {
  return {
    to: MapKey.address(to),
    microAlgos: microAlgos.toString(),
    assets: assets.map(({ assetId, amount }) => ({ assetId: assetId.toString(), amount: amount.toString() })),
  }
}

function fundOf(member: JsonCursor): FundChange {
  const { to, microAlgos, assets } = member.object(['to', 'microAlgos', 'assets'])
  return {
    type: 'fund',
    to: to.address(),
    microAlgos: microAlgos.unsigned(),
    assets: assets.list().map((one) => {
      const { assetId, amount } = one.object(['assetId', 'amount'])
      return { assetId: assetId.unsigned(), amount: amount.unsigned() }
    }),
  }
}

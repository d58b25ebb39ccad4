/**
 * A change as it stands in the log: a head that says how long it is and vouches for itself, then one byte for the type
 * and a body. With the head apart, a length can be believed before all that it speaks of has been read, so that a record
 * whose end is missing can be told from one whose length is wrong.
 *
 *     u32 length of the payload | u32 crc32 of the payload | u32 crc32 of those eight bytes | payload
 */
import { crc32 } from 'node:zlib'
import type { Change, Gift } from '../../ledger/Change.js'
import type { Genesis } from '../../ledger/Genesis.js'
import * as Key from '../../ledger/Key.js'
import * as Dump from '../Dump.js'
import * as ClockJson from '../dump/ClockJson.js'
import { Member } from '../dump/Member.js'

export const headBytes = 12

const typeBytes = { group: 1, block: 2, clock: 3, gift: 4, moment: 5, reset: 6 } as const
const types = new Map(Object.entries(typeBytes).map(([type, byte]) => [byte as number, type as Change['type']]))

/** A head and the payload after it. */
export function encode(change: Change, genesisHash: Key.Key): Buffer {
  const body = bodyOf(change, genesisHash)
  const length = 1 + body.length
  const record = Buffer.allocUnsafe(headBytes + length)
  record[headBytes] = typeBytes[change.type]
  record.set(body, headBytes + 1)
  record.writeUInt32BE(length, 0)
  record.writeUInt32BE(crc32(record.subarray(headBytes)), 4)
  record.writeUInt32BE(crc32(record.subarray(0, 8)), 8)
  return record
}

function bodyOf(change: Change, genesisHash: Key.Key): Uint8Array {
  switch (change.type) {
    case 'group':
      return change.bytes
    case 'block': {
      const body = Buffer.allocUnsafe(8)
      body.writeBigUInt64BE(change.timestamp)
      return body
    }
    case 'clock':
      return Buffer.from(JSON.stringify(ClockJson.toJson(change.clock)))
    case 'gift':
      return Buffer.from(JSON.stringify(giftJson(change)))
    case 'moment':
      return Buffer.from(Dump.write(change.moment, genesisHash))
    case 'reset':
      return Buffer.alloc(0)
  }
}

export type Head = { readonly payloadBytes: number; readonly payloadCrc: number }

/** The head that these bytes are, or undefined if they are none. */
export function headIn(bytes: Buffer): Head | undefined {
  const payloadBytes = bytes.readUInt32BE(0)
  if (payloadBytes === 0 || crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) return undefined
  return { payloadBytes, payloadCrc: bytes.readUInt32BE(4) }
}

export function isIntact(payload: Buffer, { payloadCrc }: Head): boolean {
  return crc32(payload) === payloadCrc
}

/** Shares nothing with what it is read from. */
export function decode(payload: Buffer, genesis: Genesis): Change {
  const type = types.get(payload[0]!)
  const body = payload.subarray(1)
  switch (type) {
    case 'group':
      return { type, bytes: new Uint8Array(body) }
    case 'block':
      if (body.length !== 8) throw new RecordError('the time of a block has 8 bytes')
      return { type, timestamp: body.readBigUInt64BE() }
    case 'clock':
      return { type, clock: ClockJson.fromJson(new Member(JSON.parse(body.toString()), () => 'clock')) }
    case 'gift':
      return giftOf(new Member(JSON.parse(body.toString()), () => 'gift'))
    case 'moment':
      return { type, moment: Dump.read(body.toString(), genesis) }
    case 'reset':
      return { type }
    default:
      throw new RecordError(`changes of type ${payload[0]} are not known`)
  }
}

function giftJson({ to, microAlgos, assets }: Gift): object {
  return {
    to: Key.address(to),
    microAlgos: microAlgos.toString(),
    assets: assets.map(({ assetId, amount }) => ({ assetId: assetId.toString(), amount: amount.toString() })),
  }
}

function giftOf(member: Member): Gift {
  const { to, microAlgos, assets } = member.object(['to', 'microAlgos', 'assets'])
  return {
    type: 'gift',
    to: to.address(),
    microAlgos: microAlgos.unsigned(),
    assets: assets.list().map((one) => {
      const { assetId, amount } = one.object(['assetId', 'amount'])
      return { assetId: assetId.unsigned(), amount: amount.unsigned() }
    }),
  }
}

export class RecordError extends Error {
  override name = 'RecordError'
}

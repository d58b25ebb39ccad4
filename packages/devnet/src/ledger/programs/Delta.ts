/** The changes of an application call, as blocks contain them (`dt`). */
import { Bytes, Msgpack, Submission } from '@latchkey/algorand'
import type { Effects, EvalDelta, InnerTransaction, ValueChange } from '@latchkey/avm'
import type { Outcome } from '../apply/Context.js'
import * as MapKey from '../MapKey.js'
import * as avm from './avm.js'

/** The outcome of a transaction with these effects. */
export function outcomeOf({ delta, ...effects }: Effects): Outcome {
  return delta === undefined ? effects : { ...effects, delta: avm.get().encodeDelta(delta) }
}

/** The number of inner transactions in an encoded delta, those of nested calls included. */
export function countInner(delta: Uint8Array | undefined): number {
  return innersOf(delta).length
}

/** All inner transactions in an encoded delta, each before those that it made. */
export function innersOf(delta: Uint8Array | undefined): InnerTransaction[] {
  return delta === undefined ? [] : flattened(decode(delta))
}

function flattened({ inners }: EvalDelta): InnerTransaction[] {
  return inners.flatMap((inner) => [
    inner,
    ...(inner.effects.delta === undefined ? [] : flattened(inner.effects.delta)),
  ])
}

/** Calls of applications are at most eight deep, below the top. */
const maxDepth = 16

/**
 * Reads an encoded delta.
 *
 * @throws DecodeError
 */
export function decode(delta: Uint8Array): EvalDelta {
  const reader = new Msgpack.Reader(delta)
  const value = readDelta(reader, 0)
  if (reader.remaining > 0) throw new Msgpack.DecodeError('data after the delta')
  return value
}

function readDelta(reader: Msgpack.Reader, depth: number): EvalDelta {
  if (depth > maxDepth) throw new Msgpack.DecodeError('nested too deeply')
  const delta: EvalDelta = { globals: new Map(), locals: new Map(), sharedAccounts: [], logs: [], inners: [] }
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    switch (name) {
      case 'gd':
        readChanges(reader, delta.globals)
        break
      case 'itx':
        for (let inners = reader.arrayHeader(); inners > 0; inners--) delta.inners.push(readInner(reader, depth))
        break
      case 'ld':
        for (let locals = reader.mapHeader(); locals > 0; locals--) {
          const changes = new Map<MapKey.MapKey, ValueChange>()
          delta.locals.set(Number(reader.uint()), changes)
          readChanges(reader, changes)
        }
        break
      case 'lg':
        for (let logs = reader.arrayHeader(); logs > 0; logs--) delta.logs.push(reader.view().slice())
        break
      case 'sa':
        for (let accounts = reader.arrayHeader(); accounts > 0; accounts--) {
          delta.sharedAccounts.push(MapKey.of(reader.bin()))
        }
        break
      default:
        throw new Msgpack.DecodeError(`unknown member ${name}`)
    }
  }
  return delta
}

function readChanges(reader: Msgpack.Reader, changes: Map<MapKey.MapKey, ValueChange>): void {
  for (let left = reader.mapHeader(); left > 0; left--) changes.set(MapKey.of(reader.view()), readChange(reader))
}

const setBytes = 1n
const setInteger = 2n

function readChange(reader: Msgpack.Reader): ValueChange {
  let action = 0n
  let bytes = new Uint8Array()
  let integer = 0n
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name === 'at') action = reader.uint()
    else if (name === 'bs') bytes = new Uint8Array(reader.view())
    else if (name === 'ui') integer = reader.uint()
    else throw new Msgpack.DecodeError(`unknown member ${name}`)
  }
  if (action === setBytes) return bytes
  return action === setInteger ? integer : undefined
}

/** An array of one member, `txn`, in front of a transaction makes a signed transaction without a signature. */
const unsigned = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e)

function readInner(reader: Msgpack.Reader, depth: number): InnerTransaction {
  const effects: Effects = {}
  let txn: InnerTransaction['txn'] | undefined
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name === 'aca') effects.assetClosingAmount = reader.uint()
    else if (name === 'apid') effects.createdAppId = reader.uint()
    else if (name === 'ca') effects.closingAmount = reader.uint()
    else if (name === 'caid') effects.createdAssetId = reader.uint()
    else if (name === 'dt') effects.delta = readDelta(reader, depth + 1)
    else if (name === 'txn') {
      const start = reader.position
      reader.skip()
      txn = Submission.decodeFirst(signedOf(reader.bytes.subarray(start, reader.position))).signed.txn
    } else throw new Msgpack.DecodeError(`unknown member ${name}`)
  }
  if (txn === undefined) throw new Msgpack.DecodeError('an inner transaction has no member txn')
  return { txn, effects }
}

function signedOf(transaction: Uint8Array): Uint8Array {
  return Bytes.concat([unsigned, transaction])
}

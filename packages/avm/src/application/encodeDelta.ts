/** Encodes the changes of application calls as blocks contain them. */
import { Msgpack, Transaction } from '@latchkey/algorand'
import { type ByteKey, bytes } from './ByteKey.js'
import type { Effects, EvalDelta, InnerTransaction, ValueChange } from './Effects.js'

type Entry = readonly [name: string, write: (writer: Msgpack.Writer) => unknown]

/** The members of a block entry that follow from the effects, in order, apart from those of the signed transaction. */
export function effectEntries(effects: Effects): Entry[] {
  const { assetClosingAmount, createdAppId, closingAmount, createdAssetId, delta } = effects
  return present([
    integer('aca', assetClosingAmount),
    integer('apid', createdAppId),
    integer('ca', closingAmount),
    integer('caid', createdAssetId),
    delta === undefined ? undefined : (['dt', (writer) => writer.raw(encodeDelta(delta))] as const),
  ])
}

/** The canonical encoding of a delta (`dt`). */
export function encodeDelta({ globals, locals, sharedAccounts, logs, inners }: EvalDelta): Uint8Array {
  const writer = new Msgpack.Writer()
  writeMap(
    writer,
    present([
      globals.size === 0 ? undefined : (['gd', (to) => writeChanges(to, globals)] as const),
      inners.length === 0 ? undefined : list('itx', inners, writeInner),
      locals.size === 0 ? undefined : (['ld', (to) => writeLocals(to, locals)] as const),
      // Logs, keys and values are texts on the wire, whatever bytes they have.
      logs.length === 0 ? undefined : list('lg', logs, (to, log) => to.strBytes(log)),
      sharedAccounts.length === 0 ? undefined : list('sa', sharedAccounts, (to, key) => to.bin(bytes(key))),
    ]),
  )
  return writer.bytes().slice()
}

function present(entries: readonly (Entry | undefined)[]): Entry[] {
  return entries.filter((entry) => entry !== undefined)
}

function integer(name: string, value: bigint | undefined): Entry | undefined {
  return value === undefined || value === 0n ? undefined : [name, (writer) => writer.uint(value)]
}

function list<T>(name: string, items: readonly T[], write: (writer: Msgpack.Writer, item: T) => unknown): Entry {
  return [
    name,
    (writer) => {
      writer.arrayHeader(items.length)
      for (const item of items) write(writer, item)
    },
  ]
}

function writeMap(writer: Msgpack.Writer, entries: readonly Entry[]): void {
  writer.mapHeader(entries.length)
  for (const [name, write] of entries) {
    writer.str(name)
    write(writer)
  }
}

function writeLocals(writer: Msgpack.Writer, locals: EvalDelta['locals']): void {
  writer.mapHeader(locals.size)
  for (const [index, changes] of [...locals].sort(([a], [b]) => a - b)) {
    writer.uint(index)
    writeChanges(writer, changes)
  }
}

function writeChanges(writer: Msgpack.Writer, changes: ReadonlyMap<ByteKey, ValueChange>): void {
  writer.mapHeader(changes.size)
  for (const [key, change] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    writer.strBytes(bytes(key))
    writeMap(writer, changeEntries(change))
  }
}

const setBytes = 1n
const setInteger = 2n
const deletion = 3n

function changeEntries(change: ValueChange): Entry[] {
  if (change === undefined) return [['at', (writer) => writer.uint(deletion)]]
  if (typeof change === 'bigint') return present([integer('at', setInteger), integer('ui', change)])
  const entries = present([integer('at', setBytes)])
  if (change.length > 0) entries.push(['bs', (writer) => writer.strBytes(change)])
  return entries
}

function writeInner(writer: Msgpack.Writer, { txn, effects }: InnerTransaction): void {
  writeMap(writer, [...effectEntries(effects), ['txn', (to) => to.raw(Transaction.encode(txn))]])
}

/**
 * The transactions of all kept blocks, in order, and those of each account and asset. Follows the ledger block by
 * block, so that a search needs no decoding. After a revert only the blocks that differ are indexed again.
 */
import { Hash, Submission, type Transaction } from '@latchkey/algorand'
import type * as Block from '../ledger/Block.js'
import type { Ledger } from '../ledger/Ledger.js'
import type { SignatureType } from '../ledger/Lifetimes.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import { PostingList } from './PostingList.js'
import * as Roles from './Roles.js'

/** The data that filters use. Everything else is decoded when it is shown. */
export type Entry = {
  readonly block: Block.Block
  /** The position in the block. */
  readonly intra: number
  readonly type: string
  readonly signature: SignatureType | undefined
  /** The asset that the transaction creates, changes or moves, or the application that it calls; otherwise 0. */
  readonly assetId: bigint
  /** Undefined for zero, as in an indexer's database. */
  readonly microAlgos: bigint | undefined
  readonly assetAmount: bigint | undefined
  readonly isRekey: boolean
  readonly group: MapKey.MapKey | undefined
  /** The position of the note in the signed transaction. */
  readonly noteStart: number
  readonly noteBytes: number
  /** The lists of its accounts and its asset. */
  readonly lists: readonly PostingList[]
}

/** A range of sequence numbers; the second is exclusive. */
export type Range = { readonly low: number; readonly high: number }

export class TransactionIndex {
  readonly #ledger: Ledger
  #entries: Entry[] = []
  /** The number of entries dropped from the start but not yet removed from `#entries`. */
  #start = 0
  /** The sequence number of `#entries[0]`. */
  #base = 0
  /** The indexed blocks, oldest first. `#firstBlock` corresponds to `#start` above. */
  #blocks: Block.Block[] = []
  #firstBlock = 0
  readonly #byAccount = new Map<MapKey.MapKey, PostingList>()
  readonly #byAsset = new Map<bigint, PostingList>()
  /** Changes when sequence numbers are assigned to other transactions, after a revert. */
  revision = 0

  constructor(ledger: Ledger) {
    this.#ledger = ledger
    this.#restore()
    ledger.observe({
      onBlock: (block, applied) => {
        this.#add(block, (intra) => applied[intra]!.transaction.signed)
        this.#dropBefore(ledger.oldestRound)
      },
      onRestore: () => this.#restore(),
    })
  }

  /** All sequence numbers. */
  get range(): Range {
    return { low: this.#base + this.#start, high: this.#base + this.#entries.length }
  }

  entry(sequence: number): Entry | undefined {
    return sequence < this.#base + this.#start ? undefined : this.#entries[sequence - this.#base]
  }

  ofAccount(key: MapKey.MapKey): PostingList | undefined {
    return this.#byAccount.get(key)
  }

  ofAsset(assetId: bigint): PostingList | undefined {
    return this.#byAsset.get(assetId)
  }

  /** Returns the sequence number of a transaction in a kept block. */
  find(key: MapKey.MapKey): number | undefined {
    const round = this.#ledger.roundOf(key)
    if (round === undefined) return undefined
    const first = this.firstWhere(({ block }) => block.round >= round)
    const intra = this.entry(first)?.block.transactions.findIndex((one) => one.key === key) ?? -1
    return intra < 0 ? undefined : first + intra
  }

  findById(id: string): Entry | undefined {
    const digest = Hash.fromText(id)
    const sequence = digest && this.find(MapKey.of(digest))
    return sequence === undefined ? undefined : this.entry(sequence)
  }

  /**
   * Returns the first sequence number whose entry satisfies the condition, which all later entries must satisfy too.
   */
  firstWhere(isReached: (entry: Entry) => boolean): number {
    let { low, high } = this.range
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (isReached(this.#entries[middle - this.#base]!)) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Keeps the index of unchanged blocks, which snapshots share. */
  #restore(): void {
    const { oldestRound, last } = this.#ledger
    this.revision++
    const isKept = (block: Block.Block): boolean => this.#ledger.block(block.round) === block
    while (this.#blocks.length > this.#firstBlock && !isKept(this.#blocks.at(-1)!)) this.#dropLastBlock()
    this.#dropBefore(oldestRound)
    // Nothing is left, or dropped blocks came back before the indexed ones.
    const oldest = this.#blocks[this.#firstBlock]
    if (oldest === undefined || oldest.round > oldestRound) this.#clear()
    const next = (this.#blocks.at(-1)?.round ?? oldestRound - 1n) + 1n
    for (let round = next; round <= last.round; round++) {
      const block = this.#ledger.block(round)!
      this.#add(block, (intra) => Submission.decodeFirst(block.transactions[intra]!.signed).signed)
    }
  }

  #add(block: Block.Block, signedAt: (intra: number) => Submission.Submitted): void {
    this.#blocks.push(block)
    for (let intra = 0; intra < block.transactions.length; intra++) this.#addEntry(block, intra, signedAt(intra))
  }

  #addEntry(block: Block.Block, intra: number, signed: Submission.Submitted): void {
    const { txn } = signed
    const { outcome, signed: bytes } = block.transactions[intra]!
    const sequence = this.#base + this.#entries.length
    const assetId = outcome.createdAssetId ?? outcome.createdAppId ?? assetOf(txn)
    const lists: PostingList[] = []
    for (const [key, roles] of rolesOf(txn, outcome.delta)) lists.push(pushTo(this.#byAccount, key, sequence, roles))
    if (assetId !== 0n) lists.push(pushTo(this.#byAsset, assetId, sequence, 0))
    this.#entries.push({
      block,
      intra,
      type: txn.type,
      signature: signatureOf(signed),
      assetId,
      microAlgos: txn.amt,
      assetAmount: txn.aamt,
      isRekey: txn.rekey !== undefined,
      group: txn.grp && MapKey.of(txn.grp),
      noteStart: notePosition(txn.note, bytes),
      noteBytes: txn.note?.length ?? 0,
      lists,
    })
  }

  #dropBefore(round: bigint): void {
    while (this.#firstBlock < this.#blocks.length && this.#blocks[this.#firstBlock]!.round < round) {
      for (let left = this.#blocks[this.#firstBlock]!.transactions.length; left > 0; left--) this.#dropFirst()
      this.#firstBlock++
    }
    if (this.#start * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#start)
      this.#base += this.#start
      this.#start = 0
    }
    if (this.#firstBlock * 2 > this.#blocks.length) {
      this.#blocks = this.#blocks.slice(this.#firstBlock)
      this.#firstBlock = 0
    }
  }

  #dropFirst(): void {
    const entry = this.#entries[this.#start]!
    for (const list of entry.lists) list.dropFirst()
    this.#removeEmptyLists(entry)
    this.#start++
  }

  #dropLastBlock(): void {
    const block = this.#blocks.pop()!
    for (let left = block.transactions.length; left > 0; left--) {
      const entry = this.#entries.pop()!
      for (const list of entry.lists) list.dropLast()
      this.#removeEmptyLists(entry)
    }
  }

  /** Rare, so the accounts are decoded again instead of being stored with every entry. */
  #removeEmptyLists({ block, intra, assetId, lists }: Entry): void {
    if (lists.every(({ size }) => size > 0)) return
    const { signed, outcome } = block.transactions[intra]!
    const { txn } = Submission.decodeFirst(signed).signed
    for (const key of rolesOf(txn, outcome.delta).keys())
      if (this.#byAccount.get(key)?.size === 0) this.#byAccount.delete(key)
    if (this.#byAsset.get(assetId)?.size === 0) this.#byAsset.delete(assetId)
  }

  #clear(): void {
    this.#byAccount.clear()
    this.#byAsset.clear()
    this.#entries = []
    this.#blocks = []
    this.#start = 0
    this.#firstBlock = 0
    this.#base = 0
  }
}

function pushTo<K>(index: Map<K, PostingList>, key: K, sequence: number, roles: number): PostingList {
  let list = index.get(key)
  if (list === undefined) {
    list = new PostingList()
    index.set(key, list)
  }
  list.push(sequence, roles)
  return list
}

/** The accounts of a transaction and of its inner transactions, by which it is found. */
function rolesOf(txn: Transaction.Transaction, delta: Uint8Array | undefined): Map<MapKey.MapKey, number> {
  const all = Roles.of(txn)
  for (const inner of Delta.innersOf(delta)) {
    for (const [key, roles] of Roles.of(inner.txn)) all.set(key, (all.get(key) ?? 0) | roles)
  }
  return all
}

function assetOf({ type, caid, xaid, faid, apid }: Transaction.Transaction): bigint {
  if (type === 'appl') return apid ?? 0n
  if (type === 'acfg') return caid ?? 0n
  if (type === 'axfer') return xaid ?? 0n
  return type === 'afrz' ? (faid ?? 0n) : 0n
}

function signatureOf({ sig, msig, lsig }: Submission.Submitted): SignatureType | undefined {
  if (sig !== undefined) return 'sig'
  if (msig !== undefined) return 'msig'
  return lsig === undefined ? undefined : 'lsig'
}

/** Any position with the same bytes suffices. */
function notePosition(note: Transaction.Transaction['note'], signed: Uint8Array): number {
  if (note === undefined) return 0
  return Buffer.from(signed.buffer, signed.byteOffset, signed.byteLength).indexOf(note)
}

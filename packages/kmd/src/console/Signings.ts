/**
 * What was signed since the daemon started, for people to look over. Signing is what the daemon does most, so keeping
 * a transaction is a copy of its bytes; what it says and what its id is are worked out when somebody asks.
 */
import { Address, Transaction, Words } from '@latchkey/algorand'

export type Kept = {
  readonly number: number
  readonly atMs: number
  /** The id of the wallet, one character a byte. */
  readonly walletKey: string
  readonly isMultisig: boolean
  readonly facts: Facts
}

/** What a transaction says, as far as a list shows it. */
export type Facts = {
  readonly transactionId: string
  readonly type: string
  readonly sender: string
  /** Blank where there is none. */
  readonly receiver: string
  /** In the smallest unit of the asset. */
  readonly amount: bigint
  /** 0 for Algos. */
  readonly assetId: bigint
  readonly feeMicroAlgos: bigint
  readonly warnings: readonly string[]
}

export type SigningsOptions = {
  /** How many are kept, and how many bytes of transactions that nobody has asked about yet. */
  limit?: number
  limitBytes?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

type Entry = {
  number: number
  atMs: number
  walletKey: string
  isMultisig: boolean
  /** Where the transaction lies, until it is read. */
  slab: Uint8Array | undefined
  at: number
  length: number
  facts: Facts | undefined
}

export class Signings {
  readonly #limit: number
  readonly #limitBytes: number
  readonly #now: () => number
  /** A ring: the entry of a number is at the remainder of it. */
  readonly #ring: (Entry | undefined)[]
  /** Transactions lie one behind the other: an allocation for each would cost more than everything else here. */
  #slab = new Uint8Array(0)
  #used = 0
  #first = 1
  #last = 0
  #bytes = 0

  constructor({ limit = 1_000, limitBytes = 4 * 1024 * 1024, now = Date.now }: SigningsOptions = {}) {
    this.#limit = limit
    this.#limitBytes = limitBytes
    this.#now = now
    this.#ring = new Array<Entry | undefined>(limit).fill(undefined)
  }

  /** `canonical` is copied: it may lie in memory that holds more than the transaction. */
  add(walletKey: string, canonical: Uint8Array, isMultisig: boolean): void {
    const { length } = canonical
    this.#bytes += length
    while (this.#first <= this.#last && (this.#isFull() || this.#bytes > this.#limitBytes)) this.#drop()
    const at = this.#place(length)
    const slab = this.#slab
    slab.set(canonical, at)
    const number = ++this.#last
    const entry = { number, atMs: this.#now(), walletKey, isMultisig, slab, at, length, facts: undefined }
    this.#ring[number % this.#limit] = entry
  }

  /** Those with higher numbers than the one given, oldest first. */
  after(number: number): Kept[] {
    const kept: Kept[] = []
    for (let n = Math.max(this.#first, number + 1); n <= this.#last; n++) {
      const entry = this.#ring[n % this.#limit]!
      const { atMs, walletKey, isMultisig } = entry
      kept.push({ number: n, atMs, walletKey, isMultisig, facts: this.#read(entry) })
    }
    return kept
  }

  /** Where in the slab there is room. A full one is let go when nothing in it is kept any more. */
  #place(length: number): number {
    if (this.#used + length > this.#slab.length) {
      this.#slab = new Uint8Array(Math.max(slabBytes, length))
      this.#used = 0
    }
    const at = this.#used
    this.#used += length
    return at
  }

  #isFull(): boolean {
    return this.#last - this.#first + 1 >= this.#limit
  }

  #drop(): void {
    const place = this.#first++ % this.#limit
    const { slab, length } = this.#ring[place]!
    if (slab !== undefined) this.#bytes -= length
    this.#ring[place] = undefined
  }

  /** Once for each: the bytes are let go. */
  #read(entry: Entry): Facts {
    if (entry.facts === undefined) {
      entry.facts = factsOf(entry.slab!.subarray(entry.at, entry.at + entry.length))
      entry.slab = undefined
      this.#bytes -= entry.length
    }
    return entry.facts
  }
}

const slabBytes = 64 * 1024
const nobody = new Uint8Array(32)

function factsOf(canonical: Uint8Array): Facts {
  const transaction = Transaction.decode(canonical)
  const common = {
    transactionId: Transaction.id(canonical),
    type: transaction.type,
    sender: Address.encode(transaction.snd),
    feeMicroAlgos: transaction.fee ?? 0n,
    warnings: Words.describe(transaction).finalWarnings,
  }
  const receiver = (key: Uint8Array | undefined): string => Address.encode(key ?? nobody)
  switch (transaction.type) {
    case 'pay':
      return { ...common, receiver: receiver(transaction.rcv), amount: transaction.amt ?? 0n, assetId: 0n }
    case 'axfer': {
      const { arcv, aamt = 0n, xaid = 0n } = transaction
      return { ...common, receiver: receiver(arcv), amount: aamt, assetId: xaid }
    }
    case 'acfg':
      return { ...common, receiver: '', amount: 0n, assetId: transaction.caid ?? 0n }
    case 'afrz':
      return { ...common, receiver: '', amount: 0n, assetId: transaction.faid ?? 0n }
    default:
      return { ...common, receiver: '', amount: 0n, assetId: 0n }
  }
}

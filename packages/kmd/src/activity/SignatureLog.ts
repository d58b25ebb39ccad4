/**
 * Records the signatures since the daemon started, for the console. Signing is the daemon's hot path, so recording a
 * transaction only copies its bytes; its id and description are computed when they are read.
 */
import { Address, Description, Program, Transaction } from '@latchkey/algorand'

/** A signature made by the daemon. */
export type SignatureRecord = {
  readonly number: number
  readonly atMs: number
  /** The wallet's id with one character per byte. */
  readonly walletKey: string
  readonly isMultisig: boolean
  readonly facts: Facts
}

/** The parts of a transaction that the list shows. For a program: its address, the account, and a warning. */
export type Facts = {
  /** Blank for a program. */
  readonly transactionId: string
  /** The address of a program (the hash of its bytes); blank for a transaction. */
  readonly program: string
  /** `program` for a program. */
  readonly type: string
  /** The account that pays; for a program, the account that it may act for. */
  readonly sender: string
  /** Blank if there is none. */
  readonly receiver: string
  /** In the smallest unit of the asset. */
  readonly amount: bigint
  /** 0 for Algos. */
  readonly assetId: bigint
  readonly feeMicroAlgos: bigint
  readonly warnings: readonly string[]
}

export type SignatureLogOptions = {
  /** The maximum number of records, and of bytes of transactions that were not read yet. */
  limit?: number
  limitBytes?: number
  /** Milliseconds since 1970. */
  now?: () => number
  /** Called after each record. Its duration adds to the time of each signature. */
  onAdd?: (() => void) | undefined
}

/** Reused for each slot, because an allocation for every signature would cost more than the copy. */
type Entry = {
  atMs: number
  walletKey: string
  isMultisig: boolean
  isProgram: boolean
  /** Starts with the transaction, or with a program's hash and account, until they are read. */
  bytes: Uint8Array
  length: number
  facts: Facts | undefined
}

export class SignatureLog {
  readonly #limit: number
  readonly #limitBytes: number
  readonly #now: () => number
  readonly #onAdd: (() => void) | undefined
  /** A ring buffer: record n is at n modulo its size. */
  readonly #ring: Entry[] = []
  #first = 1
  #last = 0
  #bytes = 0

  constructor({ limit = 1_000, limitBytes = 4 * 1024 * 1024, now = Date.now, onAdd }: SignatureLogOptions = {}) {
    this.#limit = limit
    this.#limitBytes = limitBytes
    this.#now = now
    this.#onAdd = onAdd
  }

  /** The number of the latest record; 0 if there is none. */
  get lastNumber(): number {
    return this.#last
  }

  /** Copies `canonical`, because it may be in memory that holds more than the transaction. */
  add(walletKey: string, canonical: Uint8Array, isMultisig: boolean): void {
    this.#add(walletKey, canonical, isMultisig, false)
  }

  /**
   * Keeps only the program's hash, because programs may be large. `account` is the account that the program may act
   * for.
   */
  addProgram(walletKey: string, program: Uint8Array, account: Uint8Array, isMultisig: boolean): void {
    this.#add(walletKey, Buffer.concat([Program.address(program), account]), isMultisig, true)
  }

  #add(walletKey: string, canonical: Uint8Array, isMultisig: boolean, isProgram: boolean): void {
    const { length } = canonical
    this.#bytes += length
    while (this.#first <= this.#last && (this.#isFull() || this.#bytes > this.#limitBytes)) this.#drop()
    const entry = this.#entry(this.#last + 1)
    if (entry.bytes.length < length) entry.bytes = new Uint8Array(Math.max(usualBytes, length))
    entry.bytes.set(canonical)
    entry.length = length
    entry.atMs = this.#now()
    entry.walletKey = walletKey
    entry.isMultisig = isMultisig
    entry.isProgram = isProgram
    entry.facts = undefined
    this.#last++
    this.#onAdd?.()
  }

  /**
   * The records after the given number, oldest first. The first read of a record takes up to half a millisecond, so a
   * caller on the main thread should request a few at a time.
   */
  after(number: number, count = Number.POSITIVE_INFINITY): SignatureRecord[] {
    const records: SignatureRecord[] = []
    for (let n = Math.max(this.#first, number + 1); n <= this.#last && records.length < count; n++) {
      const entry = this.#entry(n)
      const { atMs, walletKey, isMultisig } = entry
      records.push({ number: n, atMs, walletKey, isMultisig, facts: this.#read(entry) })
    }
    return records
  }

  #entry(number: number): Entry {
    const place = (number - 1) % this.#limit
    const found = this.#ring[place]
    if (found !== undefined) return found
    const flags = { isMultisig: false, isProgram: false }
    const entry = { atMs: 0, walletKey: '', ...flags, bytes: nothing, length: 0, facts: undefined }
    this.#ring[place] = entry
    return entry
  }

  #isFull(): boolean {
    return this.#last - this.#first + 1 >= this.#limit
  }

  #drop(): void {
    const entry = this.#entry(this.#first++)
    entry.facts = undefined
    this.#release(entry)
  }

  /** Computes the facts once per record. */
  #read(entry: Entry): Facts {
    if (entry.facts === undefined) {
      const bytes = entry.bytes.subarray(0, entry.length)
      entry.facts = entry.isProgram ? factsOfProgram(bytes) : factsOf(bytes)
      this.#release(entry)
    }
    return entry.facts
  }

  /** Frees unusually large buffers and reuses the rest. */
  #release(entry: Entry): void {
    this.#bytes -= entry.length
    entry.length = 0
    if (entry.bytes.length > usualBytes) entry.bytes = nothing
  }
}

/** Nearly all transactions are smaller. */
const usualBytes = 512
const nothing = new Uint8Array(0)
const zeroKey = new Uint8Array(32)

/**
 * The facts that the audit log records about a signature, without the description, which would take most of the time.
 */
export type SignedFacts = Omit<Facts, 'warnings'>

/** The facts of a program that may act for an account. */
export function programFacts(program: Uint8Array, account: Uint8Array): SignedFacts {
  return factsOfProgram(Buffer.concat([Program.address(program), account]))
}

function factsOfProgram(hashAndAccount: Uint8Array): Facts {
  const sender = Address.encode(hashAndAccount.subarray(32))
  return {
    ...{ transactionId: '', program: Address.encode(hashAndAccount.subarray(0, 32)), type: 'program', sender },
    ...{ receiver: '', amount: 0n, assetId: 0n, feeMicroAlgos: 0n },
    warnings: [
      `Anyone who has the program and the signature can sign for ${sender} whatever the program allows, until the account is rekeyed.`,
    ],
  }
}

function factsOf(canonical: Uint8Array): Facts {
  const { finalWarnings: warnings } = Description.describe(Transaction.decode(canonical))
  return { ...transactionFacts(canonical), warnings }
}

/** The facts of a transaction in canonical form. */
export function transactionFacts(canonical: Uint8Array): SignedFacts {
  const transaction = Transaction.decode(canonical)
  const common = {
    transactionId: Transaction.id(canonical),
    program: '',
    type: transaction.type,
    sender: Address.encode(transaction.snd),
    feeMicroAlgos: transaction.fee ?? 0n,
  }
  const receiver = (key: Uint8Array | undefined): string => Address.encode(key ?? zeroKey)
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

/** Describing one takes up to half a millisecond. */
const perTurn = 4
/** During a flood, older signatures are skipped, because a reader could not follow them anyway. */
const maxWaiting = 64

/**
 * A log that calls `onSignature` for its records, oldest first; during a flood, only for the latest. It is called after
 * the responses, a few records at a time, so that signing does not wait.
 */
export function reportingLog(onSignature: (signature: SignatureRecord) => void): SignatureLog {
  let last = 0
  let isScheduled = false
  const report = (): void => {
    isScheduled = false
    last = Math.max(last, log.lastNumber - maxWaiting)
    for (const record of log.after(last, perTurn)) {
      last = record.number
      onSignature(record)
    }
    if (last < log.lastNumber) schedule()
  }
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(report)
  }
  const log = new SignatureLog({ onAdd: schedule })
  return log
}

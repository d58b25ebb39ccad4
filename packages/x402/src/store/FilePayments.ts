/**
 * Payments in a file of one line of JSON for each change. A line is on the disk before the payment it tells of is signed.
 * For one process at a time: another one's payments would not count.
 */
import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  defaultMaxPayments,
  MemoryPayments,
  type Payment,
  type PaymentLog,
  type PaymentState,
  type Spent,
} from '../client/Payments.js'

export type FilePaymentsOptions = {
  /** How many payments are kept one by one; those before are only counted. 10,000 unless told. */
  maxPayments?: number | undefined
}

/** The first line of a file that was written anew: what the payments that are not in it any more came to. */
type Before = { before: { microDollars: string; assets: { [key: string]: string } } }
type Change = { transactionId: string; state: PaymentState }

export class FilePayments implements PaymentLog {
  readonly #path: string
  readonly #maxPayments: number
  #memory: MemoryPayments
  #lines = 0

  constructor(path: string, { maxPayments = defaultMaxPayments }: FilePaymentsOptions = {}) {
    this.#path = path
    this.#maxPayments = maxPayments
    this.#memory = new MemoryPayments({ maxPayments })
    const text = readIfThere(path)
    // The last line may have been cut off by the end of the process that wrote it: its payment was not signed yet, or what
    // became of it is found out again.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    for (const line of whole.split('\n').slice(0, -1)) this.#read(line)
    if (whole.length < text.length) this.#rewrite()
    this.#shorten()
  }

  add(payment: Payment): void {
    this.#write(payment)
    this.#memory.add(payment)
    this.#shorten()
  }

  update(transactionId: string, state: PaymentState): void {
    if (this.#memory.get(transactionId)?.state === state) return
    this.#write({ transactionId, state } satisfies Change)
    this.#memory.update(transactionId, state)
  }

  get(transactionId: string): Payment | undefined {
    return this.#memory.get(transactionId)
  }

  all(): Payment[] {
    return this.#memory.all()
  }

  spent(): Spent {
    return this.#memory.spent()
  }

  #read(line: string): void {
    this.#lines++
    const value = parse(line)
    if (value === undefined) throw new FilePaymentsError(`line ${this.#lines} of ${this.#path} is not one of a payment`)
    if ('before' in value) this.#memory = new MemoryPayments({ maxPayments: this.#maxPayments, spent: spentOf(value) })
    else if ('payTo' in value) this.#memory.add(value)
    else this.#memory.update(value.transactionId, value.state)
  }

  #write(line: Payment | Change): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`, { mode: 0o600, flush: true })
    this.#lines++
  }

  /** A payment takes two lines, and a file twice that long is written anew: seldom, and never for long. */
  #shorten(): void {
    if (this.#lines > 4 * this.#maxPayments) this.#rewrite()
  }

  /** In whole or not at all. */
  #rewrite(): void {
    const payments = this.#memory.all()
    const lines: object[] = [beforeOf(this.#memory.spent(), payments), ...payments]
    const written = `${this.#path}.new`
    writeFileSync(written, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600, flush: true })
    renameSync(written, this.#path)
    syncDirectory(dirname(this.#path))
    this.#lines = lines.length
  }
}

function parse(line: string): Payment | Change | Before | undefined {
  try {
    const value: unknown = JSON.parse(line)
    const isKnown = typeof value === 'object' && value !== null && ('before' in value || 'transactionId' in value)
    return isKnown ? (value as Payment | Change | Before) : undefined
  } catch {
    return undefined
  }
}

function spentOf({ before: { microDollars, assets } }: Before): Spent {
  const counted = Object.entries(assets).map(([key, amount]): [string, bigint] => [key, BigInt(amount)])
  return { microDollars: BigInt(microDollars), assets: new Map(counted) }
}

/** Everything but what the payments tell that stay. */
function beforeOf(all: Spent, payments: readonly Payment[]): Before {
  const kept = new MemoryPayments({ maxPayments: payments.length })
  for (const payment of payments) kept.add(payment)
  const { microDollars, assets } = kept.spent()
  const rest = [...all.assets].map(([key, amount]) => [key, (amount - (assets.get(key) ?? 0n)).toString()])
  return {
    before: { microDollars: (all.microDollars - microDollars).toString(), assets: Object.fromEntries(rest) },
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** A name is as lasting as its directory. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

export class FilePaymentsError extends Error {
  override name = 'FilePaymentsError'
}

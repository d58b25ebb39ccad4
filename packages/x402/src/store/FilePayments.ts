/** A payment log in a file: one line of JSON for each change, synced before the payment is signed. */
import { appendFileSync, readFileSync } from 'node:fs'
import { Json } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import {
  defaultMaxPayments,
  MemoryPayments,
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
  type Spent,
} from '../client/Payments.js'

/** Options of {@link FilePayments}. */
export type FilePaymentsOptions = {
  /**
   * How many payments are kept one by one; older ones are only counted.
   *
   * @default 10_000
   */
  maxPayments?: number | undefined
}

/** The first line of a rewritten file: what the payments amount to that are no longer in it. */
type Before = { before: { microDollars: string; assets: { [key: string]: string } } }
type Change = { transactionId: string; state: PaymentState }

/**
 * A payment log in a file, so that limits over all payments hold across restarts. For one process at a time: payments of
 * another process would not count.
 *
 * @example
 * const buyer = new Buyer({ signer, chains: chain, maxTotal: '$5', payments: new FilePayments('payments.jsonl') })
 */
export class FilePayments implements PaymentLog {
  readonly #path: string
  readonly #maxPayments: number
  #memory: MemoryPayments
  #lines = 0

  /** @throws PaymentLogError if the file is not a payment log */
  constructor(path: string, { maxPayments = defaultMaxPayments }: FilePaymentsOptions = {}) {
    this.#path = path
    this.#maxPayments = maxPayments
    this.#memory = new MemoryPayments({ maxPayments })
    const text = readIfExists(path)
    // A crash can cut off the last line: its payment was not signed yet, or its state is looked up again.
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
    if (value === undefined) {
      throw new PaymentLogError('invalid_payment_log', `line ${this.#lines} of ${this.#path} is not a payment`)
    }
    if ('before' in value) this.#memory = new MemoryPayments({ maxPayments: this.#maxPayments, spent: spentOf(value) })
    else if ('payTo' in value) this.#memory.add(value)
    else this.#memory.update(value.transactionId, value.state)
  }

  #write(line: Payment | Change): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`, { mode: 0o600, flush: true })
    this.#lines++
  }

  /** A payment takes two lines; a file twice as long as its payments need is rewritten, which is rare and quick. */
  #shorten(): void {
    if (this.#lines > 4 * this.#maxPayments) this.#rewrite()
  }

  #rewrite(): void {
    const payments = this.#memory.all()
    const lines: object[] = [beforeOf(this.#memory.spent(), payments), ...payments]
    AtomicFile.replaceSync(this.#path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    this.#lines = lines.length
  }
}

function parse(line: string): Payment | Change | Before | undefined {
  try {
    const value: unknown = JSON.parse(line)
    const isKnown = Json.isObject(value) && ('before' in value || 'transactionId' in value)
    return isKnown ? (value as unknown as Payment | Change | Before) : undefined
  } catch {
    return undefined
  }
}

function spentOf({ before: { microDollars, assets } }: Before): Spent {
  const counted = Object.entries(assets).map(([key, amount]): [string, bigint] => [key, BigInt(amount)])
  return { microDollars: BigInt(microDollars), assets: new Map(counted) }
}

/** Everything that was spent, except by the payments that stay in the file. */
function beforeOf(all: Spent, payments: readonly Payment[]): Before {
  const kept = new MemoryPayments({ maxPayments: payments.length })
  for (const payment of payments) kept.add(payment)
  const { microDollars, assets } = kept.spent()
  const rest = [...all.assets].map(([key, amount]) => [key, (amount - (assets.get(key) ?? 0n)).toString()])
  return {
    before: { microDollars: (all.microDollars - microDollars).toString(), assets: Object.fromEntries(rest) },
  }
}

function readIfExists(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

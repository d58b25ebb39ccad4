/** A payment log in a file: one line of JSON for each change, synced before the payment is signed. */
import * as Lock from '@latchkey/system/lock'
import { LineFile } from './LineFile.js'
import * as PaymentLine from './PaymentLine.js'
import {
  type Change,
  defaultMaxPayments,
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
  PaymentTable,
  type Spent,
  type UnansweredPayment,
} from './Payments.js'
import * as ProcessName from './ProcessName.js'

/** Options of {@link FilePayments}. */
export type FilePaymentsOptions = {
  /**
   * How many payments are kept individually. Older payments are only counted.
   *
   * @default 10_000
   */
  maxPayments?: number | undefined
  /**
   * How long to wait while another process writes to the log, which takes milliseconds.
   *
   * @default 10_000
   */
  lockMs?: number | undefined
}

const defaultLockMs = 10_000
const lockPollMs = 10
const maxSpareLines = 1_000

/**
 * A payment log in a file, so that limits over all payments hold across restarts and for all processes that use the
 * file. Each change is made under a lock (`<path>.lock`), after reading the records of other processes. The file is
 * private, because it contains the headers that send unanswered payments again.
 *
 * @example
 * const buyer = new Buyer({ signer, chains: chain, maxTotal: '$5', payments: new FilePayments('payments.jsonl') })
 */
export class FilePayments implements PaymentLog {
  readonly #file: LineFile
  readonly #path: string
  readonly #maxPayments: number
  readonly #lockMs: number
  /**
   * A payment takes about four lines. A file much longer than its payments need is rewritten, which is rare and quick.
   */
  readonly #spareLines: number
  #table: PaymentTable
  #lines = 0
  #depth = 0

  /** @throws PaymentLogError if the file is not a payment log, or cannot be read */
  constructor(path: string, { maxPayments = defaultMaxPayments, lockMs = defaultLockMs }: FilePaymentsOptions = {}) {
    this.#path = path
    this.#maxPayments = maxPayments
    this.#lockMs = lockMs
    this.#spareLines = Math.min(maxSpareLines, 4 * maxPayments)
    this.#table = new PaymentTable(maxPayments)
    this.#file = this.#try('read', () => new LineFile(path))
    this.#refresh()
  }

  add(payment: Payment): void {
    const unanswered = { owner: ProcessName.own() }
    this.exclusive(() => {
      this.#append({ ...payment, ...unanswered })
      this.#table.add(payment, unanswered)
      if (this.#lines > 2 * this.#table.count + this.#spareLines) this.#rewrite()
    })
  }

  update(transactionId: string, state: PaymentState): void {
    if (this.#table.get(transactionId)?.state !== state) this.#change({ transactionId, state })
  }

  get(transactionId: string): Payment | undefined {
    this.#refresh()
    return this.#table.get(transactionId)
  }

  all(): Payment[] {
    this.#refresh()
    return this.#table.all()
  }

  spent(): Spent {
    this.#refresh()
    return this.#table.spent()
  }

  /** @throws PaymentLogError with the code `payment_log_locked` if another process does not release the log */
  exclusive<T>(work: () => T): T {
    if (this.#depth > 0) return work()
    const lock = this.#lock()
    this.#depth++
    try {
      this.#try('written', () => this.#file.repair())
      this.#refresh()
      return work()
    } finally {
      this.#depth--
      Lock.release(lock)
    }
  }

  keep(transactionId: string, header: string): void {
    this.#change({ transactionId, header })
  }

  resume(requestId: string, networks: readonly string[]): UnansweredPayment | undefined {
    const find = (): UnansweredPayment | undefined => this.#table.find(requestId, networks, ProcessName.isRunning)
    this.#refresh()
    // Most requests have no unanswered payment, and need no lock.
    if (find() === undefined) return undefined
    return this.exclusive(() => {
      const found = find()
      if (found !== undefined) {
        this.#change({ transactionId: found.payment.transactionId, owner: ProcessName.own() })
      }
      return found
    })
  }

  finish(transactionId: string, outcome: 'answered' | 'unanswered'): void {
    if (this.#table.get(transactionId)?.requestId === undefined) return
    this.#change({ transactionId, owner: null, header: outcome === 'answered' ? null : undefined })
  }

  #change(change: Change): void {
    this.exclusive(() => {
      if (this.#table.get(change.transactionId) === undefined) return
      this.#append(change)
      this.#table.change(change)
    })
  }

  #lock(): number {
    const endMs = performance.now() + this.#lockMs
    for (;;) {
      try {
        return Lock.take(`${this.#path}.lock`)
      } catch (error) {
        const isHeld = error instanceof Lock.LockError && error.code === 'locked'
        if (!isHeld) throw error instanceof Lock.LockError ? error : this.#unusable('written', error)
        if (performance.now() > endMs) {
          const message = `${this.#path} is locked by another process`
          throw new PaymentLogError('payment_log_locked', message, { cause: error })
        }
      }
      // Changes of the log are synchronous, so the wait is too.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockPollMs)
    }
  }

  /** Reads the records of other processes. */
  #refresh(): void {
    const { lines, isNew } = this.#try('read', () => this.#file.read())
    if (isNew) {
      this.#table = new PaymentTable(this.#maxPayments)
      this.#lines = 0
    }
    for (const line of lines) this.#take(line)
  }

  #take(text: string): void {
    this.#lines++
    const line = PaymentLine.parse(text)
    if (line === undefined) {
      // The next attempt reads the file from the start, and fails as well.
      this.#file.forget()
      throw new PaymentLogError('invalid_payment_log', `line ${this.#lines} of ${this.#path} is not a payment`)
    }
    if (line.type === 'before') this.#table = new PaymentTable(this.#maxPayments, line.spent)
    else if (line.type === 'payment') this.#table.add(line.payment, line.unanswered)
    else this.#table.change(line.change)
  }

  #append(line: object): void {
    this.#try('written', () => this.#file.append(`${JSON.stringify(line)}\n`))
    this.#lines++
  }

  #try<T>(what: 'read' | 'written', work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.#unusable(what, error)
    }
  }

  #unusable(what: 'read' | 'written', cause: unknown): PaymentLogError {
    const message = `${this.#path} cannot be ${what}: ${(cause as Error).message}`
    return new PaymentLogError('payment_log_unwritable', message, { cause })
  }

  #rewrite(): void {
    const lines = PaymentLine.linesOf(this.#table)
    this.#file.replace(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    this.#lines = lines.length
  }
}

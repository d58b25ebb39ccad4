/** A payment log in a file: one line of JSON for each change, synced before the payment is signed. */
import { readFileSync } from 'node:fs'
import { Json } from '@latchkey/algorand'
import * as Lock from '@latchkey/system/lock'
import { LineFile } from './LineFile.js'
import {
  type Change,
  type Charge,
  defaultMaxPayments,
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
  PaymentTable,
  type Spent,
  type Unanswered,
  type UnansweredPayment,
} from './Payments.js'

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
    const unanswered = { owner: ownProcess() }
    this.exclusive(() => {
      this.#append({ ...payment, ...unanswered })
      this.#table.add(payment, unanswered)
      if (this.#lines > 2 * this.#table.count + this.#spareLines) this.#rewrite()
    })
  }

  update(transactionId: string, state: PaymentState, charge?: Charge | undefined): void {
    if (this.#table.get(transactionId)?.state !== state) this.#change({ transactionId, state, charge })
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
    const find = (): UnansweredPayment | undefined => this.#table.find(requestId, networks, isRunningProcess)
    this.#refresh()
    // Most requests have no unanswered payment, and need no lock.
    if (find() === undefined) return undefined
    return this.exclusive(() => {
      const found = find()
      if (found !== undefined) {
        this.#change({ transactionId: found.payment.transactionId, owner: ownProcess() })
      }
      return found
    })
  }

  finish(transactionId: string, outcome: 'answered' | 'unanswered'): void {
    if (this.#table.get(transactionId)?.requestId === undefined) return
    this.#change({ transactionId, owner: null, header: outcome === 'answered' ? null : undefined })
  }

  keepReceipt(transactionId: string, signedReceipt: string): void {
    if (this.#table.get(transactionId)?.signedReceipt === undefined) this.#change({ transactionId, signedReceipt })
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
    const line = parseLine(text)
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
    const lines = linesOf(this.#table)
    this.#file.replace(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    this.#lines = lines.length
  }
}

let ownName: string | undefined

/** The name of this process. */
export function ownProcess(): string {
  ownName ??= `${process.pid} ${startOf(process.pid) ?? ''}`.trim()
  return ownName
}

/** Whether the process with this name is still running. */
export function isRunningProcess(name: string): boolean {
  const [pid, start] = name.split(' ')
  if (start !== undefined) return startOf(Number(pid)) === start
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * When a running process was started, in ticks since boot; undefined if the system does not report it. A process that
 * has ended stays in the table until its parent collects it, which in a container without an init may be never.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // proc(5): fields 3 and 22. The second field, the name of the program, is in parentheses and can have spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return /^[ZX]$/.test(fields[0] ?? '') ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** The first line of a rewritten file: the totals of the payments that are no longer in it. */
type Before = { before: { microDollars: string; assets: { [key: string]: string } } }

type Line =
  | { readonly type: 'before'; readonly spent: Spent }
  | { readonly type: 'payment'; readonly payment: Payment; readonly unanswered: Unanswered }
  | { readonly type: 'change'; readonly change: Change }

/** Parses a line; undefined if it is not a line of a payment log. */
function parseLine(text: string): Line | undefined {
  const value = Json.parseObject(text)
  if (value === undefined) return undefined
  if ('before' in value) return isBefore(value) ? { type: 'before', spent: spentOf(value) } : undefined
  if (!isChange(value)) return undefined
  if (!('payTo' in value)) return { type: 'change', change: value }
  if (!isPayment(value)) return undefined
  const { header, owner, ...payment } = value as Payment & Change
  return { type: 'payment', payment, unanswered: { header: header ?? undefined, owner: owner ?? undefined } }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): boolean => isText(value) && /^[0-9]+$/.test(value)
const states: readonly unknown[] = ['open', 'settled', 'expired'] satisfies PaymentState[]

function isBefore(value: Json.Members): value is Json.Members & Before {
  const { before } = value
  if (!Json.isObject(before) || !isCount(before['microDollars'])) return false
  return Json.isObject(before['assets']) && Object.values(before['assets']).every(isCount)
}

function isChange(value: Json.Members): value is Json.Members & Change {
  const { transactionId, state = 'open', header, owner, signedReceipt, charge } = value
  const isReadable = [header, owner, signedReceipt].every((one) => isText(one ?? ''))
  return isText(transactionId) && states.includes(state) && isReadable && (charge === undefined || isCharge(charge))
}

function isCharge(value: unknown): boolean {
  if (!Json.isObject(value)) return false
  const { amount, microDollars = '0', transactionId = '' } = value
  return isCount(amount) && isCount(microDollars) && isText(transactionId)
}

/** A line with these members is a payment. Totals and ledger lookups depend on them. */
function isPayment(value: Json.Members): value is Json.Members & Payment {
  const { amount, microDollars = '0', firstValid, lastValid, signedMs } = value
  const { state, network, url, payTo, asset, requestId = '' } = value
  if (![amount, microDollars, firstValid, lastValid].every(isCount)) return false
  return [state, network, url, payTo, asset, requestId].every(isText) && typeof signedMs === 'number'
}

/** The lines of a new file with everything in a table. */
function linesOf(table: PaymentTable): object[] {
  const payments = table.all()
  const lines = payments.map((payment) => ({ ...payment, ...table.unanswered(payment.transactionId) }))
  return [beforeOf(table.spent(), payments), ...lines]
}

function spentOf({ before: { microDollars, assets } }: Before): Spent {
  const counted = Object.entries(assets).map(([key, amount]): [string, bigint] => [key, BigInt(amount)])
  return { microDollars: BigInt(microDollars), assets: new Map(counted) }
}

/** All amounts spent, except for the payments that stay in the file. */
function beforeOf(all: Spent, payments: readonly Payment[]): Before {
  const kept = new PaymentTable(payments.length)
  for (const payment of payments) kept.add(payment, {})
  const { microDollars, assets } = kept.spent()
  const rest = [...all.assets].map(([key, amount]) => [key, (amount - (assets.get(key) ?? 0n)).toString()])
  return {
    before: { microDollars: (all.microDollars - microDollars).toString(), assets: Object.fromEntries(rest) },
  }
}

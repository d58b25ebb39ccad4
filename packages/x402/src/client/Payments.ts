/** Every payment a buyer signed, so that none is forgotten and none made twice. */

export type PaymentState =
  /** Signed; whether it was or will be settled is not known. */
  | 'open'
  | 'settled'
  /** It can never be settled any more. */
  | 'expired'

export type Payment = {
  readonly transactionId: string
  readonly network: string
  readonly url: string
  readonly payTo: string
  readonly asset: string
  readonly amount: string
  /** What it is worth in millionths of a dollar, if it is in dollars. */
  readonly microDollars: string | undefined
  /** The first and the last round in which it can be settled. */
  readonly firstValid: string
  readonly lastValid: string
  readonly signedMs: number
  readonly state: PaymentState
}

/** What was paid or may still be, by all payments there ever were. */
export type Spent = {
  readonly microDollars: bigint
  /** In base units, by `assetKey`. */
  readonly assets: ReadonlyMap<string, bigint>
}

export type PaymentLog = {
  /** Before it is signed. */
  readonly add: (payment: Payment) => void
  readonly update: (transactionId: string, state: PaymentState) => void
  readonly get: (transactionId: string) => Payment | undefined
  /** The latest ones, the earliest of them first. */
  readonly all: () => readonly Payment[]
  /** Follows every change at once, so that two payments at the same time cannot both be the last within a limit. */
  readonly spent: () => Spent
}

export type MemoryPaymentsOptions = {
  /** How many payments are remembered one by one; those before are only counted. 10,000 unless told. */
  maxPayments?: number | undefined
  spent?: Spent | undefined
}

export const defaultMaxPayments = 10_000

export class MemoryPayments implements PaymentLog {
  readonly #payments = new Map<string, Payment>()
  readonly #maxPayments: number
  readonly #assets: Map<string, bigint>
  #microDollars: bigint

  constructor({ maxPayments = defaultMaxPayments, spent }: MemoryPaymentsOptions = {}) {
    this.#maxPayments = maxPayments
    this.#microDollars = spent?.microDollars ?? 0n
    this.#assets = new Map(spent?.assets)
  }

  add(payment: Payment): void {
    this.#payments.set(payment.transactionId, payment)
    if (payment.state !== 'expired') this.#count(payment, 1n)
    // Whatever became of the one that is forgotten, it stays counted.
    if (this.#payments.size > this.#maxPayments) this.#payments.delete(this.#payments.keys().next().value!)
  }

  update(transactionId: string, state: PaymentState): void {
    const payment = this.#payments.get(transactionId)
    // Only what is open changes: what the ledger has decided stays as it is.
    if (payment?.state !== 'open' || state === 'open') return
    this.#payments.set(transactionId, { ...payment, state })
    if (state === 'expired') this.#count(payment, -1n)
  }

  get(transactionId: string): Payment | undefined {
    return this.#payments.get(transactionId)
  }

  all(): Payment[] {
    return [...this.#payments.values()]
  }

  spent(): Spent {
    return { microDollars: this.#microDollars, assets: this.#assets }
  }

  #count(payment: Payment, sign: 1n | -1n): void {
    const key = assetKey(payment.network, payment.asset)
    this.#assets.set(key, (this.#assets.get(key) ?? 0n) + sign * BigInt(payment.amount))
    this.#microDollars += sign * BigInt(payment.microDollars ?? 0)
  }
}

/** The same number is another asset on another network. */
export function assetKey(network: string, asset: string): string {
  return `${network} ${asset}`
}

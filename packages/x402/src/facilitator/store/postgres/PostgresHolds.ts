import { Batches, maxWaitMs } from '../../../db/postgres/Batches.js'
import type { PostgresConnection } from '../../../db/postgres/PostgresConnection.js'
import { isOfItem } from '../../../db/postgres/PostgresError.js'
import { StoreError } from '../../../db/StoreError.js'
import type { HoldResult, HoldStore, PaymentHold, SettlementLimits } from '../Settlement.js'
import type { Settlement } from '../Settlements.js'
import { claimantStatements } from './claimants.js'
import { limitsOf, limitValues } from './settlementRows.js'

type Item = { readonly hold: PaymentHold; readonly limits: SettlementLimits }

type Row = {
  readonly n: number
  readonly outcome: string
  readonly costs: readonly { asset: string; held: string; settling: string }[] | null
  readonly settled_ago_ms: number | null
  readonly fees: string
  readonly fees_settling: string
  readonly fees_own: string
  readonly payers: string
  readonly was_held: boolean
}

/** A day. Holds last for minutes. */
const maxHoldMs = 24 * 60 * 60 * 1000

/**
 * Verified payments. A crash of the server keeps their claimants and empties the table of their amounts. A payment may
 * then be verified together with others that its payer cannot also pay. The ledger still takes only the available
 * balance.
 */
export class PostgresHolds implements HoldStore {
  readonly isCounted = true
  readonly #connection: PostgresConnection
  readonly #find: (ids: readonly string[]) => Promise<Settlement[]>
  readonly #statements
  readonly #batches: Batches<Item, HoldResult>

  constructor(connection: PostgresConnection, find: (ids: readonly string[]) => Promise<Settlement[]>) {
    this.#connection = connection
    this.#find = find
    const schema = connection.quotedSchema
    this.#statements = {
      hold: {
        name: 'latchkey_holds_hold',
        text: `SELECT n, outcome, costs, settled_ago_ms, fees, fees_settling, fees_own, payers, was_held
               FROM ${schema}.hold_payments($1::json, ${limitsOf(schema, 2)})`,
      },
      ...claimantStatements(schema),
    }
    this.#batches = new Batches({
      run: (items) => this.#holdAll(items),
      key: ({ hold }) => hold.transactionId,
      // Those that wait for the disk are not added to the others.
      group: ({ limits, hold }) => [...limitValues(limits), hold.isPaidAfterwards].join(),
      maxItems: 100,
      maxRunning: 2,
      isOfItem,
      maxWaitMs,
      late: () => connection.late(),
    })
  }

  hold(hold: PaymentHold, limits: SettlementLimits): Promise<HoldResult> {
    return this.#batches.add({ hold, limits })
  }

  async claimantOf(transactionId: string): Promise<string | undefined> {
    const [row] = await this.#connection.read<{ claimant: string }>(this.#statements.get, [transactionId])
    return row?.claimant
  }

  async release(transactionId: string, claimant: string): Promise<void> {
    await this.#connection.read(this.#statements.release, [transactionId, claimant])
  }

  async forget(network: string, round: bigint): Promise<void> {
    await this.#connection.read(this.#statements.forget, [network, round.toString()])
  }

  /** Resolves when nothing waits or runs. */
  idle(): Promise<void> {
    return this.#batches.idle()
  }

  async #holdAll(items: readonly Item[]): Promise<HoldResult[]> {
    const values = [JSON.stringify(items.map(({ hold }, n) => holdItem(hold, n))), ...limitValues(items[0]!.limits)]
    // Can be repeated, because a held payment keeps its place.
    const rows = await this.#connection.read<Row>(this.#statements.hold, values)
    const byPlace = new Map(rows.map((row) => [row.n, row]))
    const known = rows.filter(({ outcome }) => outcome === 'known').map(({ n }) => items[n]!.hold.transactionId)
    const found = new Map((known.length === 0 ? [] : await this.#find(known)).map((one) => [one.transactionId, one]))
    return items.map(({ hold }, n) => resultOf(byPlace.get(n)!, hold, found.get(hold.transactionId)))
  }
}

function holdItem(hold: PaymentHold, n: number): object {
  return {
    n,
    id: hold.transactionId,
    network: hold.network,
    payer: hold.payer,
    pay_to: hold.payTo,
    claimant: hold.claimant,
    costs: hold.costs.map(({ asset, amount }) => ({ asset, amount: amount.toString() })),
    fee: hold.feeMicroAlgos.toString(),
    fee_payer: hold.feePayer ?? null,
    last_valid: hold.lastValid.toString(),
    is_paid_afterwards: hold.isPaidAfterwards,
    hold_ms: Math.round(Math.min(Math.max(hold.holdMs, 0), maxHoldMs)),
  }
}

/** @throws StoreError if a known settlement is missing, because it was archived between two statements */
function resultOf(row: Row, { transactionId }: PaymentHold, settlement: Settlement | undefined): HoldResult {
  if (row.outcome === 'claimed') return { type: 'claimed' }
  if (row.outcome === 'known') {
    if (settlement !== undefined) return { type: 'known', settlement }
    throw new StoreError('store_failed', `the settlement ${transactionId} is known but has no record`)
  }
  if (row.outcome !== 'held') return { type: 'limited', limit: row.outcome as keyof SettlementLimits }
  const costs = (row.costs ?? []).map(({ asset, held, settling }) => ({
    asset,
    held: BigInt(held),
    settling: BigInt(settling),
  }))
  const fees = {
    all: BigInt(row.fees),
    settling: BigInt(row.fees_settling),
    own: BigInt(row.fees_own),
    payers: Number(row.payers),
  }
  const ahead = { costs, settledAgoMs: row.settled_ago_ms ?? undefined, fees }
  return { type: 'held', ahead, wasHeld: row.was_held }
}
